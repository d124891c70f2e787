"""Whether a continuation is the text that it was asked to continue: a sign of memory, not of skill."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from resit.grading.rules import Policy
from resit.grading.values import gold_text
from resit.records import Verdict

_Score: TypeAlias = Callable[[Sequence[str], Sequence[str]], float]
"""From the words found and the words wanted to a score."""

_WORD = re.compile("\\w+|[^\\w\\s\0-\x1f\x7f\ud800-\udfff]")


def recall_exact(text: str, gold: str, policy: Policy, truncated: bool) -> Verdict:
    """Right when the continuation begins with all of the truth, word for word.

    Words are compared without case; marks of punctuation are words; what follows does not count.
    """
    return _verdict("recall_exact", text, gold, policy, lambda found, wanted: float(found == wanted))


def recall_rouge_l(text: str, gold: str, policy: Policy, truncated: bool) -> Verdict:
    """ROUGE-L (Lin 2004) of the continuation, cut to the truth's number of words, as `recall_exact` has them.

    F-measure: twice the longest common subsequence over both numbers of words.
    """
    return _verdict("recall_rouge_l", text, gold, policy, _rouge_l)


def _verdict(rule: str, text: str, gold: str, policy: Policy, score: _Score) -> Verdict:
    wanted = [word for word, _ in _words(gold_text(gold, policy.gold_marker))]
    found = list(islice(_words(text), len(wanted)))
    if not found:
        return Verdict(rule, None, 0.0, reason="no continuation")
    end = found[-1][1]
    return Verdict(
        rule, text[:end].strip(), score([word for word, _ in found], wanted), (0, end), "continuation"
    )


def _words(text: str) -> Iterator[tuple[str, int]]:
    """Each word, and where it ends."""
    return ((found[0].casefold(), found.end()) for found in _WORD.finditer(text))


def _rouge_l(found: Sequence[str], wanted: Sequence[str]) -> float:
    return 2 * _common(found, wanted) / (len(found) + len(wanted))


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    row = [0] * (len(second) + 1)
    for word in first:
        before = 0
        for at, other in enumerate(second, 1):
            before, row[at] = row[at], before + 1 if word == other else max(row[at], row[at - 1])
    return row[-1]
