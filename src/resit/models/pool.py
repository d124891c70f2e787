"""A bounded pool of threads between a lazy stream of requests and a blocking backend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

from resit.errors import ResitError

Asked = TypeVar("Asked")
Answered = TypeVar("Answered")

AHEAD = 2
"""Requests pulled for each worker: one being answered, one waiting while the caller works."""


def in_flight(
    requests: Iterable[Asked],
    answer: Callable[[Asked], Answered],
    workers: int,
    abandon: Callable[[], None] = lambda: None,
) -> Iterator[Answered]:
    """Answers as they finish: `answer` runs in `workers` threads, `requests` is pulled in the caller's.

    A ResitError of `answer` is raised after what was already in flight has been yielded. `abandon` is
    called when the stream ends early: it should make the running answers end soon.
    """
    done: SimpleQueue[Future[Answered]] = SimpleQueue()
    failures: list[ResitError] = []
    waiting = 0
    pool = ThreadPoolExecutor(workers, thread_name_prefix="resit-model")

    def settle(most: int) -> Iterator[Answered]:
        """Yield what is done, waiting until at most `most` are not."""
        nonlocal waiting
        while waiting and (waiting > most or not done.empty()):
            future = done.get()
            waiting -= 1
            if future.cancelled():
                continue
            try:
                answered = future.result()
            except ResitError as error:
                failures.append(error)
                pool.shutdown(wait=False, cancel_futures=True)
            else:
                yield answered

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
