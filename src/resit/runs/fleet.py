"""Many workers as one model: feeds them, takes their samples back, replaces those that are lost.

Knows nothing of Ray: a `Crew` starts workers and carries orders and deliveries. See docs/design/scaling.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from resit.differences import differences
from resit.errors import IdentityMismatch, ResitError
from resit.models import Closing, Encoding, Model, Notify
from resit.models.protocol import failed
from resit.records import Generation, Prompt, Request
from resit.runs.dispatch import Dispatch, Unit
from resit.runs.identity import normalised
from resit.runs.station import Delivery, Order

UNIT = 8
"""Samples of a unit where the samples in flight of a worker are not given."""
MOST_AT_ONCE = 256
"""Samples that a worker is given to begin with, however many its model would take."""
AHEAD_SECONDS, ROUNDS_AHEAD = 0.5, 3
"""Work that waits at a worker, by its own speed: so many seconds, or so many exchanges where that is more."""
EXCHANGES = 500
"""Exchanges a second that the driver is to be kept to, whatever the number of workers."""
FLUSH_SECONDS = 0.1
PLACE_SECONDS = 300.0
"""How long no worker at all may be found a place for."""
NOTE_SECONDS, FIRST_NOTE = 30.0, 10.0
"""How often what is waited for is told, and when first."""
BARREN = 3
"""Times in a row that a worker may be replaced without having finished anything."""
HOPELESS = 10
"""Units set aside in a row, with nothing finished between, before the run stops."""

_KEPT = "what is finished is kept: the same command again asks for the rest"


@dataclass(frozen=True, slots=True)
class Placed:
    """A worker has a place and loads its model."""

    worker: int
    where: str


@dataclass(frozen=True, slots=True)
class Started:
    """A worker has its model; `identity` is that model's, there."""

    worker: int
    seconds: float
    identity: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Failed:
    """A worker's model cannot work, for a reason that its user can act on."""

    worker: int
    error: ResitError


@dataclass(frozen=True, slots=True)
class Lost:
    """A worker is gone, or its model broke."""

    worker: int
    reason: str


@dataclass(frozen=True, slots=True)
class Delivered:
    """A worker answered an order."""

    worker: int
    delivery: Delivery


Event: TypeAlias = Placed | Started | Failed | Lost | Delivered


class Crew(Protocol):
    """Starts workers and carries what passes between them and the driver."""

    def hire(self, worker: int) -> None:
        """Start a worker, again if need be; `Placed`, then `Started` (or another end) will be told."""
        ...

    def send(self, worker: int, order: Order) -> None:
        """Give a started worker an order; `Delivered` (or another end) will be told."""
        ...

    def release(self, worker: int) -> None:
        """End a worker that is not wanted any more; what it had is free for others."""
        ...

    def wait(self, seconds: float) -> Sequence[Event]:
        """What has happened, as soon as anything has; nothing after so many seconds."""
        ...

    def shortage(self) -> str:
        """Why workers may not find a place; empty where that cannot be said.

        Raises ResitError where they never can.
        """
        ...

    def dismiss(self, gently: bool = True) -> None:
        """End every worker, and whatever was started for them; gently, models are closed first."""
        ...


@dataclass(slots=True)
class _Worker:
    """What the driver knows of a worker."""

    number: int
    state: Literal["placing", "loading", "free", "busy", "retired"] = "placing"
    where: str = ""
    waiting: int = 0
    """Requests that its model had not pulled when it last answered."""
    speed: float = 0.0
    """Samples a second, of late."""
    appetite: int = 0
    """What it is given at least; doubled for as long as its model takes all of it at once."""
    since: float = 0.0
    """When its state, or the order that it has, began."""
    barren: int = 0
    """Times in a row that it was replaced without having finished anything."""
    fault: ResitError | None = None
    """What kept its model from working; None once it has finished something."""

    def called(self) -> str:
        """Its name in messages."""
        return f"worker {self.number + 1}" + (f" on {self.where}" if self.where else "")


