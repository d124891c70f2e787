"""The journal: an append-only file of finished samples, the only thing between generating and scoring.

See docs/design/journal.md for the format and what each kind of damage leads to.
"""

from __future__ import annotations

import mmap
import os
import time
from array import array
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from resit import jsonl
from resit.errors import ResitError
from resit.models.calculator import insertion_from, insertion_to
from resit.records import Generation

SYNC_SECONDS = 5.0
"""A crash of the machine (not of the process) may cost what was written in so many seconds."""
_BINARY = getattr(os, "O_BINARY", 0)
"""Windows would write every line end as two bytes."""

_FIELDS = tuple(field.name for field in fields(Generation))
_KNOWN = frozenset(_FIELDS)
_REQUIRED = ("task", "doc_id", "doc_hash", "repeat")


class AppendFile:
    """A file that only grows, line by line, and that a failed write does not damage.

    Each line goes to the operating system in one write, so a killed process loses at most the line
    it was writing. A torn last line from an earlier writer is cut off when the file is opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn_bytes = 0
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _BINARY, 0o644)
            self._length = jsonl.complete_length(path)
            self.torn_bytes = os.fstat(self._file).st_size - self._length
            if self.torn_bytes:
                os.ftruncate(self._file, self._length)
        except OSError as error:
            raise jsonl.cannot_write(path, error) from error
        self._synced = time.monotonic()

    def append(self, value: dict[str, Any]) -> None:
        """Add one line; a full disk raises ResitError and leaves the file as it was."""
        line = jsonl.encode(value) + b"\n"
        try:
            written = os.write(self._file, line)
            while written < len(line):  # a nearly full disk takes a part
                written += os.write(self._file, line[written:])
        except OSError as error:
            os.ftruncate(self._file, self._length)
            raise jsonl.cannot_write(self.path, error) from error
        self._length += len(line)
        if time.monotonic() - self._synced > SYNC_SECONDS:
            self.sync()

    def sync(self) -> None:
        """Ask the disk to keep what was written."""
        try:
            os.fsync(self._file)
        except OSError as error:
            raise jsonl.cannot_write(self.path, error) from error
        self._synced = time.monotonic()

    def close(self) -> None:
        try:
            self.sync()
        finally:
            os.close(self._file)


def to_line(generation: Generation) -> dict[str, Any]:
    """The journal's object for a sample; fields that are unknown are left out."""
    values = ((name, getattr(generation, name)) for name in _FIELDS)
    line = {name: value for name, value in values if value is not None}
    if generation.insertions is not None:
        line["insertions"] = [insertion_to(insertion) for insertion in generation.insertions]
    return line


def from_line(value: dict[str, Any]) -> Generation:
    """The sample that a journal's object holds; ValueError when a field is missing or misshapen.

    Fields of a later format are ignored, so that an older Resit can still score the run.
    """
    check_line(value)
    if not value.keys() <= _KNOWN:
        value = {name: item for name, item in value.items() if name in _KNOWN}
    if value.get("insertions") is not None:
        value = {**value, "insertions": tuple(map(insertion_from, value["insertions"]))}
    return Generation(**value) if "seed" in value else Generation(seed=0, **value)


def check_line(value: dict[str, Any]) -> None:
    """Raise ValueError unless a journal's object holds a sample."""
    for name in _REQUIRED:
        if name not in value:
            raise ValueError(f"no {name!r}")
    if not isinstance(value["repeat"], int) or not isinstance(value.get("text", ""), str):
        raise ValueError("'repeat' must be a whole number and 'text' a string")
    if isinstance(value["repeat"], bool) or value["repeat"] < 0:
        raise ValueError(f"'repeat' must be a whole number from 0 up, found {value['repeat']}")


class JournalIndex:
    """Where each sample's line stands, in memory proportional to their number, not their text.

    Of several lines for one sample the first that is not an error counts: a retried error is
    healed, and nothing that is appended later changes a result.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[str] = []
        self._offsets: dict[tuple[str, str], dict[int, int]] = {}
        self._errored: dict[tuple[str, str], dict[int, int]] = {}
        self._size = 0
        if path.exists():
            self.refresh()

    def refresh(self) -> None:
        """Read the file (again) and note where every sample stands."""
        self.problems, self._offsets, self._errored = [], {}, {}
        for line in jsonl.read(self.path):
            try:
                if line.value is None:
                    raise ValueError(line.problem)
                check_line(line.value)
                self._note(line.value, line.offset)
            except (ValueError, TypeError) as error:
                self.problems.append(f"{self.path}, line {line.number}: {error}; the sample is owed again")
        self._size = self.path.stat().st_size

    def _note(self, line: dict[str, Any], offset: int) -> None:
        place = self._offsets if line.get("error") is None else self._errored
        place.setdefault((line["task"], line["doc_hash"]), {}).setdefault(line["repeat"], offset)

    def finished(self, task: str, doc_hash: str) -> frozenset[int]:
        """Repeats of a question that are on file without an error."""
        return frozenset(self._offsets.get((task, doc_hash), ()))

    def __len__(self) -> int:
        return sum(map(len, self._offsets.values()))

    def count(self, task: str) -> int:
        """Samples of a task that are on file without an error."""
        return sum(len(repeats) for (name, _), repeats in self._offsets.items() if name == task)

    def reader(self) -> JournalReader:
        """Random access to the samples; use as a context manager."""
        return JournalReader(self.path)

    def offsets(self, task: str, doc_hash: str) -> array[int]:
        """Byte offsets of a question's samples by rising repeat, errored ones where nothing better is."""
        good = self._offsets.get((task, doc_hash), {})
        merged = {**self._errored.get((task, doc_hash), {}), **good}
        return array("q", (merged[repeat] for repeat in sorted(merged)))


class JournalReader:
    """Reads samples at given places through a memory map, so that a large journal needs little memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._map: mmap.mmap | None = None

    def __enter__(self) -> JournalReader:
        if self._path.exists() and self._path.stat().st_size:
            with self._path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return self

    def __exit__(self, *_: object) -> None:
        if self._map is not None:
            self._map.close()

    def samples(self, offsets: Iterable[int]) -> list[Generation]:
        """The samples whose lines stand at these offsets of `JournalIndex.offsets`."""
        return [self._sample(offset) for offset in offsets]

    def _sample(self, offset: int) -> Generation:
        if self._map is None:
            raise ResitError(f"{self._path} is empty or gone, but had samples a moment ago")
        return from_line(jsonl.decode(self._map[offset : self._map.find(b"\n", offset)]))
