"""Graded solutions, and how they are divided by question."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Part: TypeAlias = Literal["train", "validation", "test"]
PARTS: tuple[Part, ...] = ("train", "validation", "test")

VALIDATION, TEST = 0.1, 0.2
"""Shares of the questions that decide when to stop, and that the verifier is judged by."""


@dataclass(frozen=True, slots=True)
class Solution:
    """One sampled answer to a question."""

    question_key: str
    """Same for all solutions of a question (its document hash)."""
    question: str
    text: str
    correct: float
    """1.0 right, 0.0 wrong."""
    repeat: int = 0


def part_of(question_key: str, seed: int) -> Part:
    """Which part a question belongs to, whatever other questions there are."""
    digest = hashlib.sha256(f"{seed}/{question_key}".encode()).digest()
    share = int.from_bytes(digest[:8], "big") / 2**64
    return "test" if share < TEST else "validation" if share < TEST + VALIDATION else "train"


def divided(solutions: Iterable[Solution], seed: int) -> dict[Part, list[Solution]]:
    """The solutions by part, a question's all in one, each part in the given order."""
    parts: dict[Part, list[Solution]] = {part: [] for part in PARTS}
    for solution in solutions:
        parts[part_of(solution.question_key, seed)].append(solution)
    return parts
