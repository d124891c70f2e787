from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_ind, ttest_rel

from resit.probes.contrast import contrast, paired_contrast

RNG = np.random.default_rng(11)
SEEN, FRESH = RNG.normal(-2, 1, 30).tolist(), RNG.normal(-2.5, 2, 50).tolist()


def test_the_difference_is_welchs() -> None:
    found = contrast("min_k", "question", SEEN, FRESH)
    wanted = ttest_ind(SEEN, FRESH, equal_var=False, alternative="greater")
    both = ttest_ind(SEEN, FRESH, equal_var=False).confidence_interval(0.95)
    assert found.p_greater == pytest.approx(wanted.pvalue)
    assert (found.ci_low, found.ci_high) == pytest.approx((both.low, both.high))
    assert found.seen_mean - found.fresh_mean == pytest.approx(found.difference)
    assert (found.separation.n_first, found.separation.n_second, found.paired_by) == (30, 50, "")


def test_pairs_are_compared_group_by_group() -> None:
    means = {group: (RNG.normal(), RNG.normal()) for group in range(12)}
    seen = {group: [a] for group, (a, _) in means.items()} | {"only here": [9.0]}
    fresh = {group: [b - 1, b + 1] for group, (_, b) in means.items()}
    found = paired_contrast("min_k", "question", seen, fresh, by="template")
    wanted = ttest_rel(*zip(*means.values(), strict=True), alternative="greater")
    assert found.p_greater == pytest.approx(wanted.pvalue)
    assert (found.separation.n_first, found.separation.n_second, found.paired_by) == (12, 24, "template")


@pytest.mark.parametrize(
    ("seen", "fresh", "said"),
    [
        ({1: [1.0]}, {1: [2.0]}, "two groups"),
        ({1: [1.0], 2: [2.0]}, {1: [0.0], 2: [1.0]}, "differ alike"),
    ],
)
def test_what_cannot_be_paired_is_refused(
    seen: dict[int, list[float]], fresh: dict[int, list[float]], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        paired_contrast("min_k", "question", seen, fresh, by="template")
