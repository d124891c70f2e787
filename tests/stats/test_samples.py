from __future__ import annotations

import itertools
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resit import stats


def average_over_subsets(values, k, value_of):
    subsets = list(itertools.combinations(values, k))
    return math.fsum(value_of(subset) for subset in subsets) / len(subsets)


@st.composite
def draws(draw, most=8):
    n = draw(st.integers(1, most))
    return n, draw(st.integers(0, n)), draw(st.integers(1, n))


@given(draws())
def test_pass_estimates_equal_enumeration(drawn):
    n, c, k = drawn
    verdicts = [1] * c + [0] * (n - c)
    assert stats.pass_at_k(n, c, k) == pytest.approx(average_over_subsets(verdicts, k, max))
    assert stats.pass_pow_k(n, c, k) == pytest.approx(average_over_subsets(verdicts, k, min))
    assert stats.strict_majority(n, c, k) == pytest.approx(
        average_over_subsets(verdicts, k, lambda subset: sum(subset) > k / 2)
    )
    for tau in (0.0, 0.25, 0.5, 0.75, 1.0):
        assert stats.g_pass_at_k(n, c, k, tau) == pytest.approx(
            average_over_subsets(verdicts, k, lambda subset, tau=tau: sum(subset) >= max(1, tau * k))
        )


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=1, max_size=8), st.data())
def test_best_of_k_equals_enumeration(samples, data):
    k = data.draw(st.integers(1, len(samples)))

    def best(subset):
        top = [right for score, right in subset if score == max(score for score, _ in subset)]
        return sum(top) / len(top)

    scores, correct = zip(*samples, strict=True)
    assert stats.best_of_k(scores, correct, k) == pytest.approx(average_over_subsets(samples, k, best))


def test_best_of_k_ends():
    scores, correct = [0.9, 0.1, 0.5, 0.9], [1, 0, 1, 0]
    assert stats.best_of_k(scores, correct, 1) == pytest.approx(0.5)
    assert stats.best_of_k(scores, correct, 4) == pytest.approx(0.5)  # the two best tie, one of them right
    with pytest.raises(ValueError, match="one score"):
        stats.best_of_k([math.nan, 1.0], [1, 0], 1)
    with pytest.raises(ValueError, match="one score"):
        stats.best_of_k([1.0], [], 1)


def test_reference_values():
    assert round(stats.pass_at_k(8, 4, 3), 6) == 0.928571
    assert round(stats.pass_pow_k(8, 4, 3), 6) == 0.071429


def test_same_as_sieval_where_defined(shared):
    for case in json.loads((shared / "golden" / "sieval.json").read_text(encoding="utf-8"))["estimators"]:
        n, c, k = case["n"], case["c"], case["k"]
        if n < k:  # sieval answers 0 (or, when all are right, 1) to a question without an answer
            for estimator in (stats.pass_at_k, stats.pass_pow_k):
                with pytest.raises(ValueError, match="undefined"):
                    estimator(n, c, k)
        else:
            assert stats.pass_at_k(n, c, k) == pytest.approx(case["pass_at_k"], abs=1e-12)
            assert stats.pass_pow_k(n, c, k) == pytest.approx(case["pass_pow_k"], abs=1e-12)


def test_solved_problems_are_not_samples():
    """FC-STAT-03: 50 of 164 problems solved with one sample each says nothing about pass@10."""
    questions = [stats.QuestionVotes(1)] * 50 + [stats.QuestionVotes(0, (1,))] * 114
    points = stats.sampling_curve(questions, "pass", ks=(1, 10))
    assert [(point.k, round(point.estimate.value, 4)) for point in points] == [(1, 0.3049)]
    with pytest.raises(ValueError, match="needs n >= k"):
        stats.pass_at_k(1, 1, 10)


def test_more_samples_than_there_are():
    """FC-SC-03: 8 samples, 6 right; k = 16 and 32 are refused, not divided by."""
    assert stats.estimate([[1] * 6 + [0] * 2]).value == 0.75
    for k in (16, 32):
        with pytest.raises(ValueError, match="undefined"):
            stats.pass_at_k(8, 6, k)
        with pytest.raises(ValueError, match="undefined"):
            stats.maj_at_k([6, 2], k)


def test_average_over_samples():
    """FC-SC-04."""
    assert stats.estimate([[1, 0, 1, 1]]).value == 0.75


@pytest.mark.parametrize(("n", "c", "k"), [(4, 5, 2), (4, -1, 2), (-1, 0, 1), (4, 2, 0)])
def test_impossible_counts_are_refused(n, c, k):
    for estimator in (stats.pass_at_k, stats.pass_pow_k, stats.strict_majority):
        with pytest.raises(ValueError, match=r"need n >= 0|must lie between"):
            estimator(n, c, k)
    with pytest.raises(ValueError, match="tau"):
        stats.g_pass_at_k(4, 2, 2, 1.5)


def test_consistency_counts_samples_without_an_answer():
    assert stats.consistency([3, 1], abstentions=4) == 3 / 8
    assert stats.consistency([], abstentions=2) == 0
    assert stats.agreement([2, 2]) == pytest.approx(4 / 12)
    assert stats.agreement([2], abstentions=1) == pytest.approx(2 / 6)
    for refused in (stats.consistency, stats.agreement):
        with pytest.raises(ValueError, match="at least"):
            refused([])


def test_large_samples_stay_exact():
    assert stats.pass_at_k(10_000, 1, 5_000) == pytest.approx(0.5)
    assert stats.pass_pow_k(10_000, 9_999, 5_000) == pytest.approx(0.5)
