from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from resit.stats import separation

VALUES = st.lists(st.integers(-5, 5).map(float), min_size=2, max_size=12)


@given(VALUES, VALUES)
def test_the_auc_is_the_share_of_pairs(first: list[float], second: list[float]) -> None:
    pairs = [(a > b) + (a == b) / 2 for a in first for b in second]
    found = separation(first, second)
    assert found.auc == pytest.approx(sum(pairs) / len(pairs))
    assert found.ci_low - 1e-12 <= found.auc <= found.ci_high + 1e-12
    assert separation(second, first).auc == pytest.approx(1 - found.auc)


@given(VALUES, VALUES)
def test_p_is_mann_whitneys(first: list[float], second: list[float]) -> None:
    if len({*first, *second}) == 1:
        assert separation(first, second).p_value == 1
        return
    wanted = mannwhitneyu(first, second, use_continuity=False, method="asymptotic").pvalue
    assert separation(first, second).p_value == pytest.approx(wanted)


def test_delongs_variance_by_hand() -> None:
    # placements of 3, 5 above {1, 4}: 1/2, 1; of 1, 4 below {3, 5}: 1, 1/2; each variance 1/8, over 2 values
    found = separation([3, 5], [1, 4])
    assert found.auc == 0.75
    assert found.standard_error == pytest.approx((1 / 8 / 2 + 1 / 8 / 2) ** 0.5)


def test_groups_apart_leave_room_for_what_was_not_drawn() -> None:
    found = separation(range(100, 130), range(60))
    assert (found.auc, found.ci_low, found.ci_high) == (1, 0.9, 1)
    assert separation(range(60), range(100, 130)).ci_high == pytest.approx(0.1)


def test_the_interval_covers() -> None:
    rng = np.random.default_rng(7)
    wanted = 0.760  # of normal groups one standard deviation apart: Phi(1 / sqrt 2)
    covered = 0
    for _ in range(400):
        found = separation(rng.normal(1, 1, 40), rng.normal(0, 1, 60))
        covered += found.ci_low <= wanted <= found.ci_high
    assert 0.925 <= covered / 400 <= 0.98


@pytest.mark.parametrize(("first", "second"), [([1], [1, 2]), ([1, 2], []), ([1, float("nan")], [1, 2])])
def test_what_has_no_auc_is_refused(first: list[float], second: list[float]) -> None:
    with pytest.raises(ValueError, match="AUC needs"):
        separation(first, second)
