from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resit import stats


@pytest.mark.parametrize(("discordance", "points"), [(0.05, 1.72), (0.10, 2.44), (0.15, 2.99), (0.20, 3.45)])
def test_paired_reference(discordance, points):
    assert round(100 * stats.minimum_detectable_effect(1319, discordance), 2) == points


def test_unpaired_reference():
    assert round(100 * stats.minimum_detectable_effect(1319, p=0.8, n_fresh=1319), 2) == 4.36


@pytest.mark.parametrize(("p", "error", "points"), [(0.8, 0.0159, 4.47), (0.9, 0.0120, 3.35)])
def test_gap_reference(p, error, points):
    assert round(stats.gap_error(p, 1319, p, 1205), 4) == error
    assert round(100 * stats.minimum_detectable_effect(1319, p=p, n_fresh=1205), 2) == points


@pytest.mark.parametrize(("p", "points"), [(0.95, 2.43), (0.5, 5.58)])
def test_gap_reference_points(p, points):
    assert round(100 * stats.minimum_detectable_effect(1319, p=p, n_fresh=1205), 2) == points


@pytest.mark.parametrize(("points", "questions"), [(1, 7842), (2, 1955), (3, 865)])
def test_questions_needed_reference(points, questions):
    effect = points / 100
    assert stats.questions_needed(effect, 0.10 - effect**2, stats.effect_factor()) == questions


def test_standard_error_form():
    assert stats.effect_factor() == pytest.approx(2.80159, abs=1e-5)
    assert stats.effect_factor(0.05, 0.8, sides=1) == pytest.approx(2.48647, abs=1e-5)
    assert stats.minimum_detectable_effect(standard_error=0.0159) == pytest.approx(0.0159 * 2.80159, abs=1e-6)
    assert stats.minimum_detectable_effect(400, p=0.5) == pytest.approx(2.80159 * 0.025, abs=1e-6)


@pytest.mark.parametrize(
    "design",
    [
        {},
        {"n": 10},
        {"n": 10, "discordance": 0.1, "p": 0.5},
        {"n": 10, "standard_error": 0.1},
        {"standard_error": -0.1},
        {"n": 0, "p": 0.5},
        {"n": 10, "p": 1.5},
        {"n": 10, "discordance": 2},
        {"n": 10, "p": 0.5, "alpha": 0},
        {"n": 10, "p": 0.5, "sides": 3},
    ],
)
def test_refusals(design):
    with pytest.raises(ValueError, match=r"give|need|must lie|must be"):
        stats.minimum_detectable_effect(**design)


@given(st.floats(0.005, 0.2), st.floats(0.05, 0.6), st.sampled_from([0.8, 0.9]))
def test_questions_needed_and_detectable_effect_are_inverse(effect, variance, power):
    factor = stats.effect_factor(power=power)
    n = stats.questions_needed(effect, variance, factor)
    assert factor * math.sqrt(variance / n) <= effect * (1 + 1e-9)
    if n > 2:
        assert factor * math.sqrt(variance / (n - 1)) > effect * (1 - 1e-9)
    assert stats.power_of_test(effect, math.sqrt(variance / n)) >= power - 1e-9


def test_fresh_questions_needed():
    factor = stats.effect_factor()
    needed = stats.fresh_questions_needed(0.06, 0.8, 1319, 0.8, factor)
    assert needed is not None
    assert stats.minimum_detectable_effect(1319, p=0.8, n_fresh=needed) <= 0.06
    assert stats.minimum_detectable_effect(1319, p=0.8, n_fresh=needed - 1) > 0.06
    assert stats.fresh_questions_needed(0.02, 0.8, 1319, 0.8, factor) is None


def test_repeats_needed():
    factor = stats.effect_factor()
    needed = stats.repeats_needed(0.03, 1319, between=0.10, within=0.15, factor=factor)
    assert needed == math.ceil(0.15 / (1319 * (0.03 / factor) ** 2 - 0.10))
    assert factor * stats.repeats_error(1319, 0.10, 0.15, needed) <= 0.03
    assert stats.repeats_needed(0.01, 1319, between=0.10, within=0.15, factor=factor) is None
    assert stats.repeats_error(100, 0.10, 0.15, 1) == pytest.approx(0.05)


def test_largest_discordance():
    factor = stats.effect_factor()
    limit = stats.largest_discordance(0.02, 1319, factor)
    assert stats.questions_needed(0.02, limit - 0.02**2, factor) in (1319, 1320)
    assert stats.largest_discordance(0.5, 1319, factor) == 1


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (lambda: stats.repeats_error(10, 0.1, 0.1, 0), "repeats >= 1"),
        (lambda: stats.repeats_error(10, -0.1, 0.1, 1), "variances >= 0"),
        (lambda: stats.repeats_error(10, 0.1, -0.1, 1), "variances >= 0"),
        (lambda: stats.questions_needed(0, 0.2, 2.8), "effect other than 0"),
        (lambda: stats.questions_needed(0.1, -0.2, 2.8), "variance >= 0"),
        (lambda: stats.power_of_test(0.1, 0.0), "standard error above 0"),
        (lambda: stats.standard_error([1.0]), "at least 2 values, not 1"),
    ],
)
def test_what_has_no_error_or_size_is_refused(refused, said):
    with pytest.raises(ValueError, match=said):
        refused()


def test_power_of_test():
    assert stats.power_of_test(2.80159, 1.0) == pytest.approx(0.8, abs=1e-4)
    assert stats.power_of_test(0.0, 1.0) == pytest.approx(0.05)
    assert stats.power_of_test(0.0, 1.0, sides=1) == pytest.approx(0.05)


def test_confirmable_margin():
    assert stats.confirmable_margin(0.0159) == pytest.approx(0.0159 * (1.644854 + 1.281552), abs=1e-6)


@pytest.mark.parametrize(("alpha", "sides", "fewest"), [(0.05, 2, 5), (0.05, 1, 4), (0.01, 2, 7)])
def test_fewest_discordant(alpha, sides, fewest):
    assert stats.fewest_discordant(alpha, sides) == fewest
    one_sided = stats.paired_counts(fewest, 0, 100).p_greater
    assert sides * one_sided <= alpha
    assert sides * stats.paired_counts(fewest - 1, 0, 100).p_greater > alpha
