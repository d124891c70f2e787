from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from resit import stats


def reference(x, y, coefficient):
    if coefficient == "spearman":
        return scipy.stats.spearmanr(x, y)
    if coefficient == "pearson":
        return scipy.stats.pearsonr(x, y)
    return scipy.stats.kendalltau(x, y, method="asymptotic")


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from(["spearman", "pearson", "kendall"]),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=4, max_size=30),
)
def test_agrees_with_scipy_ties_and_all(coefficient, pairs):
    x, y = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return
    found, expected = stats.correlation(x, y, coefficient, draws=50), reference(x, y, coefficient)
    assert (found.coefficient, found.n, found.confidence) == (coefficient, len(pairs), 0.95)
    assert found.value == pytest.approx(expected.statistic, abs=1e-9)
    if abs(found.value) < 1 - 1e-9:
        assert found.p_value == pytest.approx(expected.pvalue, abs=1e-9)


@pytest.mark.parametrize("coefficient", ["spearman", "pearson", "kendall"])
def test_interval_is_that_of_resampled_pairs(coefficient):
    """The weights' algebra against drawing the pairs and calling scipy."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=40)
    y = np.round(x + rng.normal(size=40), 1)
    found = stats.correlation(x, y, coefficient, draws=4000)
    picks = rng.integers(0, 40, size=(1500, 40))
    drawn = [reference(x[pick], y[pick], coefficient).statistic for pick in picks]
    assert (found.ci_low, found.ci_high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.03)
    assert found == stats.correlation(x, y, coefficient, draws=4000)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1, 2, 3], [1, 2, 3], "at least 4"),
        ([1, 2, 3, 4], [1, 2, 3], "same length"),
        ([1, 1, 1, 1], [1, 2, 3, 4], "constant"),
        ([1, 2, 3, float("nan")], [1, 2, 3, 4], "finite"),
        ([1, 2, 3, 4], [1, 2, 3, float("inf")], "finite"),
    ],
)
def test_refusals(x, y, message):
    with pytest.raises(ValueError, match=message):
        stats.correlation(x, y)


@pytest.mark.parametrize("scale", [1e-200, 1e-12, 1e200])
def test_a_unit_of_measurement_changes_nothing(scale):
    x, y = np.array([1.0, 2.0, 4.0, 3.0, 7.0]), [0.1, 0.3, 0.2, 0.4, 0.9]
    found, expected = (stats.correlation(side, y, "pearson", draws=200) for side in (x * scale, x))
    assert found.value == pytest.approx(expected.value)
    assert (found.ci_low, found.ci_high) == pytest.approx((expected.ci_low, expected.ci_high))
