"""What every rule makes of every sample, packed: a score and the number of an answer each."""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Hashable, Iterable
from typing import Any

from resit import jsonl
from resit.grading.symbolic import OVERRUN
from resit.grading.values import read_value
from resit.reports.viewer.questions import Questions
from resit.reports.viewer.samples import Samples, repeat_of
from resit.reports.viewer.tail import RawLine

UNREAD = 0
"""The number of "no answer was found"."""
NONE, SCORED, FAILED, CUT = 0, 1, 2, 4
"""What the scores say of a sample: nothing; that it has a line; that it failed; that it was truncated."""
_SHOWN = 120
"""Characters of an answer that are kept; the sample's own line has the rest."""


class Answers:
    """Different answers, numbered; those of equal value share a class."""

    def __init__(self) -> None:
        self.texts: list[str | None] = [None]
        self.classes = array("i", [UNREAD])
        """The class of each answer: the number of the first of equal value."""
        self._numbers: dict[str | bytes | None, int] = {None: UNREAD}
        self._classes: dict[Hashable, int] = {}

    def number(self, text: str | None) -> int:
        """The number of an answer; a new one where it is new. TypeError when it is no text."""
        number = self._numbers.get(text)
        return self._new(text) if number is None else number

    def _new(self, text: Any) -> int:
        if not isinstance(text, str):
            raise TypeError(f"'extracted' must be a string or null, found {type(text).__name__}")
        long = len(text) > _SHOWN
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() if long else text
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.texts)
            self.texts.append(f"{text[:_SHOWN]}…" if long else text)
            value = (key if long else read_value(text)) or text.strip()
            self.classes.append(self._classes.setdefault(value, number))
        return number


class Verdicts:
    """The verdicts on a run's samples, from lines of `scores.jsonl` or of the same shape.

    A sample has the number of a pattern: which rules gave which score and answer. There are few of them.
    """

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self.tasks: dict[str, dict[str, None]] = {}
        """By task, its rules in order."""
        self.patterns: list[dict[str, tuple[float, int]]] = [{}]
        """By rule, score (NaN: the rule gave up) and number of the answer; the first is "no verdicts"."""
        self.pattern = array("i")
        """An entry a row of `Samples`, as in what follows."""
        self.place = array("q")
        """Offset of the line in `scores.jsonl`; -1 where there is none."""
        self.size = array("q")
        self.state = array("B")
        self._numbers: dict[tuple[Any, ...], int] = {}

    def grow(self, count: int) -> None:
        """Be at least `count` rows long."""
        missing = count - len(self.state)
        self.pattern.extend([0] * missing)
        self.place.extend([-1] * missing)
        self.size.extend([0] * missing)
        self.state.extend([NONE] * missing)

    def add(self, lines: Iterable[RawLine], questions: Questions, samples: Samples) -> list[str]:
        """Take in lines of the scores; what is wrong with those that are none."""
        problems = []
        for line in lines:
            if line.content is not None and not line.content.strip():
                continue
            try:
                if line.content is None:
                    raise ValueError(f"it is {line.length} bytes long")
                self._add(line, jsonl.decode(line.content), questions, samples)
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                problems.append(f"the line at byte {line.offset} of the scores is damaged: {error}")
        return problems

    def _add(self, line: RawLine, value: dict[str, Any], questions: Questions, samples: Samples) -> None:
        task, found = value["task"], value["verdicts"]
        key = (
            task,
            *[(k, v["extracted"], v["correct"], v.get("reason") == OVERRUN) for k, v in found.items()],
        )
        number = self._numbers.get(key)
        if number is None:
            number = self._new(key)
        state = SCORED | FAILED * (value["error"] is not None) | CUT * (value["truncated"] is True)
        row = samples.row(questions.number(value), repeat_of(value))
        if row >= len(self.state):
            self.grow(row + 1)
        self.pattern[row], self.state[row] = number, state
        self.place[row], self.size[row] = line.offset, line.length

    def _new(self, key: tuple[Any, ...]) -> int:
        """The number of a pattern that was not seen before."""
        task, *verdicts = key
        pattern = {
            rule: (math.nan if gave_up else float(correct), self.answers.number(extracted))
            for rule, extracted, correct, gave_up in verdicts
        }
        self.tasks.setdefault(task, {}).update(dict.fromkeys(pattern))
        number = self._numbers[key] = len(self.patterns)
        self.patterns.append(pattern)
        return number
