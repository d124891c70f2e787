"""Keeping a server busy: requests in, generations out, through an event loop that the caller's thread drives.

While the caller looks at its generations the loop stands still, which no server notices: what is in flight
stays in flight, and a batch is graded in a few milliseconds. A loop in a thread of its own would lose its
turn at every write to the journal; that cost half of the throughput (docs/design/serving.md).
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from resit.errors import ResitError
from resit.models.failures import RETRIED, Failure, Kind, Patience
from resit.models.limiter import Limiter
from resit.records import Generation, Request

Result = TypeVar("Result")

CHUNK = 32
"""Jobs, and generations, that change hands at once."""
BATCH_SECONDS = 0.01
"""A generation waits no longer for others to be taken with."""
HOPELESS = 10
"""Jobs given up one after the other, with no answer between, before the run stops."""
UNANIMOUS = 3
"""Requests refused with the same words, before any answer, before the run stops."""

_KEPT = "what is finished is kept: the same command again asks for the rest"


@dataclass(slots=True)
class Job:
    """One HTTP request: a sample, or several samples of one question."""

    requests: tuple[Request, ...]
    failures: int = 0
    first_failure: float | None = None
    body: bytes | None = None
    """As first sent: what is asked again is the same."""


class Asking(Protocol):
    """Who turns jobs into generations."""

    def may_send(self, job: Job) -> bool:
        """Whether the job may be sent now; asked again after each answer."""
        ...

    async def ask(self, job: Job) -> list[Generation]:
        """The job's generations, fewer where jobs for the rest went to `Drain.again`. Raises Failure."""
        ...

    def give_up(self, job: Job, failure: Failure) -> list[Generation]:
        """The errors that the job ends in."""
        ...


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

    def close(self) -> None:
        """End the loop."""
        self.run(self.loop.shutdown_asyncgens())
        self.loop.close()


class Drain:
    """One stream of requests: what waits, what is in flight, what is ready to be taken."""

    def __init__(
        self, asking: Asking, limiter: Limiter, patience: Patience, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._asking, self._limiter, self._patience = asking, limiter, patience
        self._loop = loop
        self._todo: deque[Job] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._timers: set[asyncio.TimerHandle] = set()
        self._pausing = False
        self._ready: list[Generation] = []
        self._taker: asyncio.Future[None] | None = None
        self._chance = random.Random()
        self._given_up = 0
        self._refusals: dict[str, int] = {}
        self._last_answer: float | None = None
        self._error: Exception | None = None
        self.retries = 0

    async def take(self, jobs: Iterable[Job], wait: bool) -> list[Generation]:
        """Take over jobs and give what is ready; if need be wait for it to be many, or to get old.

        Raises what stopped the stream, once everything that was ready has been taken.
        """
        self._todo.extend(jobs)
        await asyncio.sleep(0)  # connections that were closed meanwhile are noticed before they are used
        self._pump()
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
        self._todo.extendleft(reversed(list(jobs)))

    def _pump(self) -> None:
        """Send as many jobs as the limiter lets."""
        while (
            self._todo
            and self._error is None
            and self._limiter.free() > 0
            and self._asking.may_send(self._todo[0])
        ):
            job = self._todo.popleft()
            self._limiter.sent()
            task = self._loop.create_task(self._work(job))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        pause = self._limiter.pause()
        if self._todo and pause and not self._pausing:
            self._pausing = True
            self._later(pause, self._resume)

    def _resume(self) -> None:
        self._pausing = False
        self._pump()

    def _later(self, seconds: float, what: Callable[[], None]) -> None:
        def due() -> None:
            self._timers.discard(timer)
            what()

        timer = self._loop.call_later(seconds, due)
        self._timers.add(timer)

    async def _work(self, job: Job) -> None:
        try:
            generations = await self._asking.ask(job)
        except Failure as failure:
            self._failed(job, failure)
        except ResitError as error:
            self._limiter.broke()
            self._stop(error)
        except Exception as error:  # a bug: the caller's thread must see it, not the loop's log
            self._stop(error)
        else:
            self._limiter.answered(first_try=job.failures == 0)
            self._given_up, self._last_answer = 0, time.monotonic()
            self._refusals.clear()
            self._deliver(generations)
        self._pump()

    def _deliver(self, generations: list[Generation]) -> None:
        if not self._ready:
            self._loop.call_later(BATCH_SECONDS, self._wake)
        self._ready.extend(generations)
        if self._full():
            self._wake()

    def _wake(self) -> None:
        if self._taker is not None and not self._taker.done():
            self._taker.set_result(None)

    def _stop(self, error: Exception) -> None:
        self._error = self._error or error
        self._wake()

    def _failed(self, job: Job, failure: Failure) -> None:
        job.failures += 1
        if failure.kind is Kind.RATE:
            self._limiter.refused(failure.retry_after)
        elif failure.kind in RETRIED:
            self._limiter.broke()
        else:
            self._limiter.answered(first_try=False)
        if failure.kind in RETRIED and self._may_retry(job, failure.kind):
            self.retries += 1
            wait = max(failure.retry_after or 0.0, self._patience.delay(job.failures, self._chance))
            self._later(wait, lambda: self._send_again(job))
            return
        given_up = self._asking.give_up(job, failure)
        hopeless = self._hopeless(failure)
        if hopeless is None:
            self._deliver(given_up)
        else:
            self._stop(hopeless)

    def _send_again(self, job: Job) -> None:
        self.again([job])
        self._pump()

    def _may_retry(self, job: Job, kind: Kind) -> bool:
        now = time.monotonic()
        job.first_failure = now if job.first_failure is None else job.first_failure
        since = job.first_failure
        if kind is Kind.RATE:  # as long as others are answered, waiting longer is all that it takes
            return now - max(since, self._last_answer or since) < self._patience.seconds
        return job.failures < self._patience.attempts and now - since < self._patience.seconds

    def _hopeless(self, failure: Failure) -> ResitError | None:
        """Why no request can be expected to be answered, if it has come to that."""
        if failure.kind is Kind.OVERFLOW:
            return None
        words, answered = str(failure), self._last_answer is not None
        if not answered and len(self._refusals) < HOPELESS:
            self._refusals[words] = self._refusals.get(words, 0) + 1
        self._given_up += 1
        if failure.kind is Kind.ACCESS and not answered:
            return ResitError(f"the server refuses: {words}", "check base_url, the model's name and the key")
        if failure.kind is Kind.REQUEST:
            unanimous = not answered and self._refusals.get(words, 0) >= UNANIMOUS
            return ResitError(f"the server refuses every request: {words}", _KEPT) if unanimous else None
        if self._given_up >= HOPELESS:
            return ResitError(f"the server does not answer any more: {words}", _KEPT)
        return None

    async def cancel(self) -> None:
        """Drop everything in flight."""
        self._todo.clear()
        for timer in self._timers:
            timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def run_jobs(jobs: Iterator[Job], drain: Drain, loop: Loop, bound: int) -> Iterator[Generation]:
    """The generations of all jobs as they come; at most `bound` samples are between pulling and yielding.

    Raises what stopped the stream, after what was finished has been yielded.
    """
    waiting, more = 0, True
    try:
        while more or waiting:
            pulled: list[Job] = []
            while more and waiting < bound and len(pulled) < CHUNK:
                job = next(jobs, None)
                if job is None:
                    more = False
                else:
                    pulled.append(job)
                    waiting += len(job.requests)
            if pulled or waiting:
                batch = loop.run(drain.take(pulled, wait=not more or waiting >= bound))
                waiting -= len(batch)
                yield from batch
    finally:
        loop.run(drain.cancel())
