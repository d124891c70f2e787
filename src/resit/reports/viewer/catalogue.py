"""The runs below a folder: found, named, and summed up in a few lines each."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from resit.reports.viewer.files import RunFiles

_MARKS = frozenset({"run.json", "generations.jsonl", "scores.jsonl", "results.json"})
"""A folder that holds one of these is a run."""
_DEEPEST = 8
_MOST_FOLDERS = 200_000
MOST_BYTES = 64 << 20
"""Of a `run.json` or `results.json` that is read."""


@dataclass(frozen=True, slots=True)
class Found:
    """A run's folder, or what stands in its place and why it is not opened."""

    id: str
    name: str
    """Path below the root, with bytes that are no text as escapes."""
    files: RunFiles
    problem: str = ""


def identifier(names: tuple[str, ...]) -> str:
    """How addresses call a run: sixteen hexadecimal digits of its path's digest, the same after a restart.

    An address names no path, so none can lead out of the folder.
    """
    return hashlib.sha256(os.fsencode("/".join(names))).hexdigest()[:16]


def readable(name: str) -> str:
    """A file name as text that every encoding can hold."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def find_runs(root: Path) -> Iterator[Found]:
    """The runs in a folder and below, sorted by path within each folder. Links are named, not followed."""
    budget = [_MOST_FOLDERS]
    yield from _below(root, (), budget)


def _below(root: Path, names: tuple[str, ...], budget: list[int]) -> Iterator[Found]:
    budget[0] -= 1
    if budget[0] < 0 or len(names) > _DEEPEST:
        return
    files = RunFiles(root, names)
    try:
        with os.scandir(files.path) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        yield _found(files, f"the folder cannot be read: {error.strerror or error}")
        return
    if any(entry.name in _MARKS for entry in inside):
        yield _found(files)
        return
    for entry in inside:
        if entry.name.startswith("."):
            continue
        below = RunFiles(root, (*names, entry.name))
        if entry.is_symlink():
            if entry.is_dir():
                yield _found(below, "a symbolic link, which is not followed: open its target itself")
        elif entry.is_dir(follow_symlinks=False):
            yield from _below(root, below.names, budget)


def _found(files: RunFiles, problem: str = "") -> Found:
    name = "/".join(map(readable, files.names)) or readable(files.root.name)
    return Found(identifier(files.names), name, files, problem)