@dataclass(slots=True)
class Fleet(Closing):
    """A model whose requests are answered by many workers, each with the same model.

    `model` is the driver's own, asked for its identity and never loaded. Raises what the workers' models
    raise when all of them do, and ResitError when no worker can be started or kept alive.
    """

    model: Model
    crew: Crew
    workers: int
    unit: int = UNIT
    notify: Notify = lambda text: None
    clock: Callable[[], float] = time.monotonic
    continues: bool = True
    """The workers put the calculator's results in, and continue; the driver has no model to do it with."""
    _roster: list[_Worker] = field(default_factory=list)
    _identity: dict[str, Any] = field(default_factory=dict)
    _aside: int = 0
    """Units set aside since anything was finished."""
    _proven: bool = False
    """Whether any worker has ever finished anything."""
    _problem: ResitError | None = None
    """Why the run has to stop, once what has been delivered is yielded."""
    _idle_since: float | None = None
    _noted: float = 0.0

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    def identity(self) -> dict[str, Any]:
        """The model's: how many work, and where, is no part of it."""
        return self.model.identity()

    def encode(self, prompt: Prompt) -> Encoding:
        """As the driver's model encodes it, which may have to be loaded for that."""
        return self.model.encode(prompt)

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
        """One generation a request, in the order in which workers deliver them."""
        dispatch = Dispatch(requests, self.unit)
        if dispatch.dry():
            return
        self._open()
        try:
            self._feed(dispatch)
            while not dispatch.finished():
                ready: list[Generation] = []
                for event in self.crew.wait(min(1.0, self._flush() * 5)):
                    ready += self._handle(event, dispatch)
                self._feed(dispatch)  # workers go on while the caller looks at what they did
                yield from ready
                self._look_after(dispatch)
                if self._problem is not None:
                    raise self._problem
        except BaseException:
            self._roster = []  # workers that still have orders of this call are of no use to the next
            self.crew.dismiss(gently=False)
            raise

    def close(self) -> None:
        """End the workers; what is in flight is dropped."""
        self._roster = []
        self.crew.dismiss()
        self.model.close()

    def _open(self) -> None:
        if not self._roster:
            self._identity, self._problem = normalised(self.model.identity()), None
            self._roster = [_Worker(number) for number in range(self.workers)]
            for worker in self._roster:
                self._hire(worker)
            self._idle_since = self.clock()  # after the first hire, which may have started Ray
            self._noted = self._idle_since - NOTE_SECONDS + FIRST_NOTE

    def _hire(self, worker: _Worker) -> None:
        worker.state, worker.where, worker.waiting, worker.speed = "placing", "", 0, 0.0
        worker.appetite = self.unit
        worker.since = self.clock()
        self.crew.hire(worker.number)

    def _flush(self) -> float:
        return max(FLUSH_SECONDS, self.workers / EXCHANGES)

    def _feed(self, dispatch: Dispatch) -> None:
        """Give every worker that is free what it needs to have something waiting."""
        for worker in self._roster:
            if worker.state == "free":
                self._feed_one(worker, dispatch)

    def _feed_one(self, worker: _Worker, dispatch: Dispatch) -> None:
        wanted = max(
            worker.appetite, math.ceil(worker.speed * max(AHEAD_SECONDS, ROUNDS_AHEAD * self._flush()))
        )
        given: list[Request] = []
        alone = False
        while worker.waiting + len(given) < wanted and (unit := dispatch.give(worker.number)):
            given += unit.owed.values()
            alone = unit.alone
        if given or dispatch.held(worker.number):
            more = not alone and not dispatch.dry()
            worker.state, worker.since = "busy", self.clock()
            self.crew.send(worker.number, Order(given, more, max(1, wanted // 2), self._flush()))

    def _handle(self, event: Event, dispatch: Dispatch) -> list[Generation]:
        """What an event brings; ready to be yielded."""
        worker = self._roster[event.worker]
        match event:
            case Placed():
                worker.state, worker.where, worker.since = "loading", event.where, self.clock()
            case Started():
                return self._started(worker, event, dispatch)
            case Failed():
                return self._failed(worker, event.error, dispatch)
            case Lost():
                return self._lost(worker, event.reason, dispatch)
            case Delivered():
                return self._delivered(worker, event.delivery, dispatch)
        return []

    def _started(self, worker: _Worker, event: Started, dispatch: Dispatch) -> list[Generation]:
        found = list(differences(self._identity, normalised(dict(event.identity))))
        if found:
            listed = (f"{path}: {ours} here, {theirs} there" for path, ours, theirs in found)
            error = IdentityMismatch(
                f"{worker.called()} has another model than the driver:\n  " + "\n  ".join(listed),
                "give every node the same model files and the same Resit",
            )
            return self._failed(worker, error, dispatch)
        worker.state = "free"
        self.notify(f"{worker.called()} loaded its model in {event.seconds:.1f} s")
        return []

    def _delivered(self, worker: _Worker, delivery: Delivery, dispatch: Dispatch) -> list[Generation]:
        now = self.clock()
        for note in delivery.notes:
            self.notify(f"{worker.called()}: {note}")
        finished = [sample for sample in delivery.generations if dispatch.take(worker.number, sample)]
        if finished:
            speed = len(finished) / max(now - worker.since, 1e-3)
            worker.speed = (worker.speed + speed) / 2
            worker.barren, worker.fault, self._aside, self._proven = 0, None, 0, True
        hungry = not finished and not delivery.waiting
        worker.appetite = min(2 * worker.appetite, MOST_AT_ONCE) if hungry else self.unit
        worker.state, worker.waiting = "free", delivery.waiting
        if isinstance(delivery.ended, ResitError):
            return finished + self._failed(worker, delivery.ended, dispatch)
        if delivery.ended is not None:
            reason = f"{type(delivery.ended).__name__}: {delivery.ended}"
            return finished + self._lost(worker, reason, dispatch)
        return finished

    def _failed(self, worker: _Worker, error: ResitError, dispatch: Dispatch) -> list[Generation]:
        """Put back what it had; the run stops once no worker is left that this has not happened to."""
        dispatch.lost(worker.number)
        worker.fault = error
        if all(other.fault is not None or other.state == "retired" for other in self._roster):
            self._problem = self._problem or error
            return []
        self.notify(f"{worker.called()}: {error}")
        self._replace(worker, str(error))
        return []

    def _lost(self, worker: _Worker, reason: str, dispatch: Dispatch) -> list[Generation]:
        """Put back what it had; the errors of units that it was one too many for."""
        owed = dispatch.held(worker.number)
        aside = dispatch.lost(worker.number, reason)
        self.notify(f"{worker.called()} is lost ({reason}); {owed} samples go back to the queue")
        errors: list[Generation] = []
        for unit in aside:
            errors += self._set_aside(unit)
        if aside:
            worker.barren = 0  # it died of them
        self._replace(worker, reason)
        return errors

    def _set_aside(self, unit: Unit) -> list[Generation]:
        self._aside += 1
        if self._aside >= (HOPELESS if self._proven else BARREN):
            self._problem = self._problem or ResitError(
                f"workers keep dying and nothing is finished any more; the last one of: {unit.reason}", _KEPT
            )
            return []
        first = next(iter(unit.owed.values())).question
        self.notify(
            f"{first.task} document {first.document.doc_id}: set aside after it was with "
            f"{unit.strikes} workers when they died"
        )
        error = f"set aside: {unit.strikes} workers died of it, the last one: {unit.reason}"
        return [failed(request, error) for request in unit.owed.values()]

    def _replace(self, worker: _Worker, reason: str) -> None:
        worker.barren += 1
        if worker.barren < BARREN:
            self._hire(worker)
            return
        worker.state = "retired"
        self.crew.release(worker.number)
        self.notify(f"{worker.called()} is not replaced any more: {BARREN} in a row finished nothing")
        if all(other.state == "retired" for other in self._roster):
            lost = ResitError(f"no worker can be kept alive; the last one was lost: {reason}", _KEPT)
            self._problem = self._problem or worker.fault or lost

    def _look_after(self, dispatch: Dispatch) -> None:
        """Say what is waited for; the run stops when no worker has found a place for long."""
        now = self.clock()
        waiting = [worker for worker in self._roster if worker.state in ("placing", "loading")]
        if any(worker.state in ("loading", "free", "busy") for worker in self._roster):
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = now
        if waiting and now - self._noted >= NOTE_SECONDS and not dispatch.finished():
            self._noted = now
            self.notify(self._waited_for(waiting, now))
        if self._idle_since is not None and now - self._idle_since >= PLACE_SECONDS:
            lack = self.crew.shortage() or "no reason known"
            self._problem = self._problem or ResitError(
                f"no worker found a place in {PLACE_SECONDS:.0f} s: {lack}",
                f"ask for less with --resources or --workers, or add nodes; {_KEPT}",
            )

    def _waited_for(self, waiting: Sequence[_Worker], now: float) -> str:
        placing = [worker for worker in waiting if worker.state == "placing"]
        if placing:
            lack = self.crew.shortage()
            return f"{len(placing)} of {self.workers} workers wait for a place" + (lack and f": {lack}")
        longest = max(waiting, key=lambda worker: now - worker.since)
        return f"{longest.called()} has been loading its model for {now - longest.since:.0f} s"
