from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resit import stats

MILLER = [[1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 1, 1]]


def test_reference_example():
    flat = [score for question in MILLER for score in question]
    assert sum(flat) / len(flat) == pytest.approx(0.5833, abs=5e-5)
    assert stats.standard_error(flat) == pytest.approx(0.1486, abs=5e-5)
    assert stats.clustered_standard_error(MILLER) == pytest.approx(0.0833, abs=5e-5)


def test_repeats_of_a_question_are_not_independent():
    """FC-STAT-01."""
    scores = [[1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 1, 0]]
    found = stats.estimate(scores)
    assert found.value == 0.5
    assert found.standard_error == pytest.approx(0.289, abs=5e-4)
    assert stats.clustered_standard_error(scores) == pytest.approx(0.289, abs=5e-4)


def test_labels_and_nesting_agree():
    flat = [1, 0, 1, 1, 0, 1]
    labels = ["b", "a", "b", "c", "a", "a"]
    nested = [[1, 1], [0, 0, 1], [1]]
    assert stats.clustered_standard_error(flat, labels) == pytest.approx(
        stats.clustered_standard_error(nested)
    )


@given(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=2, max_size=20))
def test_equals_the_question_level_error_for_equal_repeats(scores):
    means = [math.fsum(question) / 3 for question in scores]
    assert stats.clustered_standard_error(scores) == pytest.approx(stats.standard_error(means), abs=1e-12)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
def test_equals_the_plain_error_for_one_score_a_cluster(scores):
    assert stats.clustered_standard_error(scores, range(len(scores))) == pytest.approx(
        stats.standard_error(scores), abs=1e-12
    )


@pytest.mark.parametrize(
    ("scores", "clusters", "message"),
    [
        ([1, 0, 1], None, "clusters"),
        ([[1, 0]], None, "at least 2 questions"),
        ([1, 0], [1], "2 scores but 1"),
        ([], [], "at least 2 questions"),
    ],
)
def test_refusals(scores, clusters, message):
    with pytest.raises(ValueError, match=message):
        stats.clustered_standard_error(scores, clusters)


def test_variance_splits_into_questions_and_samples():
    rng = np.random.default_rng(0)
    abilities = rng.choice([0.2, 0.5, 0.9], size=4000)
    scores = rng.binomial(1, abilities[:, None], size=(4000, 8))
    parts = stats.variance_parts(scores.tolist())
    assert parts.between_questions == pytest.approx(np.var([0.2, 0.5, 0.9]), abs=0.005)
    assert parts.within_questions == pytest.approx(np.mean([0.16, 0.25, 0.09]), abs=0.005)
    predicted = stats.repeats_error(4000, parts.between_questions, parts.within_questions, 8)
    assert predicted == pytest.approx(stats.clustered_standard_error(scores.tolist()), rel=1e-3)


def test_variance_needs_repeats():
    with pytest.raises(ValueError, match="at least 2 samples"):
        stats.variance_parts([[1], [0]])


class TestPooling:
    def test_missing_error_is_a_value_of_its_own(self):
        """FC-STAT-04."""
        mean, error = stats.pooled_mean([0.71, 0.39], [None, None], [400, 200])
        assert mean == pytest.approx((400 * 0.71 + 200 * 0.39) / 600)
        assert error is None
        assert stats.pooled_mean([0.71, 0.39], [0.02, None], [400, 200])[1] is None

    def test_equals_the_error_of_the_joint_set(self):
        first, second = [1.0] * 30 + [0.0] * 10, [1.0] * 5 + [0.0] * 15
        mean, error = stats.pooled_mean(
            [0.75, 0.25], [stats.standard_error(first), stats.standard_error(second)], [40, 20]
        )
        assert mean == pytest.approx(35 / 60)
        assert error == pytest.approx(math.sqrt(40 * 0.1875 * 40 / 39 + 20 * 0.1875 * 20 / 19) / 60)

    @pytest.mark.parametrize("arguments", [([], [], []), ([0.5], [0.1], [0]), ([0.5], [], [3])])
    def test_refusals(self, arguments):
        with pytest.raises(ValueError, match="pooling needs"):
            stats.pooled_mean(*arguments)
