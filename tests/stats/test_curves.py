from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resit import stats
from resit.stats import QuestionVotes


def test_answers_become_votes():
    votes = stats.count_votes(["18", None, "20", "20", "18.0"], [True, False, False, False, True])
    assert votes == QuestionVotes(right=2, wrong=(2,), abstentions=1)
    assert (votes.samples, votes.counts) == (5, (2, 2))


@pytest.mark.parametrize(
    ("answers", "correct", "message"),
    [(["18", "18"], [True, False], "both right and wrong"), (["18"], [], "1 answers but 0")],
)
def test_contradictions_are_refused(answers, correct, message):
    with pytest.raises(ValueError, match=message):
        stats.count_votes(answers, correct)


def test_curve_over_questions():
    questions = [QuestionVotes(4, (3, 1)), QuestionVotes(3, (4, 1)), QuestionVotes(2, (1, 1), 4)]
    points = stats.sampling_curve(questions, "maj")
    assert [point.k for point in points] == list(range(1, 9))
    values = [stats.maj_at_k(q.counts, 3, 0, q.abstentions) for q in questions]
    third = points[2].estimate
    assert third.value == pytest.approx(math.fsum(values) / 3)
    assert third.standard_error == pytest.approx(stats.standard_error(values))
    assert (third.questions, third.samples) == (3, 24)
    assert third.ci_low is not None
    assert third.ci_high is not None
    assert 0 <= third.ci_low < third.value < third.ci_high <= 1


def test_undefined_k_is_left_out():
    questions = [QuestionVotes(4, (4,)), QuestionVotes(1, (1,))]
    for kind in ("pass", "pass_pow", "maj"):
        assert [point.k for point in stats.sampling_curve(questions, kind)] == [1, 2]
        assert [point.k for point in stats.sampling_curve(questions, kind, ks=(2, 4, 8))] == [2]
        assert stats.sampling_curve(questions, kind, ks=(4,)) == []
    with pytest.raises(ValueError, match="no question"):
        stats.sampling_curve([], "maj")


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=6).filter(
        lambda q: all(map(sum, q))
    )
)
def test_pass_rises_and_pass_pow_falls(pairs):
    questions = [QuestionVotes(right, (wrong,) if wrong else ()) for right, wrong in pairs]
    rising = [point.estimate.value for point in stats.sampling_curve(questions, "pass")]
    falling = [point.estimate.value for point in stats.sampling_curve(questions, "pass_pow")]
    assert rising == sorted(rising)
    assert falling == sorted(falling, reverse=True)
    assert rising[0] == pytest.approx(falling[0])


