"""JSON Lines that survive what models write and what machines do.

Lines end at b"\\n" only (not at U+2028, U+0085, …), text is UTF-8 whatever the locale, and a lone
surrogate, which UTF-8 cannot hold, is written as its JSON escape.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json

from resit.errors import ResitError


@dataclass(frozen=True, slots=True)
class Line:
    """One complete line of a file: its 1-based number, its place, and its object if it is one."""

    number: int
    offset: int
    length: int
    value: dict[str, Any] | None
    problem: str = ""


def encode(value: Any) -> bytes:
    """Compact JSON in UTF-8 without a line end."""
    try:
        return to_json(value, inf_nan_mode="constants")
    except PydanticSerializationError:  # a lone surrogate, or what JSON has no word for
        return json.dumps(value, separators=(",", ":")).encode()


def decode(raw: bytes) -> dict[str, Any]:
    """The object that one line holds; ValueError when it holds none."""
    try:
        value = from_json(raw, cache_strings="keys")
    except ValueError:  # a lone surrogate's escape, which only the standard library reads; or no JSON
        value = json.loads(raw)
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, found {type(value).__name__}")
    return value


def read(path: Path) -> Iterator[Line]:
    """The complete lines of a file, corrupt ones with their problem instead of a value.

    A last line without its line end is torn: it is not yielded (see `complete_length`).
    """
    offset = 0
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if not raw.endswith(b"\n"):
                return
            if raw.strip():
                yield _parse(number, offset, raw)
            offset += len(raw)


def _parse(number: int, offset: int, raw: bytes) -> Line:
    try:
        return Line(number, offset, len(raw), decode(raw))
    except (ValueError, RecursionError) as error:
        return Line(number, offset, len(raw), None, str(error))


def complete_length(path: Path) -> int:
    """Bytes up to and including the last line end; less than the file's size when it is torn."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - 65536)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
    return 0


def make_folder(path: Path) -> None:
    """Make a folder and those above it, where they are missing. Raises ResitError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def write_atomic(path: Path, data: bytes) -> None:
    """Replace a file's content in one step: readers see the old or the new, never a part.

    Raises ResitError when the file system refuses; the old content then stands.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        discard(part)
        raise cannot_write(path, error) from error


def discard(path: Path) -> None:
    """Remove a temporary file if it can be: where it cannot, the error that led here is the one to tell."""
    with contextlib.suppress(OSError):
        path.unlink()


def cannot_write(path: Path, error: OSError) -> ResitError:
    """The error for a full, read-only or vanished disk."""
    return ResitError(
        f"cannot write {path}: {error.strerror or error}",
        "what was written before is intact; free space or fix permissions, then run the same command again",
    )
