"""What the reports that look at texts are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from resit.records import Generation, Question, QuestionScore


@dataclass(frozen=True, slots=True)
class Graded:
    """A question, its samples by rising repeat, and what the rules make of them."""

    question: Question
    generations: Sequence[Generation]
    score: QuestionScore
