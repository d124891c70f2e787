"""Answers that are expressions, intervals or tuples: math-verify's verdict, from a killable process."""

from __future__ import annotations

import re
from typing import Any

from resit.errors import ResitError
from resit.grading.filters import Unscorable
from resit.grading.reasoning import outside_reasoning, segments
from resit.grading.rules import Policy
from resit.grading.values import gold_text
from resit.grading.verifier import Overrun, is_installed, shared_verifier
from resit.records import Verdict

OVERRUN = "overrun"
"""Reason of a verdict that was not reached in time; such answers are not wrong, they are not known."""
NEEDS_MATH = "expressions are compared by math-verify: pip install 'resit[math]'"

_QUANTIFIERS = ("\\forall", "\\exists")
"""math-verify reads both `g(x) = 0` and `\\forall x>2, g(x) = 0` as 0."""
_MAX_ANSWER = 20_000
_MAX_EXPONENT = 10_000
_NESTED_POWER = re.compile(r"\^[{(\\left\s]*+(\d{1,9})\s*+\^[{(\\left\s]*+(\d{1,9})")
_HUGE = re.compile(
    r"\^\s*+[{(]?\s*+\d{5,}|(?<!\d)\d{5,}+\s*+\)?!|\\binom\s*\{\s*\d{5,}"
    r"|\*\*\s*+\(?\s*+\d++\s*+\*\*|\^\s*+\{?\s*+\d++\s*+!"
)
"""Possessive, so that long runs of digits or blanks take linear time."""


def math(text: str, gold: str, policy: Policy, truncated: bool) -> Verdict:
    """math-verify's verdict on a response; raises `Unscorable` without the extra `math`."""
    return judge("math", text, gold, policy, truncated)


def judge(rule: str, text: str, gold: str, policy: Policy, truncated: bool) -> Verdict:
    """math-verify's verdict under the name of the rule that asks; raises `Unscorable`."""
    parts = outside_reasoning(text, policy.reasoning_tags)
    if parts is None:
        return Verdict(rule, None, 0.0, reason="unfinished reasoning")
    start, end = parts[0]
    start, end = next((s for s in segments(text, start, end) if text[s[0] : s[1]].strip()), (start, end))
    if truncated and end == len(text):
        return Verdict(rule, None, 0.0, reason="truncated")
    answer = text[max(start, end - _MAX_ANSWER) : end]
    if not answer.strip():
        return Verdict(rule, None, 0.0, reason="no answer found")
    wanted = gold_text(gold, policy.gold_marker)
    if any((quantifier in wanted) != (quantifier in answer) for quantifier in _QUANTIFIERS):
        return Verdict(rule, None, 0.0, reason="quantified on one side only")
    reply = ask({"operation": "verify", "gold": wanted, "answer": answer})
    if "error" in reply:
        return Verdict(rule, None, 0.0, reason=reply["error"])
    reason = "math-verify" if reply["extracted"] is not None else "no answer found"
    return Verdict(rule, reply["extracted"], float(reply["equal"]), reason=reason)


def ask(request: dict[str, Any]) -> dict[str, Any]:
    """The worker's reply, `{"error": "overrun"}` where there is none in time; raises `Unscorable`."""
    if not is_installed():
        raise Unscorable(NEEDS_MATH)
    if any(is_too_large(value) for value in request.values()):
        return {"error": OVERRUN}
    try:
        return shared_verifier().ask(request)
    except Overrun:
        return {"error": OVERRUN}
    except ResitError as error:
        raise Unscorable(str(error)) from error


def is_too_large(text: str) -> bool:
    """Whether an expression holds a power or factorial that is known not to finish."""
    if _HUGE.search(text):
        return True
    return any(
        int(inner) ** min(int(outer), 40) > _MAX_EXPONENT for inner, outer in _NESTED_POWER.findall(text)
    )
