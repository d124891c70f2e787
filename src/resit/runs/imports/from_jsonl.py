"""`{"doc_id", "response"}` lines: answers from anywhere, paired with a task by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from resit.records import FinishReason, Message, Prompt
from resit.runs.imports.entries import (
    Answer,
    Entries,
    Entry,
    Key,
    NotAsExpected,
    Problem,
    numbered_objects,
    text_of,
    whole_number,
)

RESERVED = frozenset(
    {"doc_id", "doc_hash", "response", "responses", "repeat", "finish_reason", "error", "prompt"}
)
_COUNTS = ("prompt_tokens", "cached_tokens", "completion_tokens")
_UNTOLD = "the file says that it failed, and not why"


def entries(path: Path) -> Entries:
    """The lines of a file, in order.

    A line holds `doc_id` (the 0-based row of the task's split) or `doc_hash`, and `response` (text) or
    `responses` (a list of texts). It may hold `repeat` (the number of its first response), `finish_reason`
    ("stop", "length", "error", "unknown"; one, or one a response; "error": the request failed), `error` (it
    failed, and why: the response may be left away; empty: it did not), `stop`, `prompt`, `messages` and token
    counts. Any other key that is a column of the documents is compared with theirs.
    """
    for where, line in numbered_objects(path):
        if isinstance(line, Problem):
            yield line
            continue
        try:
            yield _entry(where, line)
        except NotAsExpected as problem:
            yield Problem(where, str(problem))


def _entry(where: str, line: Mapping[str, Any]) -> Entry:
    doc_id, doc_hash = line.get("doc_id"), line.get("doc_hash")
    if doc_id is None and doc_hash is None:
        raise NotAsExpected(
            f"expected doc_id (or doc_hash), found only {', '.join(map(repr, line)) or 'nothing'}"
        )
    return Entry(
        where=where,
        key=Key(
            doc_hash=None if doc_hash is None else text_of(doc_hash, "doc_hash"),
            doc_id=None if doc_id is None else whole_number(doc_id, "doc_id"),
        ),
        answers=_answers(line),
        prompt=_prompt(line),
        columns=tuple((k, v) for k, v in line.items() if k not in RESERVED and isinstance(v, str)),
    )


def _answers(line: Mapping[str, Any]) -> tuple[Answer, ...]:
    error = "" if line.get("error") is None else text_of(line["error"], "error")
    if error:
        text = "" if line.get("response") is None else text_of(line["response"], "response")
        return (Answer(text, _first_repeat(line), "error", error=error),)
    texts = _texts(line)
    first, reasons = _first_repeat(line), _reasons(line, len(texts))
    alone = _details(line) if len(texts) == 1 else {}
    return tuple(
        Answer(text, first + index, reason, error=_UNTOLD if reason == "error" else None, **alone)
        for index, (text, reason) in enumerate(zip(texts, reasons, strict=True))
    )


def _first_repeat(line: Mapping[str, Any]) -> int:
    return whole_number(line.get("repeat", 0), "repeat")


def _texts(line: Mapping[str, Any]) -> list[str]:
    if ("response" in line) == ("responses" in line):
        raise NotAsExpected("expected either response (text) or responses (a list of texts)")
    if "response" in line:
        return [text_of(line["response"], "response")]
    responses = line["responses"]
    if not isinstance(responses, list) or not responses:
        raise NotAsExpected(f"responses: expected a list of texts, found {responses!r}")
    return [text_of(response, f"responses[{index}]") for index, response in enumerate(responses)]


def _reasons(line: Mapping[str, Any], count: int) -> Sequence[FinishReason]:
    given = line.get("finish_reason", "unknown")
    reasons = given if isinstance(given, list) else [given] * count
    known = get_args(FinishReason)
    if len(reasons) != count or any(reason not in known for reason in reasons):
        raise NotAsExpected(
            f"finish_reason: expected one of {', '.join(known)} for each response, found {given!r}"
        )
    return reasons


def _details(line: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        key: whole_number(line[key], key) for key in _COUNTS if line.get(key) is not None
    }
    if line.get("stop") is not None:
        found["stop"] = text_of(line["stop"], "stop")
    seconds = line.get("seconds")
    if isinstance(seconds, int | float):
        found["seconds"] = float(seconds)
    return found


def _prompt(line: Mapping[str, Any]) -> Prompt | None:
    if "messages" in line:
        return messages_of(line["messages"])
    return None if line.get("prompt") is None else text_of(line["prompt"], "prompt")


def messages_of(value: Any) -> tuple[Message, ...]:
    """Chat turns from a list of {"role", "content"}; raises NotAsExpected."""
    if not isinstance(value, list) or not value:
        raise NotAsExpected(f"messages: expected a list of chat turns, found {value!r}")
    turns = []
    for turn in value:
        role = turn.get("role") if isinstance(turn, Mapping) else None
        if role not in ("system", "user", "assistant") or not isinstance(turn.get("content"), str):
            raise NotAsExpected('messages: expected turns {"role", "content"} of system, user or assistant')
        turns.append(Message(role, turn["content"]))
    return tuple(turns)
