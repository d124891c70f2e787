"""The catalogue's index: what `resit tasks list` shows, and which file a name stands for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

CATALOGUE = Path(__file__).parent / "catalogue"
INDEX = CATALOGUE / "index.json"


@dataclass(frozen=True, slots=True)
class Entry:
    """A task or group of the catalogue, as the index has it."""

    name: str
    file: str
    about: str
    tags: tuple[str, ...] = ()
    status: str = ""
    members: tuple[str, ...] = ()
    """A group's tasks."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tasks that differ in nothing but their questions."""

    name: str
    seen: str
    """The task whose questions a model may have memorised."""
    fresh: str
    about: str
    rule: str = "robust"
    """The grading rule by which its gap is read."""
    by: str = ""
    """The documents' field by which its questions are paired; empty: they are not."""


@cache
def index() -> Mapping[str, Entry]:
    """The catalogue's tasks and groups by name; reads one small file."""
    entries = json.loads(INDEX.read_text(encoding="utf-8"))["entries"]
    return {name: Entry(name, **_frozen(entry)) for name, entry in entries.items()}


def _frozen(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}


@cache
def pairs() -> Mapping[str, Pair]:
    """The declared pairs by name, such as `gsm8k/gsm1k`."""
    declared = json.loads(INDEX.read_text(encoding="utf-8"))["pairs"]
    return {name: Pair(name, **pair) for name, pair in declared.items()}


def tags() -> dict[str, tuple[str, ...]]:
    """The catalogue's tags, each with its tasks, both sorted."""
    found: dict[str, list[str]] = {}
    for entry in index().values():
        for tag in entry.tags:
            found.setdefault(tag, []).append(entry.name)
    return {tag: tuple(sorted(members)) for tag, members in sorted(found.items())}