class TestEstimate:
    def test_one_sample_a_question_is_wilson(self):
        found = stats.estimate([[1]] * 1055 + [[0]] * 264)
        assert (found.questions, found.samples, found.method) == (1319, 1319, "Wilson")
        assert (found.ci_low, found.ci_high) == stats.wilson_interval(1055, 1319)

    def test_methods_on_request(self):
        scores = [[1]] * 48 + [[0]] * 2
        exact = stats.estimate(scores, method="clopper-pearson")
        assert (exact.ci_low, exact.ci_high) == stats.clopper_pearson_interval(48, 50)
        bayes = stats.estimate(scores, method="jeffreys")
        assert (bayes.ci_low, bayes.ci_high) == stats.jeffreys_interval(48, 50)
        drawn = stats.estimate(scores, method="bootstrap")
        assert drawn == stats.estimate(scores, method="bootstrap")
        assert "bootstrap" in drawn.method

    def test_counting_methods_need_counts(self):
        with pytest.raises(ValueError, match="one right-or-wrong sample"):
            stats.estimate([[1, 0], [1, 1]], method="clopper-pearson")

    def test_a_single_question_has_no_error(self):
        found = stats.estimate([[1, 0, 1]])
        assert found.value == pytest.approx(2 / 3)
        assert (found.standard_error, found.ci_low, found.ci_high) == (None, None, None)

    def test_a_curve_of_a_single_question_has_no_interval(self):
        points = stats.sampling_curve([stats.QuestionVotes(2, (1,))], "pass")
        assert {point.estimate.method for point in points} == {"none: a single question"}
        assert {point.estimate.ci_low for point in points} == {None}

    def test_scores_beyond_one(self):
        found = stats.estimate([[2.0, 4.0], [1.0, 3.0], [5.0, 1.0]])
        assert found.method == "Student's t over questions"
        assert found.ci_low is not None
        assert found.value - found.ci_low == pytest.approx(
            stats.student_quantile(0.95, 2) * (found.standard_error or 0)
        )

    @pytest.mark.parametrize(
        ("scores", "limits"),
        [
            ([[1]] * 30, stats.wilson_interval(30, 30)),
            ([[0, 1]] * 30, stats.bounded_mean_interval([0.5] * 30)),
            ([[1, 1]] * 30, stats.bounded_mean_interval([1.0] * 30)),
        ],
    )
    def test_no_bootstrap_of_questions_that_are_alike(self, scores, limits):
        found = stats.estimate(scores, method="bootstrap")
        assert found == stats.estimate(scores)
        assert (found.ci_low, found.ci_high) == limits
        assert found.method.startswith("Wilson")

    @pytest.mark.parametrize("method", ["auto", "bootstrap"])
    def test_scores_without_bounds_or_spread_have_no_interval(self, method):
        found = stats.estimate([[3.0, 3.0]] * 5, method=method)
        assert (found.value, found.ci_low, found.ci_high) == (3.0, None, None)
        assert found.method.startswith("none")

    def test_questions_without_samples_are_left_out(self):
        assert stats.estimate([[1], [], [0]]).questions == 2
        with pytest.raises(ValueError, match="undefined"):
            stats.estimate([[], []])


class TestBootstrap:
    VALUES = np.r_[np.ones(964), np.zeros(241)]

    def test_seeded(self):
        first = stats.bootstrap_interval(self.VALUES, draws=2000)
        assert first == stats.bootstrap_interval(self.VALUES, draws=2000)
        assert first != stats.bootstrap_interval(self.VALUES, draws=2000, seed=5)

    @pytest.mark.parametrize("method", ["percentile", "bca"])
    def test_near_wilson_for_many_questions(self, method):
        found = stats.bootstrap_interval(self.VALUES, method=method)
        assert found == pytest.approx(stats.wilson_interval(964, 1205), abs=2e-3)

    def test_bca_leans_with_the_skew(self):
        values = np.r_[np.zeros(95), np.ones(5)]
        plain = stats.bootstrap_interval(values, method="percentile")
        corrected = stats.bootstrap_interval(values, method="bca")
        assert corrected.high > plain.high

    def test_agrees_with_scipy(self):
        from scipy.stats import bootstrap

        values = np.random.default_rng(3).exponential(size=60)
        expected = bootstrap((values,), np.mean, n_resamples=20_000, rng=0).confidence_interval
        assert stats.bootstrap_interval(values, draws=20_000) == pytest.approx(
            (expected.low, expected.high), abs=0.01
        )

    def test_difference_of_sets(self):
        found = stats.bootstrap_difference(self.VALUES, np.r_[np.ones(1055), np.zeros(264)])
        expected = stats.gap_test(964, 1205, 1055, 1319)
        assert found == pytest.approx((expected.ci_low, expected.ci_high), abs=2e-3)

    @pytest.mark.parametrize("method", ["percentile", "bca"])
    def test_equal_values_have_no_interval(self, method):
        with pytest.raises(ValueError, match="values that differ"):
            stats.bootstrap_interval([0.1 + 0.2, 0.3] * 5, method=method)
        with pytest.raises(ValueError, match="values that differ"):
            stats.bootstrap_difference([1.0] * 9, [0.5] * 7)
        assert stats.bootstrap_difference([1.0] * 9, [0.5, 0.0]) == (0.5, 1.0)

    @pytest.mark.parametrize("values", [[1.0], [[1.0, 0.0]]])
    def test_refusals(self, values):
        with pytest.raises(ValueError, match="at least 2 values"):
            stats.bootstrap_interval(values)
