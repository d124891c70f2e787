"""Resit's own rule: the exact number a response states, by value equal to the gold answer."""

from __future__ import annotations

from resit.grading.extraction import extract_number
from resit.grading.numbers import COMMA_DECIMAL_LANGUAGES
from resit.grading.rules import Policy
from resit.grading.values import equal, read_gold, written
from resit.records import Verdict


def robust(text: str, gold: str, policy: Policy, truncated: bool) -> Verdict:
    """The verdict by value, with the place of the answer and how it was found."""
    wanted = read_gold(gold, policy.gold_marker, policy.language in COMMA_DECIMAL_LANGUAGES or None)
    found = extract_number(text, policy.reasoning_tags, policy.language, truncated)
    if found.value is None:
        return Verdict(
            "robust", None, 0.0, (found.start, found.end) if found.explicit else None, found.reason
        )
    correct = wanted is not None and equal(found.value, wanted, policy.tolerance)
    return Verdict("robust", written(found.value), float(correct), (found.start, found.end), found.reason)
