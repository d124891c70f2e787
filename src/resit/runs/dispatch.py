"""Who gets which samples: units of work for many workers, and what becomes of those of a lost worker.

Nothing here knows what a worker is or what time it is. See docs/design/scaling.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from typing import TypeAlias

from resit.records import Generation, Request

STRIKES = 3
"""Workers that a unit may cost before it is set aside."""
ALONE = STRIKES - 1
"""Strikes from which on a unit is divided by question, each for a worker that has nothing else."""
LONGEST = 64
"""Repeats of one question that stay together, whatever a unit's size: they share its whole prompt."""

Key: TypeAlias = tuple[str, str, int]
"""Task, doc_hash, repeat: a sample."""


def key_of(sample: Request | Generation) -> Key:
    """What a request and its generation have in common."""
    if isinstance(sample, Request):
        return sample.question.task, sample.question.document.doc_hash, sample.repeat
    return sample.task, sample.doc_hash, sample.repeat


def _question_of(request: Request) -> tuple[str, str]:
    return request.question.task, request.question.document.doc_hash


def cut(requests: Iterable[Request], size: int) -> Iterator[list[Request]]:
    """Lists of about `size` requests, lazily: consecutive questions of one task, each with all its repeats.

    A question with more than `LONGEST` repeats (or `size`, where that is more) is divided.
    """
    longest = max(size, LONGEST)
    for _, of_task in groupby(requests, key=lambda request: request.question.task):
        unit: list[Request] = []
        for _, of_question in groupby(of_task, key=_question_of):
            while part := list(islice(of_question, longest)):
                if unit and len(unit) + len(part) > size:
                    yield unit
                    unit = []
                unit += part
                if len(unit) >= size:
                    yield unit
                    unit = []
        if unit:
            yield unit


@dataclass(slots=True, eq=False)
class Unit:
    """Samples that travel together; `owed` are those that have not come back."""

    owed: dict[Key, Request]
    strikes: int = 0
    reason: str = ""
    """What the last worker died of that had the unit."""

    @property
    def alone(self) -> bool:
        """Whether a worker that has the unit may have nothing else."""
        return self.strikes >= ALONE

    def divided(self) -> Iterator[Unit]:
        """A unit for each question, under the same suspicion."""
        for _, requests in groupby(self.owed.values(), key=_question_of):
            yield Unit({key_of(request): request for request in requests}, self.strikes, self.reason)


class Dispatch:
    """Hands out units and takes samples back; holds no more than what workers have, and one unit.

    What a lost worker had comes first again. Units that were there each time two workers died are
    divided by question and kept for the end, when each gets a worker of its own: the third death is then
    certainly theirs, and no question is given up for the company that it was in.
    """

    def __init__(self, requests: Iterable[Request], size: int) -> None:
        self._units = map(_unit, cut(requests, size))
        self._ahead: deque[Unit] = deque()
        self._suspects: deque[Unit] = deque()
        self._held: dict[int, dict[Key, Unit]] = {}

    def dry(self) -> bool:
        """Whether no unit can be handed out before another comes back, but for suspects."""
        if not self._ahead:
            self._ahead.extend(islice(self._units, 1))
        return not self._ahead

    def finished(self) -> bool:
        """Whether nothing is owed any more."""
        return not any(self._held.values()) and self.dry() and not self._suspects

    def held(self, worker: int) -> int:
        """Samples that a worker owes."""
        return len(self._held.get(worker, ()))

    def give(self, worker: int) -> Unit | None:
        """The next unit for a worker; None when there is none that it may have now."""
        mine = self._held.setdefault(worker, {})
        if mine and next(iter(mine.values())).alone:
            return None
        if not self.dry():
            unit = self._ahead.popleft()
        elif self._suspects and not mine:
            unit = self._suspects.popleft()
        else:
            return None
        mine.update(dict.fromkeys(unit.owed, unit))
        return unit

    def take(self, worker: int, generation: Generation) -> bool:
        """Whether the sample was still owed by this worker; from now on it is not."""
        key = key_of(generation)
        unit = self._held.get(worker, {}).pop(key, None)
        if unit is None:
            return False
        del unit.owed[key]
        return True

    def lost(self, worker: int, reason: str = "") -> list[Unit]:
        """Put back what a worker owed, and return the units that are set aside for it.

        With a reason, the worker died and its units are under suspicion; without, they are not.
        """
        units = dict.fromkeys(self._held.pop(worker, {}).values())
        aside: list[Unit] = []
        back: list[Unit] = []
        for unit in units:
            if reason:
                unit.strikes, unit.reason = unit.strikes + 1, reason
            if unit.strikes >= STRIKES:
                aside.append(unit)
            elif unit.alone:
                self._suspects.extend(unit.divided())
            else:
                back.append(unit)
        self._ahead.extendleft(reversed(back))
        return aside


def _unit(requests: list[Request]) -> Unit:
    return Unit({key_of(request): request for request in requests})
