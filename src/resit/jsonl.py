"""JSON Lines that survive what models write and what machines do.

Lines end at b"\\n" only (not at U+2028, U+0085, …), text is UTF-8 whatever the locale, and a lone
surrogate, which UTF-8 cannot hold, is written as its JSON escape.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json

from resit.errors import ResitError, UsageError

STALE_SECONDS = 86400
"""The age from which on a temporary file is one that a killed process has left behind."""


@dataclass(frozen=True, slots=True)
class Line:
    """One complete line of a file: its 1-based number, its place, and its object if it is one."""

    number: int
    offset: int
    length: int
    value: dict[str, Any] | None
    problem: str = ""


def encode(value: Any) -> bytes:
    """Compact JSON in UTF-8 without a line end. Raises UsageError for a value that JSON has no form for."""
    try:
        return to_json(value, inf_nan_mode="constants")
    except PydanticSerializationError:  # a lone surrogate, or what JSON has no word for
        try:
            return json.dumps(value, separators=(",", ":")).encode()
        except TypeError:
            raise _no_json(value) from None


def _no_json(value: Any) -> UsageError:
    place, found = next(_foreign(value, ""), ("", value))
    return UsageError(
        f"{place.removeprefix('.') or 'the value'}: {type(found).__name__} has no form in JSON, "
        f"found {repr(found)[:60]}",
        "leave the column out, or make it a text",
    )


def _foreign(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """What is in a value that JSON has no form for, each with its place."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _foreign(inner, f"{place}.{key}")
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _foreign(inner, f"{place}.{index}")
    elif not isinstance(value, str | int | float | None):
        yield place, value


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

    A link stays one, and what is no file (a pipe, /dev/stdout, /dev/null) is written to, not replaced. Raises
    ResitError when the file system refuses; the old content then stands.
    """
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as stream:
                stream.write(data)
        else:
            _replace(Path(os.path.realpath(path)), data)
    except OSError as error:
        raise cannot_write(path, error) from error


def _replace(path: Path, data: bytes) -> None:
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")  # process ids are equal in containers
    try:
        sweep(path.parent, f".{glob.escape(path.name)}.*.part")
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        discard(part)
        raise


def sweep(folder: Path, pattern: str) -> None:
    """Remove the temporary files that writers which were killed more than a day ago left behind."""
    for part in folder.glob(pattern):
        with contextlib.suppress(OSError):  # another process may have finished with it just now
            if time.time() - part.stat().st_mtime > STALE_SECONDS:
                part.unlink()


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
