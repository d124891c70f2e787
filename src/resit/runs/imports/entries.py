"""What every reader gives: a foreign file's entries, and the places where it is not what it should be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from resit import jsonl
from resit.errors import UsageError
from resit.records import FinishReason, Prompt


@dataclass(frozen=True, slots=True)
class Answer:
    """One sample of a foreign file."""

    text: str
    repeat: int
    finish_reason: FinishReason = "unknown"
    stop: str | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Key:
    """How an entry names its document; the strongest that is given counts, in this order."""

    doc_hash: str | None = None
    text: str | None = None
    """The question in words: the document is the one that has this text in a column."""
    doc_id: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A document of a foreign file with samples of its answer."""

    where: str
    """`line 3`, or whatever else the file counts by."""
    key: Key
    answers: tuple[Answer, ...]
    prompt: Prompt | None = None
    """None: the file does not say what was asked."""
    columns: tuple[tuple[str, str], ...] = ()
    """Texts of the document that the file repeats, to be checked."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A place of a foreign file that cannot be used."""

    where: str
    text: str


Entries: TypeAlias = Iterator[Entry | Problem]


class NotAsExpected(Exception):
    """A reader's own signal: this line is a problem, with this text."""


def numbered_objects(path: Path) -> Iterator[tuple[str, dict[str, Any] | Problem]]:
    """Each line of a JSON Lines file with its place; the last may lack its line end.

    Raises UsageError when the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                where = f"line {number}"
                if number == 1:
                    raw = raw.removeprefix(b"\xef\xbb\xbf")
                if raw.strip():
                    yield where, _object(where, raw)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


def _object(where: str, raw: bytes) -> dict[str, Any] | Problem:
    try:
        return jsonl.decode(raw)
    except (ValueError, RecursionError) as error:
        torn = "" if raw.endswith(b"\n") else " (the file ends in the middle of it)"
        return Problem(where, f"expected a JSON object, found something else{torn}: {error}")


def whole_number(value: Any, name: str) -> int:
    """The value as a number from 0 up; raises NotAsExpected."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise NotAsExpected(f"{name}: expected a whole number from 0 up, found {value!r}")
    return value


def text_of(value: Any, name: str) -> str:
    """The value as text; raises NotAsExpected."""
    if not isinstance(value, str):
        raise NotAsExpected(f"{name}: expected text, found {_kind(value)}")
    return value


def mapping_of(value: Any, name: str) -> dict[str, Any]:
    """The value as an object, an empty one for null; raises NotAsExpected."""
    if value is not None and not isinstance(value, dict):
        raise NotAsExpected(f"{name}: expected an object, found {_kind(value)}")
    return value or {}


def list_of(value: Any, name: str) -> list[Any]:
    """The value as a list, an empty one for null; raises NotAsExpected."""
    if value is not None and not isinstance(value, list):
        raise NotAsExpected(f"{name}: expected a list, found {_kind(value)}")
    return value or []


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__
