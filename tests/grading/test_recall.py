from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resit.grading import grade

GOLD = " has nine pens."


@pytest.mark.parametrize(
    ("continuation", "exact", "rouge", "read"),
    [
        (" has nine pens.", 1, 1.0, "has nine pens."),
        (" HAS  nine pens. And more words", 1, 1.0, "HAS  nine pens."),
        (" has ten pens.", 0, 3 / 4, "has ten pens."),
        (" pens nine has.", 0, 2 / 4, "pens nine has."),
        ("nine", 0, 2 / (1 + 4), "nine"),
        ("", 0, 0.0, None),
        (" \n ", 0, 0.0, None),
    ],
)
def test_recall_by_hand(continuation: str, exact: float, rouge: float, read: str | None) -> None:
    whole = grade(continuation, GOLD, "recall_exact")
    part = grade(continuation, GOLD, "recall_rouge_l")
    assert (whole.correct, part.correct) == (exact, pytest.approx(rouge))
    assert whole.extracted == part.extracted == read


@given(st.text(), st.text())
def test_rouge_lies_between_exact_and_one(text: str, gold: str) -> None:
    exact = grade(text, gold, "recall_exact")
    rouge = grade(text, gold, "recall_rouge_l")
    assert exact.correct <= rouge.correct <= 1
    if exact.correct:
        assert rouge.correct == 1
    if rouge.span:
        assert text[slice(*rouge.span)].strip() == rouge.extracted
