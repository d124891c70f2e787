"""Votes among the best-scored."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resit.stats import best_of_k, top_vote_at_k

ANSWERS = st.lists(st.sampled_from(["right", "a", "b", None]), min_size=1, max_size=6)


@given(ANSWERS, st.data())
def test_it_equals_enumeration(answers: list[str | None], data: st.DataObject) -> None:
    n = len(answers)
    scores = data.draw(st.permutations(range(n)))
    k, m = data.draw(st.integers(1, n)), data.draw(st.integers(1, n))
    wins = []
    for subset in itertools.combinations(range(n), k):
        voters = sorted(subset, key=lambda at: -scores[at])[:m]
        votes = [answers[at] for at in voters if answers[at] is not None]
        best = max((votes.count(one) for one in votes), default=0)
        winners = {one for one in votes if votes.count(one) == best}
        wins.append(1 / len(winners) if "right" in winners else 0.0)
    found = top_vote_at_k(answers, scores, k, m, "right")
    assert found.value == pytest.approx(sum(wins) / len(wins))
    assert found.monte_carlo_error == 0


def test_one_voter_is_the_best_of_k() -> None:
    answers, scores = ["right", "a", "right", "b"], [0.2, 0.9, 0.8, 0.1]
    for k in range(1, 5):
        right = [float(answer == "right") for answer in answers]
        assert top_vote_at_k(answers, scores, k, 1, "right").value == pytest.approx(
            best_of_k(scores, right, k)
        )


def test_ties_at_the_boundary_all_vote() -> None:
    assert top_vote_at_k(["right", "a", "right"], [0.5, 0.5, 0.5], 3, 1, "right").value == 1


def test_many_subsets_are_drawn_by_seed() -> None:
    answers, scores = ["right", "a"] * 10, [float(at) for at in range(20)]
    one = top_vote_at_k(answers, scores, 10, 3, "right", draws=300)
    assert one == top_vote_at_k(answers, scores, 10, 3, "right", draws=300)
    assert one.subsets == 300
    assert one.monte_carlo_error > 0


@pytest.mark.parametrize(
    ("answers", "scores", "k", "m"),
    [(["a"], [1.0, 2.0], 1, 1), (["a"], [float("nan")], 1, 1), (["a"], [1.0], 2, 1), (["a"], [1.0], 1, 0)],
)
def test_impossible_votes_are_refused(answers: list[str], scores: list[float], k: int, m: int) -> None:
    with pytest.raises(ValueError, match=r"vote|k"):
        top_vote_at_k(answers, scores, k, m, "right")
