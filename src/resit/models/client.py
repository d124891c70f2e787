"""Keeping a server busy: requests in, generations out, through an event loop that the caller's thread drives.

While the caller looks at its generations the loop stands still, which no server notices: what is in flight
stays in flight, and a batch is graded in a few milliseconds. A loop in a thread of its own would lose its
turn at every write to the journal; that cost half of the throughput (docs/design/serving.md).
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeVar

from resit.errors import ResitError
from resit.models.failures import RETRIED, Failure, Kind, Patience
from resit.models.outage import KEPT, UNANIMOUS, Outages
from resit.models.protocol import Notify
from resit.models.replicas import Replica, Replicas
from resit.models.server import Server
from resit.records import Generation, Request

Result = TypeVar("Result")

CHUNK = 32
"""Jobs, and generations, that change hands at once."""
BATCH_SECONDS = 0.01
"""A generation waits no longer for others to be taken with."""
HOPELESS = 10
"""Jobs given up one after the other, with no answer between, before the run stops."""


@dataclass(slots=True)
class Job:
    """One HTTP request: a sample, or several samples of one question."""

    requests: tuple[Request, ...]
    failures: int = 0
    first_failure: float | None = None
    body: bytes | None = None
    """As first sent: what is asked again is the same."""
    failed_at: Replica | None = None
    """The server that failed it last; another one is asked rather."""


class Asking(Protocol):
    """Who turns jobs into generations."""

    def may_send(self, job: Job) -> bool:
        """Whether the job may be sent now; asked again after each answer."""
        ...

    async def ask(self, job: Job, server: Server) -> list[Generation]:
        """The job's generations, fewer where jobs for the rest went to `Drain.again`. Raises Failure."""
        ...

    def give_up(self, job: Job, failure: Failure) -> list[Generation]:
        """The errors that the job ends in."""
        ...


class Interrupted(Exception):
    """The stream was to end before its jobs had all been done."""


class Loop:
    """An event loop (uvloop's where it is installed) that runs while something is waited for."""

    def __init__(self) -> None:
        try:
            import uvloop

            self.loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        except ImportError:
            self.loop = asyncio.new_event_loop()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of a coroutine; another thread waits for it where a loop runs already (a notebook)."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self.loop.run_until_complete(work)
        with ThreadPoolExecutor(1, thread_name_prefix="resit-client") as helper:
            future: Future[Result] = helper.submit(self.loop.run_until_complete, work)
            return future.result()

    def soon(self, what: Callable[[], object]) -> None:
        """Have something done in the loop, which wakes up for it. Safe in a signal's handler."""
        with contextlib.suppress(RuntimeError):  # closed meanwhile: there is nothing left to do it to
            self.loop.call_soon_threadsafe(what)

    def close(self) -> None:
        """End the loop."""
        self.run(self.loop.shutdown_asyncgens())
        self.loop.close()


