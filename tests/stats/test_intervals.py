from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resit import stats
from resit.stats import Interval

REFERENCE = [
    # successes, n, Wilson, Clopper-Pearson, Jeffreys, uniform prior (peers.md 4.2; scipy)
    (1055, 1319, (0.7774, 0.8206), None, None, None),
    (964, 1205, (0.7765, 0.8216), None, None, None),
    (1253, 1319, (0.9368, 0.9605), None, None, None),
    (48, 50, (0.8654, 0.9890), (0.8629, 0.9951), (0.8778, 0.9916), (0.8654, 0.9877)),
    (30, 30, (0.8865, 1.0), (0.8843, 1.0), None, None),
    (27, 30, (0.7438, 0.9654), None, None, None),
    (0, 30, (0.0, 0.1135), None, None, None),
]


@pytest.mark.parametrize(("k", "n", "wilson", "exact", "jeffreys", "uniform"), REFERENCE)
def test_reference_values_to_the_printed_digits(k, n, wilson, exact, jeffreys, uniform):
    for expected, found in (
        (wilson, stats.wilson_interval(k, n)),
        (exact, stats.clopper_pearson_interval(k, n)),
        (jeffreys, stats.jeffreys_interval(k, n)),
        (uniform, stats.beta_interval(k, n)),
    ):
        if expected:
            assert tuple(round(limit, 4) for limit in found) == expected


@pytest.mark.parametrize(
    "interval", [stats.wilson_interval, stats.clopper_pearson_interval, stats.jeffreys_interval]
)
class TestAnyInterval:
    def test_ends_are_exact(self, interval):
        assert interval(0, 30).low == 0.0
        assert interval(30, 30).high == 1.0

    def test_holds_the_estimate_and_grows_with_confidence(self, interval):
        for k in (0, 1, 12, 29, 30):
            narrow, wide = interval(k, 30, 0.9), interval(k, 30, 0.99)
            assert wide.low <= narrow.low <= k / 30 <= narrow.high <= wide.high

    def test_mirrors(self, interval):
        low, high = interval(7, 30)
        assert interval(23, 30) == pytest.approx((1 - high, 1 - low), abs=1e-12)

    @pytest.mark.parametrize(("k", "n"), [(-1, 30), (31, 30), (0, 0), (1, -1), (math.nan, 3)])
    def test_impossible_counts_are_refused(self, interval, k, n):
        with pytest.raises(ValueError, match=r"must lie between|at least one trial"):
            interval(k, n)

    @pytest.mark.parametrize("confidence", [0, 1, 95])
    def test_impossible_confidence_is_refused(self, interval, confidence):
        with pytest.raises(ValueError, match="confidence"):
            interval(3, 30, confidence)


def test_wilson_inverts_the_score_test():
    low, high = stats.wilson_interval(27, 30)
    for p in (low, high):
        assert abs(0.9 - p) / math.sqrt(p * (1 - p) / 30) == pytest.approx(stats.normal_quantile(0.95))


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=30, max_size=200))
def test_bounded_mean_is_wilson_with_student_where_values_are_right_or_wrong(values):
    low, high = stats.bounded_mean_interval(values)
    t = stats.student_quantile(0.95, len(values) - 1)
    equivalent = 2 * (0.5 * (1 + math.erf(t / math.sqrt(2)))) - 1  # the confidence whose z is that t
    assert (low, high) == pytest.approx(stats.wilson_interval(sum(values), len(values), equivalent), abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=50))
def test_bounded_mean_stays_inside_and_holds_the_mean(values):
    low, high = stats.bounded_mean_interval(values)
    assert 0 <= low <= math.fsum(values) / len(values) + 1e-9
    assert math.fsum(values) / len(values) - 1e-9 <= high <= 1


def test_bounded_mean_without_spread_counts_each_question_once():
    assert stats.bounded_mean_interval([1.0] * 30).low == pytest.approx(30 / (30 + 2.0452296**2))


@pytest.mark.parametrize("values", [[], [0.5], [0.5, 1.5], [math.nan, 0.2]])
def test_bounded_mean_refuses_what_it_cannot_do(values):
    with pytest.raises(ValueError, match=r"at least 2|between 0 and 1"):
        stats.bounded_mean_interval(values)


def test_student_quantile():
    assert stats.student_quantile(0.95, 10) == pytest.approx(2.228139)
    with pytest.raises(ValueError, match="degrees"):
        stats.student_quantile(0.95, 0)


def test_interval_unpacks():
    low, high = Interval(0.1, 0.2)
    assert (low, high) == (0.1, 0.2)
