"""A worker's side of a fleet: one model that is kept busy, fed and emptied by exchanges."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from resit.models import Model
from resit.models.calculating import generations
from resit.records import Generation, Request

HEARTBEAT = 1.0
"""An exchange comes back after so many seconds, even with nothing."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker is given with one exchange."""

    requests: Sequence[Request] = ()
    more: bool = False
    """Whether more may follow soon; if not, the model finishes what it has."""
    low: int = 0
    """Come back at once, to be given more, when fewer requests wait for the model than this."""
    flush: float = 0.1
    """Seconds to gather finished samples in."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a worker gives back."""

    generations: Sequence[Generation] = ()
    waiting: int = 0
    """Requests that the model has not pulled yet."""
    notes: Sequence[str] = ()
    ended: Exception | None = None
    """What the model raised: this worker does nothing any more."""


@dataclass(slots=True)
class Station:
    """Runs a model in a thread over whatever comes in.

    One stream of requests lasts as long as more may follow, so that a model never has to drain between two
    units and keeps its shared prefix.
    """

    model: Model
    clock: Callable[[], float] = time.monotonic
    _todo: deque[Request] = field(default_factory=deque)
    _done: list[Generation] = field(default_factory=list)
    _notes: list[str] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _held: int = 0
    """Requests that came in and have not been delivered."""
    _streamed: int = 0
    """Requests that the present stream has given the model and that it has not answered."""
    _order: Order = Order()
    _ended: Exception | None = None
    _thread: threading.Thread | None = None

    def note(self, text: str) -> None:
        """Have a warning of the model delivered."""
        with self._changed:
            self._notes.append(text)

    def exchange(self, order: Order) -> Delivery:
        """Take requests in; give what has been finished, as soon as there is reason to."""
        began = self.clock()
        with self._changed:
            self._todo.extend(order.requests)
            self._held += len(order.requests)
            self._order = order
            self._start()
            self._changed.notify_all()
            while not self._due(waited := self.clock() - began):
                self._changed.wait((order.flush if waited < order.flush else HEARTBEAT) - waited)
            done, self._done = self._done, []
            notes, self._notes = self._notes, []
            self._held -= len(done)
            return Delivery(done, len(self._todo), notes, None if done else self._ended)

    def _due(self, waited: float) -> bool:
        if self._ended is not None or len(self._done) == self._held or self._hungry():
            return True
        return waited >= HEARTBEAT or (bool(self._done) and waited >= self._order.flush)

    def _hungry(self) -> bool:
        return self._order.more and len(self._todo) < self._order.low

    def _start(self) -> None:
        if self._thread is None and self._todo:
            self._thread = threading.Thread(target=self._work, name="resit-station", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._todo)
                for generation in generations(self.model, self._stream()):
                    self._finish(generation)
                if self._streamed:
                    raise RuntimeError(f"the model gave no answer to {self._streamed} requests")
        except BaseException as error:
            with self._changed:
                self._ended = error if isinstance(error, Exception) else RuntimeError(repr(error))
                self._changed.notify_all()

    def _finish(self, generation: Generation) -> None:
        with self._changed:
            self._done.append(generation)
            self._streamed -= 1
            if len(self._done) in (1, self._held):  # between these the exchange waits for its time
                self._changed.notify_all()

    def _stream(self) -> Iterator[Request]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._todo or not self._order.more)
                if not self._todo:
                    return
                request = self._todo.popleft()
                self._streamed += 1
                if self._hungry():
                    self._changed.notify_all()
            yield request
