"""Finding text in a run: a scan of its files' bytes that can be watched and left at any time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from resit import jsonl
from resit.reports.viewer.files import OpenFile
from resit.reports.viewer.index import Array, Snapshot

BLOCK = 4 << 20
"""Bytes that are read and searched at a time."""
_PLAIN = re.compile(r"[ !#-.0-\[\]^-~]+")
"""What every writer of JSON leaves as it is, one byte a character."""
_ENOUGH = 3


class Needle:
    """A text to be found in lines of JSON, whatever its case.

    Bytes are searched for the longest part of it that JSON leaves alone; only a line that holds it is read.
    """

    def __init__(self, text: str) -> None:
        self.folded = text.lower()
        plain = max(_PLAIN.findall(text), key=len, default="")
        self._plain = plain.lower().encode() if plain == text or len(plain) >= _ENOUGH else None
        self._pattern = re.compile(b"".join(_character(char) for char in text), re.IGNORECASE)

    def finder(self, block: bytes) -> Callable[[int], int]:
        """A function that gives the next place, from a place on, where it may stand; -1: there is none."""
        if self._plain is None:
            return lambda start: found.start() if (found := self._pattern.search(block, start)) else -1
        lower, plain = block.lower(), self._plain
        return lambda start: lower.find(plain, start)

    def within(self, value: Any) -> bool:
        """Whether a text, or one of those in a list or an object, holds it."""
        if isinstance(value, str):
            return self.folded in value.lower()
        if isinstance(value, dict):
            return any(map(self.within, value.values()))
        return isinstance(value, list) and any(map(self.within, value))


def _character(char: str) -> bytes:
    """Matches a character in either case, written out or escaped."""
    forms = {form for way in (char, char.lower(), char.upper()) for form in _forms(way)}
    return b"(?:" + b"|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True)) + b")"


def _forms(text: str) -> Iterator[bytes]:
    yield json.dumps(text)[1:-1].encode()
    yield json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")
    if text == "/":
        yield b"\\/"


def scan(taken: Snapshot, needle: Needle) -> Iterator[tuple[float, Array]]:
    """Which questions hold the needle in their own words, their reference or a response.

    Yields, after each block that was read, the share of the work that is done and the questions found so far
    (a mask, the same array each time).
    """
    found = np.zeros(len(taken.tasks), bool)
    places = np.array(taken.prompt_places, np.int64).reshape(-1, 2)
    asked = np.nonzero(places[:, 0] >= 0)[0]
    rows = np.nonzero(taken.place >= 0)[0]
    lots = [
        (taken.prompts, ("doc", "target"), asked, places[asked, 0], places[asked, 1]),
        (taken.journal, ("text",), taken.question[rows], taken.place[rows], taken.size[rows]),
    ]
    whole = sum(int(sizes.sum()) for *_, sizes in lots) or 1
    done = 0
    for file, fields, questions, starts, sizes in lots:
        if file is None or not len(starts):
            continue
        order = np.argsort(starts, kind="stable")
        for part in _parts(order, starts, sizes):
            lines = _Lines(questions[part], starts[part], starts[part] + sizes[part])
            _search(file, fields, lines, needle, found)
            done += int(sizes[part].sum())
            yield done / whole, found


def _parts(order: Array, starts: Array, sizes: Array) -> Iterator[Array]:
    """The lines in the order of the file, so many at a time as fit into a block."""
    ends = starts[order] + sizes[order]
    begin = 0
    while begin < len(order):
        stop = int(np.searchsorted(ends, starts[order[begin]] + BLOCK, "right"))
        yield order[begin : max(stop, begin + 1)]
        begin = max(stop, begin + 1)


class _Lines:
    """Some lines in the order of the file, and the question of each."""

    def __init__(self, questions: Array, starts: Array, ends: Array) -> None:
        self.questions, self.starts, self.ends = questions.tolist(), starts.tolist(), ends.tolist()
        self.bounds = ends


def _search(file: OpenFile, fields: tuple[str, ...], lines: _Lines, needle: Needle, found: Array) -> None:
    base = lines.starts[0]
    block = file.read(base, lines.ends[-1] - base)
    find = needle.finder(block)
    place = find(0)
    while place >= 0:
        line = int(np.searchsorted(lines.bounds, base + place, "right"))
        if line >= len(lines.ends):
            return
        question, begin, end = lines.questions[line], lines.starts[line] - base, lines.ends[line] - base
        if place >= begin and not found[question]:
            found[question] = _holds(block[begin:end], fields, needle)
        place = find(max(end, place + 1))


def _holds(line: bytes, fields: tuple[str, ...], needle: Needle) -> bool:
    try:
        value = jsonl.decode(line)
    except (ValueError, RecursionError):
        return False
    return any(needle.within(value.get(name)) for name in fields)
