from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resit import stats

REFERENCE = [
    # counts, k, gold, abstentions, maj@k (peers.md 4.5)
    ((4, 3, 1), 3, 0, 0, Fraction(4, 7)),
    ((4, 3, 1), 5, 0, 0, Fraction(37, 56)),
    ((3, 4, 1), 3, 0, 0, Fraction(5, 14)),
    ((4, 3, 1), 3, 1, 0, Fraction(5, 14)),
    ((5, 5), 4, 0, 0, Fraction(1, 2)),
    ((20, 12, 8), 8, 0, 0, Fraction(10325, 14586)),
    ((10, 20, 10), 8, 0, 0, Fraction(12618, 89947)),
    ((20, 12, 6), 8, 0, 2, Fraction(412, 561)),
]


@pytest.mark.parametrize(("counts", "k", "gold", "abstentions", "expected"), REFERENCE)
def test_reference_values(counts, k, gold, abstentions, expected):
    assert stats.exact_maj_at_k(counts, k, gold, abstentions) == expected
    assert stats.maj_at_k(counts, k, gold, abstentions) == float(expected)


def test_reference_values_in_decimals():
    assert round(stats.maj_at_k([20, 12, 8], 8), 6) == 0.707871
    assert round(stats.maj_at_k([10, 20, 10], 8), 6) == 0.140283
    assert round(stats.maj_at_k([20, 12, 6], 8, abstentions=2), 6) == 0.734403


def enumerated(counts, k, abstentions):
    """Every subset by hand, the right answer being class 0."""
    ballots = [answer for answer, count in enumerate(counts) for _ in range(count)] + [None] * abstentions
    total, wins = 0, Fraction(0)
    for subset in itertools.combinations(ballots, k):
        votes = Counter(ballot for ballot in subset if ballot is not None)
        total += 1
        if votes and votes[0] == max(votes.values()):
            wins += Fraction(1, sum(count == votes[0] for count in votes.values()))
    return wins / total


def vectors(n):
    """Every way to split n samples into right votes, wrong classes (descending) and abstentions."""

    def parts(left, largest):
        yield ()
        for part in range(1, min(left, largest) + 1):
            for rest in parts(left - part, part):
                yield (part, *rest)

    for right in range(n + 1):
        for wrong in parts(n - right, n - right):
            yield (right, *wrong), n - right - sum(wrong)


@pytest.mark.parametrize("n", range(1, 9))
def test_equals_enumeration_for_every_count_vector(n):
    seen = 0
    for counts, abstentions in vectors(n):
        for k in range(1, n + 1):
            expected = enumerated(counts, k, abstentions)
            assert stats.exact_maj_at_k(counts, k, 0, abstentions) == expected, (counts, abstentions, k)
            assert stats.maj_at_k(counts, k, 0, abstentions) == float(expected)
        seen += 1
    partitions = (1, 1, 2, 3, 5, 7, 11, 15, 22)
    assert seen == sum(partitions[wrong] for right in range(n + 1) for wrong in range(n - right + 1))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=8), st.integers(0, 6))
