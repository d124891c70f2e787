"""Which of a task's documents a foreign entry is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from resit.records import Question
from resit.runs.imports.entries import Entry, Key, NotAsExpected

_TELLING = 20
"""Characters from which on a text that a line repeats is taken to tell its document."""


class Documents:
    """A task's questions, found by content, by words or by row; each sample of each is given out once."""

    def __init__(self, task: str, questions: Sequence[Question]) -> None:
        self._task = task
        self._questions = questions
        self._by_hash: dict[str, list[int]] = {}
        for row, question in enumerate(questions):
            self._by_hash.setdefault(question.document.doc_hash.partition("#")[0], []).append(row)
        self._taken: dict[tuple[int, int], str] = {}

    def place(self, entry: Entry) -> Question:
        """The question that an entry answers; raises NotAsExpected when there is none, or it is answered."""
        rows = self._rows(entry.key)
        repeats = [answer.repeat for answer in entry.answers]
        free = (row for row in rows if not any((row, repeat) in self._taken for repeat in repeats))
        row = next(free, None)
        if row is None:
            raise self._twice(rows[0], repeats)
        self._check(row, entry.columns)
        for repeat in repeats:
            self._taken[row, repeat] = entry.where
        return self._questions[row]

    def _twice(self, row: int, repeats: Iterable[int]) -> NotAsExpected:
        repeat = next(repeat for repeat in repeats if (row, repeat) in self._taken)
        document = self._questions[row].document
        return NotAsExpected(
            f"repeat {repeat} of document {document.doc_id} is there twice, first: {self._taken[row, repeat]}"
        )

    def _rows(self, key: Key) -> list[int]:
        """The rows that an entry may be about, the likeliest first; several where rows are repeated."""
        if key.doc_hash is not None:
            rows = self._by_hash.get(key.doc_hash.partition("#")[0], [])
            if not rows:
                raise self._unknown(f"its document (doc_hash {key.doc_hash[:12]}…)")
            exact = [
                r
                for r in rows
                if self._questions[r].document.doc_hash == key.doc_hash and "#" in key.doc_hash
            ]
            return exact or sorted(rows, key=lambda row: row != key.doc_id)
        if key.text is not None:
            rows = self._by_text.get(key.text.strip(), [])
            if not rows:
                raise self._unknown(f"the question {key.text.strip()[:60]!r}…")
            return rows
        if key.doc_id is None or key.doc_id >= len(self._questions):
            raise self._unknown(f"doc_id {key.doc_id}")
        return [key.doc_id]

    def _unknown(self, what: str) -> NotAsExpected:
        return NotAsExpected(f"{what} is not among the {len(self._questions)} documents of {self._task}")

    def _check(self, row: int, columns: Iterable[tuple[str, str]]) -> None:
        """Refuse an entry that repeats the words of another document than its own."""
        fields: Mapping[str, object] = self._questions[row].document.fields
        for name, text in columns:
            if name not in fields or len(text) < _TELLING or text == fields[name]:
                continue
            others = self._by_text.get(text.strip(), [])
            if others and row not in others:
                raise NotAsExpected(f"its {name} is that of document {others[0]}, not of {row}")

    @cached_property
    def _by_text(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for row, question in enumerate(self._questions):
            for value in question.document.fields.values():
                if isinstance(value, str):
                    found.setdefault(value.strip(), []).append(row)
        return found
