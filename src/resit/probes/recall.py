"""Whether a model can go on with a text it was shown the first half of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Halves:
    """A text cut between two words."""

    first: str
    second: str
    """Begins with the blank that parts the two."""


def halves(text: str) -> Halves | None:
    """The text cut at the blank nearest its middle; None where there is none."""
    middle = len(text) // 2
    blanks = [found.start() for found in re.finditer(r"\s+(?=\S)", text) if found.start() > 0]
    if not blanks:
        return None
    cut = min(blanks, key=lambda at: (abs(at - middle), at))
    return Halves(text[:cut], text[cut:])


@dataclass(frozen=True, slots=True)
class Recall:
    """How a continuation compares with the true second half."""

    exact: bool
    """The continuation begins with all of it, word for word."""
    rouge_l: float
    """F-measure over the longest common subsequence of words, of the continuation's first words."""


def recall(continuation: str, truth: str) -> Recall:
    """Exact match and ROUGE-L (Lin 2004) of a continuation, cut to the truth's number of words.

    Words are compared without case; marks of punctuation are words.
    """
    wanted = _WORD.findall(truth.casefold())
    found = _WORD.findall(continuation.casefold())[: len(wanted)]
    if not wanted or not found:
        return Recall(False, 0.0)
    common = _common(found, wanted)
    return Recall(found == wanted, 2 * common / (len(found) + len(wanted)))


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    row = [0] * (len(second) + 1)
    for word in first:
        before = 0
        for at, other in enumerate(second, 1):
            before, row[at] = row[at], before + 1 if word == other else max(row[at], row[at - 1])
    return row[-1]
