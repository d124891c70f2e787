"""Resit's own rule: the exact value a response states, equal to the gold answer's or not."""

from __future__ import annotations

from resit.grading.extraction import extract
from resit.grading.numbers import COMMA_DECIMAL_LANGUAGES
from resit.grading.rules import Policy
from resit.grading.values import equal, read_gold, written
from resit.records import Verdict


def robust(text: str, gold: str, policy: Policy, truncated: bool) -> Verdict:
    """The verdict by value, with the place of the answer and how it was found."""
    comma_decimal = True if policy.language in COMMA_DECIMAL_LANGUAGES else None
    wanted = read_gold(gold, policy.gold_marker, comma_decimal)
    if wanted is None:
        return _symbolic(text, gold, policy, truncated)
    found = extract(text, type(wanted), policy.reasoning_tags, policy.language, truncated)
    span = (found.start, found.end) if found.end else None
    if found.value is None:
        return Verdict("robust", None, 0.0, span, found.reason)
    correct = equal(found.value, wanted, policy.tolerance)
    return Verdict("robust", written(found.value), float(correct), span, found.reason)


def _symbolic(text: str, gold: str, policy: Policy, truncated: bool) -> Verdict:
    from resit.grading.symbolic import judge  # only golds that are no numbers need it

    return judge("robust", text, gold, policy, truncated)
