"""JSON lines of answers to JSON lines of verdicts, for `resit grade --jsonl` and other programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from resit.grading.rules import grade
from resit.records import Verdict


class BadLine(NamedTuple):
    """A line that cannot be graded: its number from 1, and what is wrong with it."""

    number: int
    problem: str


def verdict_as_json(verdict: Verdict) -> dict[str, Any]:
    """The verdict as the command line prints it."""
    return {
        "extracted": verdict.extracted,
        "correct": bool(verdict.correct),
        "rule": verdict.rule,
        "span": list(verdict.span) if verdict.span else None,
        "reason": verdict.reason,
    }


def grade_lines(lines: Iterable[bytes], rule: str, options: Mapping[str, Any]) -> Iterator[Verdict | BadLine]:
    """The verdict on each line `{"answer", "gold"}`, in order; empty lines are passed over.

    A line may say its own `finish_reason`. Raises `UsageError` for an unknown rule or option.
    """
    grade("", "0", rule, **options)  # an unknown rule or option is an error before the first line
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        row = _row(line.removeprefix(b"\xef\xbb\xbf"))
        if isinstance(row, str):
            yield BadLine(number, row)
            continue
        reason = row.get("finish_reason") or options.get("finish_reason", "stop")
        yield grade(row["answer"], row["gold"], rule, **{**options, "finish_reason": reason})


def _row(line: bytes) -> dict[str, Any] | str:
    """The row with text in both fields, or what is wrong with it."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    if not isinstance(row, dict):
        return f'expected {{"answer": …, "gold": …}}, found {type(row).__name__}'
    for name in ("answer", "gold"):
        if name not in row:
            return f'no "{name}" in it, only {", ".join(map(repr, row)) or "nothing"}'
    if row["answer"] is not None and not isinstance(row["answer"], str):
        return f'"answer" must be text or null, found {type(row["answer"]).__name__}'
    if isinstance(row["gold"], int | float) and not isinstance(row["gold"], bool):
        row["gold"] = str(row["gold"])
    if not isinstance(row["gold"], str):
        return f'"gold" must be text or a number, found {type(row["gold"]).__name__}'
    return row
