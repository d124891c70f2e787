"""The rows of a task: its questions across runs, filtered, searched, sorted, and only those shown made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from resit.reports.page.data import Row, RowsPart, Show, Side, Sort
from resit.reports.page.rows import beginning, question_text, target_text
from resit.reports.viewer.index import Array, Snapshot
from resit.reports.viewer.reading import read_question
from resit.reports.viewer.sides import Sides

SHOWS: tuple[Show, ...] = get_args(Show)
SORTS: tuple[Sort, ...] = get_args(Sort)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the sample browser asks for; see `resit.reports.page.data.Query`."""

    run: int
    against: int | None
    rule: str
    show: Show
    sort: Sort


class TaskListing:
    """One task's questions across runs, paired by content: those of the first run, then what others add."""

    def __init__(self, task: str, sides: Sequence[Sides]) -> None:
        self.task = task
        self.sides = tuple(sides)
        places: dict[str, int] = {}
        pairs = [(run, number) for run, side in enumerate(sides) for number in _of_task(side.snapshot, task)]
        for run, number in pairs:
            places.setdefault(sides[run].snapshot.doc_hashes[number], len(places))
        self.numbers: Array = np.full((len(sides), len(places)), -1)
        """By run and row, the question's number in the run; -1 where the run does not hold it."""
        for run, number in pairs:
            self.numbers[run, places[sides[run].snapshot.doc_hashes[number]]] = number
        self.ids, self.doc_ids = self._names(list(places))
        self.rows = {name: row for row, name in enumerate(self.ids)}

    def _names(self, doc_hashes: Sequence[str]) -> tuple[list[str], Array]:
        names: dict[str, None] = {}
        doc_ids = np.zeros(len(doc_hashes), np.int64)
        for row, doc_hash in enumerate(doc_hashes):
            run = int(np.argmax(self.numbers[:, row] >= 0))
            doc_id = self.sides[run].snapshot.doc_ids[self.numbers[run, row]]
            name = f"{self.task}/{doc_id}"
            names[name if name not in names else f"{name}-{doc_hash[:8]}"] = None
            doc_ids[row] = doc_id
        return list(names), doc_ids

    def of_run(self, run: int, values: Array) -> Array:
        """Values of a run's questions by row; zero where the run does not hold the question."""
        numbers = self.numbers[run]
        if not len(values):
            return np.zeros(len(numbers), values.dtype)
        return np.asarray(np.where(numbers >= 0, values[numbers], np.zeros(1, values.dtype)))

    def masks(self, asked: Asked) -> Mapping[Show, Array]:
        """By filter, the rows that it lists."""
        side = self.sides[asked.run]
        rule = side.rule(asked.rule)
        here = self.numbers[asked.run] >= 0
        return {
            "all": np.ones(len(self.ids), bool),
            "wrong": here & self.of_run(asked.run, rule.right < rule.judged),
            "right": here & self.of_run(asked.run, rule.right > 0),
            "disagree": here & self.of_run(asked.run, side.disagree > 0),
            "truncated": here & self.of_run(asked.run, side.truncated > 0),
            "unextracted": here & self.of_run(asked.run, rule.unread > 0),
            "errored": here & self.of_run(asked.run, side.errored > 0),
            "flipped": self.change(asked) > 0,
        }

    def change(self, asked: Asked) -> Array:
        """How far the mean scores of both runs lie apart, by row; 0 where one of them has none."""
        if asked.against is None:
            return np.zeros(len(self.ids))
        means = []
        for run in (asked.run, asked.against):
            mean = self.of_run(run, self.sides[run].rule(asked.rule).mean)
            means.append(np.where(self.numbers[run] >= 0, mean, np.nan))
        return np.asarray(np.nan_to_num(np.abs(means[0] - means[1])))

    def order(self, asked: Asked) -> Array:
        """All rows in the order asked for; equals stay in the task's own order."""
        side = self.sides[asked.run]
        rule = side.rule(asked.rule)
        if asked.sort == "order":
            return np.arange(len(self.ids))
        if asked.sort == "change":
            keys = -self.change(asked)
        elif asked.sort == "length":
            keys = -self.of_run(asked.run, side.length)
        else:
            agreed = rule.votes / np.maximum(1, rule.judged)
            keys = self.of_run(asked.run, np.where(rule.judged > 0, agreed, 2.0))
        return np.argsort(keys, kind="stable")

    def part(self, asked: Asked, found: Array | None, offset: int, count: int) -> RowsPart:
        """Some of the rows that a query lists; `found` marks those that the search finds."""
        masks = self.masks(asked)
        if found is not None:
            masks = {show: mask & found for show, mask in masks.items()}
        order = self.order(asked)
        listed = order[masks[asked.show][order]]
        return RowsPart(
            total=len(listed),
            counts={show: int(mask.sum()) for show, mask in masks.items()},
            rows=[self.row(int(row)) for row in listed[offset : offset + count]],
        )

    def row(self, row: int) -> Row:
        """One row, with the beginning of its question."""
        run = int(np.argmax(self.numbers[:, row] >= 0))
        question = read_question(self.sides[run].snapshot, int(self.numbers[run, row]))
        return Row(
            id=self.ids[row],
            doc_id=int(self.doc_ids[row]),
            question=beginning(question_text(question)) if question else "(the question is not on file)",
            target=target_text(question.target) if question else "",
            sides=[self._side(run, int(number)) for run, number in enumerate(self.numbers[:, row])],
        )

    def _side(self, run: int, number: int) -> Side | None:
        if number < 0:
            return None
        side = self.sides[run]
        rules = [side.rule(name) for name in side.snapshot.rules.get(self.task, ())]
        return Side(
            samples=int(side.measured[number]),
            errored=int(side.errored[number]),
            truncated=int(side.truncated[number]),
            disagree=int(side.disagree[number]),
            right=[_tidy(float(rule.right[number])) for rule in rules],
            unread=[int(rule.unread[number]) for rule in rules],
            answer=[side.snapshot.answers[rule.answer[number]] for rule in rules],
            votes=[int(rule.votes[number]) for rule in rules],
            length=round(float(side.length[number])),
        )


def _of_task(taken: Snapshot, task: str) -> list[int]:
    return [number for number, name in enumerate(taken.tasks) if name == task]


def _tidy(total: float) -> float:
    return int(total) if total == int(total) else round(total, 4)