def test_every_answer_of_an_election_sums_to_one(counts, abstentions):
    """Whoever wins, somebody does, unless nobody votes."""
    n = sum(counts) + abstentions
    for k in sorted(k for k in {1, n // 2, n} if 1 <= k <= n):
        elected = sum(stats.exact_maj_at_k(counts, k, gold, abstentions) for gold in range(len(counts)))
        nobody = Fraction(math.comb(abstentions, k), math.comb(n, k))
        assert elected + nobody == 1


@given(st.lists(st.integers(0, 12), min_size=1, max_size=5), st.integers(0, 4))
def test_ends_of_the_curve(counts, abstentions):
    n = sum(counts) + abstentions
    curve = stats.maj_curve(counts, 0, abstentions)
    assert len(curve) == n
    if n:
        assert curve[0] == pytest.approx(counts[0] / n)
        best = max(counts)
        assert curve[-1] == pytest.approx(counts[0] and (counts[0] == best) / counts.count(best))
        assert [stats.maj_at_k(counts, k, 0, abstentions) for k in range(1, n + 1)] == list(curve)


def test_no_vote_for_the_right_answer():
    assert stats.maj_at_k([5, 3], 4, gold=None) == 0.0
    assert stats.maj_at_k([0, 5], 4) == 0.0
    assert stats.maj_at_k([], 2, gold=None, abstentions=2) == 0.0


def test_all_repeats_reach_the_vote():
    """FC-SC-01: 30, 42, 42, 42, 17 with gold 42; the first alone is wrong."""
    votes = stats.count_votes(["30", "42", "42", "42", "17"], [False, True, True, True, False])
    assert votes == stats.QuestionVotes(3, (1, 1))
    assert stats.maj_at_k(votes.counts, 5) == 1
    assert stats.pass_at_k(5, votes.right, 5) == 1
    assert votes.right / votes.samples == 0.6


def test_ties_are_shared():
    """FC-SC-06: 4, 9, 9, 4 with gold 9."""
    votes = stats.count_votes(["4", "9", "9", "4"], [False, True, True, False])
    assert stats.maj_at_k(votes.counts, 4) == 0.5


@pytest.mark.parametrize(
    ("counts", "k", "gold", "abstentions", "message"),
    [
        ([4, 3], 8, 0, 0, "undefined"),
        ([4, 3], 0, 0, 0, "k >= 1"),
        ([4, -3], 1, 0, 0, "negative"),
        ([4, 3], 1, 0, -1, "negative"),
        ([4, 3], 1, 2, 0, "not an index"),
        ([4, 3], 1, -1, 0, "not an index"),
    ],
)
def test_refusals(counts, k, gold, abstentions, message):
    for vote in (stats.maj_at_k, stats.exact_maj_at_k):
        with pytest.raises(ValueError, match=message):
            vote(counts, k, gold, abstentions)


def test_a_whole_benchmark_is_quick():
    """64 samples of 1319 questions, every k: about a second; enumeration would not end."""
    rng = np.random.default_rng(0)
    questions = [rng.multinomial(64, rng.dirichlet([1.0] * 8)).tolist() for _ in range(1319)]
    started = time.process_time()
    for counts in questions:
        stats.maj_curve(counts)
    assert time.process_time() - started < 60


class TestWeightedVote:
    ANSWERS = ["18", "18", "20", None, "20", "20"]  # noqa: RUF012
    WEIGHTS = [0.9, 0.8, 0.3, 1.0, 0.2, 0.1]  # noqa: RUF012

    def test_all_samples(self):
        found = stats.weighted_vote_at_k(self.ANSWERS, self.WEIGHTS, 6, "18")
        assert (found.value, found.monte_carlo_error, found.subsets) == (1.0, 0.0, 1)
        assert stats.weighted_vote_at_k(self.ANSWERS, self.WEIGHTS, 6, "20").value == 0.0

    def test_subsets_are_enumerated_when_few(self):
        found = stats.weighted_vote_at_k(self.ANSWERS, self.WEIGHTS, 1, "18")
        assert (found.value, found.subsets) == (pytest.approx(2 / 6), 6)

    @pytest.mark.parametrize("k", [2, 3, 5])
    def test_equal_weights_are_the_plain_vote(self, k):
        found = stats.weighted_vote_at_k(self.ANSWERS, [1.0] * 6, k, "18")
        assert found.value == pytest.approx(stats.maj_at_k([2, 3], k, 0, 1))

    def test_drawn_subsets_carry_their_own_error(self):
        answers, weights = ["18"] * 20 + ["20"] * 12 + ["7"] * 8, [1.0] * 40
        found = stats.weighted_vote_at_k(answers, weights, 8, "18", draws=4000)
        assert found == stats.weighted_vote_at_k(answers, weights, 8, "18", draws=4000)
        assert found != stats.weighted_vote_at_k(answers, weights, 8, "18", draws=4000, seed=1)
        assert 0.005 < found.monte_carlo_error < 0.008
        assert abs(found.value - 10325 / 14586) < 4 * found.monte_carlo_error

    def test_sums_that_differ_by_rounding_tie(self):
        assert stats.weighted_vote_at_k(["1", "1", "2"], [0.1, 0.2, 0.3], 3, "1").value == 0.5

    def test_refusals(self):
        with pytest.raises(ValueError, match="undefined"):
            stats.weighted_vote_at_k(["1"], [1.0], 2, "1")
        for weights in ([-1.0], [math.nan], []):
            with pytest.raises(ValueError, match="weight"):
                stats.weighted_vote_at_k(["1"], weights, 1, "1")


def test_numpy_counts():
    counts = np.array([30, 20, 10])
    assert stats.maj_at_k(counts, 9, abstentions=np.int64(4)) == stats.maj_at_k(
        [30, 20, 10], 9, abstentions=4
    )
    assert stats.exact_maj_at_k(counts, np.int64(9)) == stats.exact_maj_at_k([30, 20, 10], 9)
    assert stats.mcnemar_midp(np.int64(70), np.int64(45)) == stats.mcnemar_midp(70, 45)
    assert stats.pass_at_k(np.int64(64), np.int64(3), 8) == stats.pass_at_k(64, 3, 8)
