"""Prediction of totals: by hand, and by drawing populations."""

from __future__ import annotations

import math
import random

import pytest

from resit.stats import predicted_total


def test_one_stratum_by_hand() -> None:
    """Mean 2, s^2 = 1, N = 100: half = t(0.975, 2) * sqrt(100^2 * 1/3 * (1 + 3/100))."""
    total, interval = predicted_total([[1.0, 2.0, 3.0]], [100])
    assert total == 200
    assert interval is not None
    half = 4.302652729911275 * math.sqrt(100**2 / 3 * 1.03)
    assert interval == pytest.approx((max(0.0, 200 - half), 200 + half))


def test_strata_add_up_and_share_their_degrees() -> None:
    one = predicted_total([[1.0, 2.0, 3.0]], [100])
    two = predicted_total([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], [100, 100])
    assert two[0] == 2 * one[0]
    assert one[1] is not None
    assert two[1] is not None
    assert two[1].high - two[0] < math.sqrt(2) * (one[1].high - one[0]), "4 degrees of freedom, not 2"


def test_a_stratum_of_no_units_lends_no_degrees() -> None:
    whole = predicted_total([[1.0, 2, 3, 4, 5, 6, 7, 8]], [100])
    assert predicted_total([[1.0, 5.0], [1.0, 2, 3, 4, 5, 6, 7, 8]], [0, 100]) == whole
    assert whole[1] == pytest.approx((237.2, 662.8), abs=0.1)


def test_no_spread_no_width() -> None:
    assert predicted_total([[2.0, 2.0]], [10]) == (20.0, (20.0, 20.0))


def test_a_single_value_has_no_interval() -> None:
    assert predicted_total([[2.0], [1.0, 3.0]], [10, 1]) == (22.0, None)


@pytest.mark.parametrize(("samples", "sizes"), [([], []), ([[]], [3]), ([[1.0]], [1, 2])])
def test_what_cannot_be_predicted(samples: list[list[float]], sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="total"):
        predicted_total(samples, sizes)


def test_the_interval_holds_what_comes_as_often_as_it_says() -> None:
    """Lengths of answers are skewed: lognormal with sigma 0.5, as generated tokens are."""
    chance = random.Random(8)
    held = 0
    for _ in range(2000):
        drawn = [chance.lognormvariate(5, 0.5) for _ in range(32)]
        whole = sum(chance.lognormvariate(5, 0.5) for _ in range(300))
        _, interval = predicted_total([drawn], [300])
        assert interval is not None
        held += interval.low <= whole <= interval.high
    assert 0.925 < held / 2000 < 0.965
