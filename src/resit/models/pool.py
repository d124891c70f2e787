"""A bounded pool of threads between a lazy stream of requests and a blocking backend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue

from resit.errors import ResitError
from resit.records import Generation, Request

AHEAD = 2
"""Requests pulled for each worker: one being answered, one waiting while the caller works."""


def in_flight(
    requests: Iterable[Request],
    answer: Callable[[Request], Generation],
    workers: int,
    abandon: Callable[[], None] = lambda: None,
) -> Iterator[Generation]:
    """Answers as they finish: `answer` runs in `workers` threads, `requests` is pulled in the caller's.

    A ResitError of `answer` is raised after what was already in flight has been yielded. `abandon` is
    called when the stream ends early: it should make the running answers end soon.
    """
    done: SimpleQueue[Future[Generation]] = SimpleQueue()
    failures: list[ResitError] = []
    waiting = 0
    pool = ThreadPoolExecutor(workers, thread_name_prefix="resit-model")

    def settle(most: int) -> Iterator[Generation]:
        """Yield what is done, waiting until at most `most` are not."""
        nonlocal waiting
        while waiting and (waiting > most or not done.empty()):
            future = done.get()
            waiting -= 1
            if future.cancelled():
                continue
            try:
                generation = future.result()
            except ResitError as error:
                failures.append(error)
                pool.shutdown(wait=False, cancel_futures=True)
            else:
                yield generation

    try:
        for request in requests:
            pool.submit(answer, request).add_done_callback(done.put)
            waiting += 1
            yield from settle(AHEAD * workers - 1)
            if failures:
                break
        yield from settle(0)
        if failures:
            raise failures[0]
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        while waiting:  # an answer may have begun just after it was abandoned: say it again
            abandon()
            with suppress(Empty):
                done.get(timeout=0.05)
                waiting -= 1
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
