"""The questions of a run, numbered in the order of `prompts.jsonl`, and where the line of each stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from resit import jsonl
from resit.reports.viewer.tail import RawLine


@dataclass(slots=True)
class Questions:
    """One entry a question in each list."""

    tasks: list[str] = field(default_factory=list)
    doc_ids: list[int] = field(default_factory=list)
    doc_hashes: list[str] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    """Offset and length of the line in `prompts.jsonl`; (-1, 0) for a question that has none."""
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.tasks)

    def find(self, task: str, doc_hash: str) -> int | None:
        """Number of a question, None where the run does not hold it."""
        return self._numbers.get((task, doc_hash))

    def number(self, line: Mapping[str, Any]) -> int:
        """Number of the question that a line is about; a new one where it is new.

        KeyError or TypeError when the line names no task or document.
        """
        key = line["task"], line["doc_hash"]
        number = self._numbers.get(key)
        if number is None:
            if not (isinstance(key[0], str) and isinstance(key[1], str)):
                raise TypeError("'task' and 'doc_hash' must be strings")
            number = self._numbers[key] = len(self.tasks)
            doc_id = line["doc_id"]
            self.tasks.append(key[0])
            self.doc_hashes.append(key[1])
            self.doc_ids.append(doc_id if isinstance(doc_id, int) else -1)
            self.places.append((-1, 0))
        return number

    def add_prompts(self, lines: Iterable[RawLine]) -> int:
        """Note where questions stand and return how many are new; lines that hold none are passed over.

        The first line of a question counts.
        """
        added = 0
        for line in lines:
            value = value_of(line)
            try:
                number = self.number(value) if "target" in value else None
            except (KeyError, TypeError):
                continue
            if number is not None and self.places[number][0] < 0:
                self.places[number] = line.offset, line.length
                added += 1
        return added

    def forget_places(self) -> None:
        """`prompts.jsonl` is another file now."""
        self.places = [(-1, 0)] * len(self.tasks)


def value_of(line: RawLine) -> dict[str, Any]:
    """The object of a line, an empty one where it holds none."""
    try:
        return jsonl.decode(line.content) if line.content and line.content.strip() else {}
    except (ValueError, RecursionError):
        return {}
