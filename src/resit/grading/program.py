"""Answers that are programs: what the Python in a response comes to, equal to the gold answer or not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from resit.grading.filters import Unscorable
from resit.grading.reasoning import outside_reasoning
from resit.grading.rules import Policy
from resit.grading.values import equal, read_gold, read_value, written
from resit.records import Verdict

NEEDS_TRUST = "not run: programs of models run with --trust-model-code only"
_FENCE = re.compile(r"(?m)^[ \t]*`{3,}(?P<blank>[ \t]*)\{?(?P<tag>[^\s`{}]*)(?P<rest>[^\n]*)(?:\n|\Z)")
_PYTHON = ("python", "python3", "py", "py3")
_SOLUTION = re.compile(r"(?m)^[ \t]*def solution\b")
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


class _Block(NamedTuple):
    """A fenced block: its fence, its content and what it says it is."""

    opened: int
    start: int
    end: int
    tag: str


def find_program(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Where a response's program stands: a fenced block of Python, else from the first line of code on.

    Of several blocks it is the last one that defines `solution`, else the last tagged as Python, else the
    last without a tag that holds code. Code above a fence that closes nothing goes before a block with none.
    """
    blocks = list(_blocks(text, start, end))
    filled = [block for block in blocks if text[block.start : block.end].strip()]
    tagged = [block for block in filled if block.tag in _PYTHON]
    untagged = [block for block in filled if not block.tag]
    code = [block for block in untagged if _BARE.search(text, block.start, block.end)]
    solving = [block for block in tagged + code if _SOLUTION.search(text, block.start, block.end)]
    if programs := solving or tagged or code:
        program = max(programs)
        return program.start, program.end
    for block in [*blocks, _Block(end, end, end, "")]:
        bare = _BARE.search(text, start, block.opened)
        if bare:
            return bare.start(), block.opened
        start = block.end
    return (untagged[-1].start, untagged[-1].end) if untagged else None


def _blocks(text: str, start: int, end: int) -> Iterator[_Block]:
    """The fenced blocks, in order; one that is never closed ends where the next begins, or with the text."""
    block: _Block | None = None
    for fence in _FENCE.finditer(text, start, end):
        if block is not None:
            yield block._replace(end=fence.start())
        opens = "`" not in fence["rest"] and (block is None or (fence["tag"] and not fence["blank"]))
        block = _Block(fence.start(), fence.end(), end, fence["tag"].lower()) if opens else None
    if block is not None:
        yield block


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
