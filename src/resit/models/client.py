"""Keeping a server busy: requests in, generations out, across an event loop in a thread of its own.

The caller's thread pulls requests and takes generations; the loop's thread sends, waits, asks again.
What lies between the two is bounded: memory does not grow with the number of requests.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeAlias, TypeVar

from resit.errors import ResitError
from resit.models.failures import RETRIED, Failure, Kind, Patience
from resit.models.limiter import Limiter
from resit.records import Generation, Request

Result = TypeVar("Result")

CHUNK = 32
"""Jobs handed over at once."""
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


Outcome: TypeAlias = list[Generation] | Exception
"""What comes out of a drain: generations, or what stopped it."""


class LoopThread:
    """An event loop (uvloop's where it is installed) that runs in a thread until it is closed."""

    def __init__(self) -> None:
        try:
            import uvloop

            self.loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        except ImportError:
            self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="resit-client", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of a coroutine, waited for in the calling thread."""
        future: Future[Result] = asyncio.run_coroutine_threadsafe(work, self.loop)
        return future.result()

    def close(self) -> None:
        """End the loop and its thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class Drain:
    """The sending side of one stream of requests; all of it runs in the loop's thread."""

    def __init__(
        self, asking: Asking, limiter: Limiter, patience: Patience, out: SimpleQueue[Outcome]
    ) -> None:
        self._asking = asking
        self._limiter, self._patience, self._out = limiter, patience, out
        self._todo: deque[Job] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._timers: set[asyncio.TimerHandle] = set()
        self._pausing = False
        self._ready: list[Generation] = []
        self._chance = random.Random()
        self._given_up = 0
        self._refusals: dict[str, int] = {}
        self._last_answer: float | None = None
        self._stopped = False
        self.retries = 0

    def feed(self, jobs: Iterable[Job]) -> None:
        """Take over jobs and send what may be sent."""
        self._todo.extend(jobs)
        self.pump()

    def again(self, jobs: Iterable[Job]) -> None:
        """Put jobs before those that wait."""
        self._todo.extendleft(reversed(list(jobs)))

    def pump(self) -> None:
        """Send as many jobs as the limiter lets."""
        while (
            self._todo
            and not self._stopped
            and self._limiter.free() > 0
            and self._asking.may_send(self._todo[0])
        ):
            job = self._todo.popleft()
            self._limiter.sent()
            task = asyncio.get_running_loop().create_task(self._work(job))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        pause = self._limiter.pause()
        if self._todo and pause and not self._pausing:
            self._pausing = True
            self._later(pause, self._resume)

    def _resume(self) -> None:
        self._pausing = False
        self.pump()

    def _later(self, seconds: float, what: Callable[[], None]) -> None:
        def due() -> None:
            self._timers.discard(timer)
            what()

        timer = asyncio.get_running_loop().call_later(seconds, due)
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
        self.pump()

    def _deliver(self, generations: list[Generation]) -> None:
        if not self._ready:
            asyncio.get_running_loop().call_soon(self._flush)
        self._ready.extend(generations)

    def _flush(self) -> None:
        if self._ready:
            self._out.put(self._ready)
            self._ready = []

    def _stop(self, error: Exception) -> None:
        if not self._stopped:
            self._stopped = True
            self._flush()
            self._out.put(error)

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
        self.pump()

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
        self._stopped = True
        for timer in self._timers:
            timer.cancel()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def run_jobs(
    jobs: Iterator[Job],
    drain: Drain,
    thread: LoopThread,
    out: SimpleQueue[Outcome],
    bound: int,
) -> Iterator[Generation]:
    """The generations of all jobs as they come; at most `bound` samples are between pulling and yielding.

    Raises what stopped the drain, after what was finished has been yielded.
    """
    waiting, more = 0, True
    try:
        while more or waiting:
            chunk: list[Job] = []
            while more and waiting < bound and len(chunk) < CHUNK:
                job = next(jobs, None)
                if job is None:
                    more = False
                else:
                    chunk.append(job)
                    waiting += len(job.requests)
            if chunk:
                thread.loop.call_soon_threadsafe(drain.feed, chunk)
            with suppress(Empty):
                batch = out.get(block=waiting > 0 and not (more and waiting < bound))
                if isinstance(batch, Exception):
                    raise batch
                waiting -= len(batch)
                yield from batch
    finally:
        thread.run(drain.cancel())
