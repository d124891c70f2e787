"""Answers that are programs: what the Python in a response comes to, equal to the gold answer or not."""

from __future__ import annotations

import re
from functools import lru_cache

from resit.grading.filters import Unscorable
from resit.grading.reasoning import outside_reasoning
from resit.grading.rules import Policy
from resit.grading.values import equal, read_gold, read_value, written
from resit.records import Verdict

NEEDS_TRUST = "not run: programs of models run with --trust-model-code only"
_FENCED = re.compile(r"(?ims)^[ \t]*```[ \t]*(?:python3?|py)?[ \t]*\n(.*?)(?:^[ \t]*```|\Z)")
_BARE = re.compile(
    r"(?m)^(?:def |import |from \w+ import |print\(|[A-Za-z_]\w*(?: *, *[A-Za-z_]\w*)* *=[^=])"
)


def program(text: str, gold: str, policy: Policy, truncated: bool) -> Verdict:
    """The verdict on what the response's program comes to, with the program's place.

    Raises `Unscorable` where the gold answer is no number or the sandbox cannot be started.
    """
    wanted = read_gold(gold, policy.gold_marker)
    if wanted is None:
        raise Unscorable("the gold answer is no number, so a program's value cannot be compared with it")
    parts = outside_reasoning(text, policy.reasoning_tags)
    if parts is None:
        return Verdict("program", None, 0.0, reason="unfinished reasoning")
    span = find_program(text, *parts[0])
    if span is None:
        return Verdict("program", None, 0.0, reason="no program found")
    if not policy.trust_model_code:
        return Verdict("program", None, 0.0, span, NEEDS_TRUST)
    value, problem = _outcome(text[span[0] : span[1]])
    if value is None:
        cut_off = truncated and span[1] == len(text)
        return Verdict("program", None, 0.0, span, "truncated" if cut_off else problem)
    answer = read_value(value)
    if answer is None:
        return Verdict("program", None, 0.0, span, f"its value is no number: {value[:60]}")
    return Verdict("program", written(answer), float(equal(answer, wanted, policy.tolerance)), span, "run")


def find_program(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Where a response's program stands: its last fenced block, else from the first line of code on."""
    fenced = [match for match in _FENCED.finditer(text, start, end) if match[1].strip()]
    if fenced:
        return fenced[-1].span(1)
    bare = _BARE.search(text, start, end)
    return (bare.start(), end) if bare else None


@lru_cache(maxsize=4096)
def _outcome(source: str) -> tuple[str | None, str]:
    """Value and problem of a program; what a model says again is not run again."""
    from resit.errors import ResitError
    from resit.grading.sandbox import shared_sandbox

    try:
        outcome = shared_sandbox().run(source)
    except ResitError as error:
        raise Unscorable(str(error)) from error
    return outcome.value, outcome.problem