class Drain:
    """One stream of requests: what waits, what is in flight, what is ready to be taken."""

    def __init__(
        self,
        asking: Asking,
        replicas: Replicas,
        patience: Patience,
        loop: asyncio.AbstractEventLoop,
        notify: Notify,
    ) -> None:
        self._asking, self._replicas, self._patience = asking, replicas, patience
        self._loop, self._notify = loop, notify
        self._outages = Outages(self, replicas, patience, notify)
        replicas.reopen()
        self._todo: deque[Job] = deque()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._timers: set[asyncio.TimerHandle] = set()
        self._pausing = False
        self._ready: list[Generation] = []
        self._taker: asyncio.Future[None] | None = None
        self._chance = random.Random()
        self._given_up = 0
        self._refusals: dict[str, int] = {}
        self.last_answer: float | None = None
        self._error: Exception | None = None
        self._parting: Exception | None = None
        """What the stream ends with once nothing is in flight; None: it goes on."""
        self.retries = 0

    @property
    def jobs(self) -> int:
        """Jobs that were taken over and are not done: in flight, or waiting for whatever reason."""
        there = sum(len(replica.in_flight) + len(replica.suspects) for replica in self._replicas.all)
        return len(self._todo) + len(self._timers) + there

    @property
    def winding_down(self) -> bool:
        """Whether nothing is sent any more."""
        return self._parting is not None

    async def open(self) -> None:
        """Find out, once, which of several servers are there; they must be one model. Raises UsageError."""
        if self._replicas.told is not None:
            return
        comparing = self._loop.create_task(self._replicas.compare())
        self._keep(comparing)
        await asyncio.wait([comparing])
        if comparing.cancelled():
            return  # interrupted: nobody is going to be asked
        for replica, failure in comparing.result():
            self._outages.tell(replica, failure)
            self.start(self._outages.sit_out(replica, failure))

    async def take(self, jobs: Iterable[Job], wait: bool) -> list[Generation]:
        """Take over jobs and give what is ready; if need be wait for it to be many, or to get old.

        Raises what stopped the stream, once everything that was ready has been taken.
        """
        if not self.winding_down:
            self._todo.extend(jobs)
        await asyncio.sleep(0)  # connections that were closed meanwhile are noticed before they are used
        self.pump()
        if wait and not self._full() and self._error is None:
            self._taker = self._loop.create_future()
            await self._taker
        if not self._ready and self._error is not None:
            raise self._error
        ready, self._ready = self._ready, []
        return ready

    def _full(self) -> bool:
        return len(self._ready) >= CHUNK or bool(self._ready and not self._todo)

    def again(self, jobs: Iterable[Job]) -> None:
        """Put jobs before those that wait."""
        if not self.winding_down:
            self._todo.extendleft(reversed(list(jobs)))

    def pump(self) -> None:
        """Send as many jobs as the limiter lets."""
        pause = self._replicas.pause()  # looked at first: one that ends meanwhile has its timer, too
        while self._todo and self._error is None and self._asking.may_send(self._todo[0]):
            replica = self._replicas.next(self._todo[0].failed_at)
            if replica is None:
                break
            job = self._todo.popleft()
            replica.limiter.sent()
            replica.in_flight[self._loop.create_task(self._work(job, replica))] = job
        if self._todo and not self._pausing and pause:
            self._pausing = True
            self._later(pause, self._resume)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Let something go on beside the requests until the stream ends."""
        self._keep(self._loop.create_task(self._guarded(work)))

    def _keep(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # a bug: the caller's thread must see it, not the loop's log
            self.stop(error)

    def _resume(self) -> None:
        self._pausing = False
        self.pump()

    def _later(self, seconds: float, what: Callable[[], None]) -> None:
        def due() -> None:
            self._timers.discard(timer)
            what()

        timer = self._loop.call_later(seconds, due)
        self._timers.add(timer)

    async def _work(self, job: Job, replica: Replica) -> None:
        outcome: list[Generation] | Failure
        try:
            outcome = await self._asking.ask(job, replica.server)
        except Failure as failure:
            outcome = failure
        except Exception as error:  # a bug too: the caller's thread must see it, not the loop's log
            self.stop(error)
            return
        if not replica.finished(asyncio.current_task()):
            return  # the job was taken away from this server meanwhile
        if isinstance(outcome, Failure):
            self._failed(job, replica, outcome)
        else:
            replica.answered(first_try=job.failures == 0)
            self._given_up, self.last_answer = 0, time.monotonic()
            self._refusals.clear()
            self._deliver(outcome)
        self.pump()
        self._part()

    def _deliver(self, generations: list[Generation]) -> None:
        if not self._ready:
            self._loop.call_later(BATCH_SECONDS, self._wake)
        self._ready.extend(generations)
        if self._full():
            self._wake()

    def _wake(self) -> None:
        if self._taker is not None and not self._taker.done():
            self._taker.set_result(None)

    def stop(self, error: Exception) -> None:
        """End the stream with an error, once what is ready has been taken."""
        self._error = self._error or error
        self._wake()

    def wind_down(self, parting: Exception) -> None:
        """Send nothing any more; the stream ends with `parting` once what is in flight has come back.

        What waits, also to be asked again, is dropped without a generation: the next run owes it.
        """
        if self.winding_down:
            return
        self._parting = parting
        self._drop_waiting()
        self._part()

    def _part(self) -> None:
        if self._parting is not None and not any(replica.in_flight for replica in self._replicas.all):
            self.stop(self._parting)

    def _drop_waiting(self) -> None:
        self._todo.clear()
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        for task in self._tasks:
            task.cancel()
        for replica in self._replicas.all:
            replica.suspects.clear()

    def _failed(self, job: Job, replica: Replica, failure: Failure) -> None:
        job.failed_at = replica
        if self.winding_down and failure.kind in RETRIED:
            replica.limiter.broke()
            return  # it would be asked again, which the next run does
        if failure.kind is Kind.RATE:
            self._outages.told_to_wait(replica, failure)
        elif failure.kind in RETRIED:
            self._outages.failed(replica, failure)
        else:
            replica.limiter.answered(first_try=False)
            if self._outages.refused(replica, failure):
                self.again([job])
                return
        if failure.silent:
            self._outages.suspect(replica, job, failure)
        else:
            self.settle(job, failure)

    def settle(self, job: Job, failure: Failure) -> None:
        """Ask again later, or give up, a job that a server failed which is there."""
        job.failures += 1
        if failure.kind in RETRIED and self._may_retry(job, failure.kind):
            self.retries += 1
            self._later(self.delay(job.failures), lambda: self._send_again(job))
        else:
            self._give_up(job, failure)

    def bring_back(self, job: Job, failure: Failure) -> None:
        """Put a job that a server took with it before those that wait, unless that happens all the time."""
        job.failures += 1
        if job.failures < self._patience.attempts:
            self.retries += 1
            self.again([job])
        else:
            self._give_up(job, failure)

    def delay(self, failures: int) -> float:
        """Seconds to wait after the n-th failure in a row."""
        return self._patience.delay(failures, self._chance)

    def _give_up(self, job: Job, failure: Failure) -> None:
        given_up = self._asking.give_up(job, failure)
        hopeless = self._hopeless(job, failure)
        if hopeless is None:
            self._deliver(given_up)
        else:
            self.stop(hopeless)

    def _send_again(self, job: Job) -> None:
        self.again([job])
        self.pump()

    def _may_retry(self, job: Job, kind: Kind) -> bool:
        now = time.monotonic()
        job.first_failure = now if job.first_failure is None else job.first_failure
        since = job.first_failure
        if kind is Kind.RATE:  # as long as others are answered, waiting longer is all that it takes
            return now - max(since, self.last_answer or since) < self._patience.seconds
        return job.failures < self._patience.attempts and now - since < self._patience.seconds

    def _hopeless(self, job: Job, failure: Failure) -> ResitError | None:
        """Why no request can be expected to be answered, if it has come to that."""
        if failure.kind is Kind.OVERFLOW:
            return None
        words, answered = self._outages.words(job.failed_at, failure), self.last_answer is not None
        if not answered and len(self._refusals) < HOPELESS:
            self._refusals[words] = self._refusals.get(words, 0) + 1
        self._given_up += 1
        if failure.kind is Kind.ACCESS and not answered:
            remedy = "check base_url, the model's name, the key and its credit"
            return ResitError(f"the server refuses: {words}", remedy)
        if failure.kind is Kind.REQUEST:
            unanimous = not answered and self._refusals.get(words, 0) >= UNANIMOUS
            return ResitError(f"the server refuses every request: {words}", KEPT) if unanimous else None
        if self._given_up >= HOPELESS:
            now = "refuses now" if failure.kind is Kind.ACCESS else "does not answer any more"
            return ResitError(f"the server {now}: {words}", KEPT)
        return None

    async def cancel(self) -> None:
        """Drop everything in flight."""
        tasks = [*self._tasks, *(task for replica in self._replicas.all for task in replica.in_flight)]
        self._drop_waiting()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for replica in self._replicas.all:
            replica.dropped()


def run_jobs(jobs: Iterator[Job], drain: Drain, loop: Loop, bound: int) -> Iterator[Generation]:
    """The generations of all jobs as they come; a job is pulled while fewer than `bound` are not done.

    Raises what stopped the stream, after what was finished has been yielded; ends early when interrupted.
    """
    waiting, more = 0, True
    try:
        while more or waiting:
            room = max(0, min(CHUNK, bound - drain.jobs))
            pulled = [*islice(jobs, room)] if more else []
            more = more and len(pulled) == room and not drain.winding_down
            waiting += sum(len(job.requests) for job in pulled)
            if pulled or waiting:
                batch = loop.run(drain.take(pulled, wait=not more or room < CHUNK))
                waiting -= len(batch)
                yield from batch
    except Interrupted:
        return
    finally:
        loop.run(drain.cancel())
