"""Several servers of one model: whether they are one, and which of them the next request goes to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from resit.errors import ResitError, UsageError
from resit.models.failures import Failure
from resit.models.limiter import Limiter
from resit.models.protocol import JSON
from resit.models.server import Server

if TYPE_CHECKING:
    from resit.models.client import Job

FAILING = 5
"""Failures in a row, with no answer between, from which on a server rests while others work."""


@dataclass(slots=True, eq=False)
class Replica:
    """One server, what it has in flight, and how it does."""

    server: Server
    limiter: Limiter
    in_flight: dict[asyncio.Task[None], Job] = field(default_factory=dict)
    suspects: list[tuple[Job, Failure]] = field(default_factory=list)
    """Jobs that ended in silence, until it is known whether the server is gone."""
    asked_for: bool = False
    """Whether it is being found out."""
    doubtful: bool = False
    """Whether nothing is sent until it is: no connection came about, or it was cut."""
    down: bool = False
    excluded: bool = False
    """It refuses everything, or has another model: it stays down."""
    failures: int = 0
    """In a row, with no answer between."""
    refusals: int = 0
    answers: int = 0
    rests_until: float = 0.0
    limited_since: float | None = None
    """When it first refused a request for its rate, with no answer since."""

    @property
    def up(self) -> bool:
        """Whether requests may go there."""
        return not self.down and not self.doubtful

    @property
    def load(self) -> float:
        """Share of its slots that would be taken with one more request."""
        return (self.limiter.in_flight + 1) / self.limiter.limit

    def answered(self, first_try: bool) -> None:
        """An answer came."""
        self.limiter.answered(first_try)
        self.failures, self.limited_since = 0, None
        self.answers += 1

    def unanswered(self, last_answer: float | None) -> float:
        """Seconds since the first refusal for its rate without any server's answer; call at each refusal."""
        now = time.monotonic()
        self.limited_since = now if self.limited_since is None else self.limited_since
        return now - max(self.limited_since, last_answer or 0.0)

    def failed(self, rest: float) -> bool:
        """A request failed for the server's sake; whether the server rests from now on."""
        self.limiter.broke()
        self.failures += 1
        self.rests_until = time.monotonic() + rest
        return self.failures == FAILING

    def rested(self) -> bool:
        """Whether it may be asked; a failing one is asked one thing at a time."""
        if self.failures < FAILING:
            return True
        return self.limiter.in_flight == 0 and time.monotonic() >= self.rests_until

    def finished(self, task: asyncio.Task[None] | None) -> bool:
        """Take a task off what is in flight; False when it was dropped before."""
        return task is not None and self.in_flight.pop(task, None) is not None

    def dropped(self) -> list[Job]:
        """The jobs that were in flight, their requests given up."""
        jobs = list(self.in_flight.values())
        for task in self.in_flight:
            task.cancel()
            self.limiter.broke()
        self.in_flight.clear()
        return jobs

    def back(self) -> None:
        """It answers again: its capacity is found out anew."""
        self.down, self.failures = False, 0
        self.limiter.anew()


class Replicas:
    """The servers that share a run's requests."""

    def __init__(self, servers: Sequence[Server], fixed: int | None) -> None:
        self.all = [Replica(server, Limiter(fixed)) for server in servers]
        self.alone = len(self.all) == 1
        self.told: dict[str, JSON] | None = None
        """What they tell of the model; None: not asked."""

    def next(self, avoid: Replica | None = None) -> Replica | None:
        """The least loaded server with a free slot, rather not the one to avoid; None: all are busy."""
        if self.alone:
            (only,) = self.all
            return only if only.up and only.limiter.free() > 0 else None
        up = [replica for replica in self.all if replica.up]
        choosy = any(replica.failures < FAILING for replica in up)
        free = (r for r in up if r.limiter.free() > 0 and (not choosy or r.rested()))
        return min(free, key=lambda replica: (replica is avoid, replica.load), default=None)

    def pause(self) -> float:
        """Seconds until a server that asked for time may be asked again; 0.0 when none did."""
        return min((pause for r in self.all if r.up and (pause := r.limiter.pause())), default=0.0)

    def none_up(self) -> bool:
        """Whether every server is gone."""
        return all(replica.down for replica in self.all)

    def reopen(self) -> None:
        """Whoever was gone in the last stream of requests may be back."""
        for replica in self.all:
            replica.down, replica.asked_for, replica.doubtful = replica.excluded, False, False
            replica.suspects.clear()

    async def compare(self) -> list[tuple[Replica, Failure]]:
        """Ask every server what model it has; those that cannot be reached are set aside and returned.

        Raises UsageError, naming two, when they tell different things.
        """
        asked = await asyncio.gather(*(r.server.told() for r in self.all), return_exceptions=True)
        known: dict[str, dict[str, JSON]] = {}
        away = []
        for replica, answer in zip(self.all, asked, strict=True):
            if isinstance(answer, dict):
                known[replica.server.place] = answer
            elif isinstance(answer, Failure) and answer.silent:
                replica.down = True
                away.append((replica, answer))
            elif not isinstance(answer, Failure):
                raise answer
        _refuse_differences(known)
        self.told = {name: value for told in known.values() for name, value in told.items()}
        return away


async def agree(servers: Sequence[Server]) -> str:
    """The name of the one model that all servers list which can be reached; each of them is told.

    Raises UsageError where one lists several, or two list different ones; ResitError when none answers.
    """
    found = await asyncio.gather(*(server.find_model() for server in servers), return_exceptions=True)
    names = {s.place: name for s, name in zip(servers, found, strict=True) if isinstance(name, str)}
    for problem in found:
        if isinstance(problem, BaseException) and (
            not names or isinstance(problem, UsageError) or not isinstance(problem, ResitError)
        ):
            raise problem
    _refuse_differences({place: {"model": name} for place, name in names.items()})
    chosen = next(iter(names.values()))
    for server in servers:
        server.model = chosen
    return chosen


def _refuse_differences(told: dict[str, dict[str, JSON]]) -> None:
    (first, expected), *others = told.items() or [("", {})]
    for place, found in others:
        if difference := differs(expected, found):
            raise UsageError(
                f"base_url lists servers that differ: {difference[0]} is {difference[1]!r} at {first} and "
                f"{difference[2]!r} at {place}",
                "start them with the same model and settings, or evaluate them one by one",
            )


def differs(one: Mapping[str, JSON], other: Mapping[str, JSON]) -> tuple[str, JSON, JSON] | None:
    """The first thing that both tell, and tell differently."""
    shared = (name for name in one if name in other)
    return next(((name, one[name], other[name]) for name in shared if one[name] != other[name]), None)
