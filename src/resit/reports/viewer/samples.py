"""Where every sample stands in the journal, and what can be told of it without its verdicts."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

from resit import jsonl
from resit.reports.viewer.questions import Questions
from resit.reports.viewer.tail import RawLine

ERRORED, TRUNCATED = 1, 2
_MOST = 2**31 - 1


class Samples:
    """One row a sample (question and repeat), numbered as they were found; 25 bytes and a key each.

    Of several lines for one sample the first without an error counts, as everywhere in Resit.
    """

    def __init__(self) -> None:
        self.question = array("i")
        self.repeat = array("i")
        self.place = array("q")
        """Offset of the line in the journal; -1 for a sample that only the scores know."""
        self.size = array("q")
        self.characters = array("i")
        """Of the text."""
        self.state = array("B")
        """Bits `ERRORED` and `TRUNCATED`."""
        self._rows: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.question)

    def row(self, question: int, repeat: int) -> int:
        """Row of a sample; a new one, not on file, where it is new."""
        key = question << 31 | repeat
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = len(self.question)
            self.question.append(question)
            self.repeat.append(repeat)
            self.place.append(-1)
            self.size.append(0)
            self.characters.append(0)
            self.state.append(0)
        return row

    def add(self, lines: Iterable[RawLine], questions: Questions) -> list[str]:
        """Take in lines of the journal; what is wrong with those that hold no sample."""
        problems = []
        for line in lines:
            if line.content is None:
                problems.append(
                    f"the line at byte {line.offset} is {line.length} bytes long and is not shown"
                )
            elif line.content.strip():
                try:
                    self._add(line, jsonl.decode(line.content), questions)
                except (ValueError, TypeError, KeyError, RecursionError) as error:
                    problems.append(f"the line at byte {line.offset} holds no sample: {error}")
        return problems

    def _add(self, line: RawLine, value: dict[str, Any], questions: Questions) -> None:
        repeat, characters = repeat_of(value), _characters(value)
        row = self.row(questions.number(value), repeat)
        errored = value.get("error") is not None
        if self.place[row] >= 0 and (errored or not self.state[row] & ERRORED):
            return
        self.place[row], self.size[row], self.characters[row] = line.offset, line.length, characters
        self.state[row] = ERRORED * errored | TRUNCATED * (value.get("finish_reason") == "length")


def repeat_of(value: dict[str, Any]) -> int:
    """The repeat that a line of the journal or of the scores is about; KeyError or ValueError without one."""
    repeat = value["repeat"]
    if not isinstance(repeat, int) or isinstance(repeat, bool) or not 0 <= repeat <= _MOST:
        raise ValueError(f"'repeat' must be a whole number from 0 up, found {repeat!s:.40}")
    return repeat


def _characters(value: dict[str, Any]) -> int:
    text = value.get("text", "")
    if not isinstance(text, str):
        raise ValueError("'text' must be a string")
    return len(text)
