from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator

import pytest

from resit.errors import ResitError
from resit.models.pool import AHEAD, in_flight
from resit.models.protocol import owed
from resit.records import Generation, Request

Ask = Callable[..., Request]


def test_everything_is_answered_once(ask: Ask) -> None:
    requests = [ask(doc_id=i) for i in range(100)]
    answers = list(in_flight(requests, owed, 7))
    assert sorted(answer.doc_id for answer in answers) == list(range(100))


def test_requests_are_pulled_a_bounded_number_ahead(ask: Ask) -> None:
    pulled = 0

    def requests() -> Iterator[Request]:
        nonlocal pulled
        for i in range(1000):
            pulled += 1
            yield ask(doc_id=i)

    stream = in_flight(requests(), owed, 3)
    for taken, _ in zip(range(1, 51), stream, strict=False):
        assert pulled <= taken + AHEAD * 3
    stream.close()


def test_all_workers_are_busy_at_once(ask: Ask) -> None:
    together = threading.Barrier(4, timeout=60)

    def answer(request: Request) -> Generation:
        together.wait()
        return owed(request)

    assert len(list(in_flight([ask(doc_id=i) for i in range(8)], answer, 4))) == 8


def test_a_failure_for_all_is_raised_after_what_was_in_flight(ask: Ask) -> None:
    both_started = threading.Barrier(2, timeout=60)
    pulled = []

    def requests() -> Iterator[Request]:
        for i in range(100):
            pulled.append(i)
            yield ask(doc_id=i)

    def answer(request: Request) -> Generation:
        if request.question.document.doc_id < 2:
            both_started.wait()
        if request.question.document.doc_id == 0:
            raise ResitError("no such model")
        time.sleep(0.1)  # the failure is seen long before the others are done
        return owed(request)

    seen: list[Generation] = []
    with pytest.raises(ResitError, match="no such model"):
        deque(map(seen.append, in_flight(requests(), answer, 2)), maxlen=0)
    assert 1 in [generation.doc_id for generation in seen]
    assert len(pulled) <= AHEAD * 2 + 2


def test_leaving_early_abandons_what_is_in_flight(ask: Ask) -> None:
    begun, abandoned = threading.Event(), threading.Event()

    def answer(request: Request) -> Generation:
        if request.question.document.doc_id == 0:
            assert begun.wait(10)
        else:
            begun.set()
            assert abandoned.wait(10)
        return owed(request)

    stream = in_flight((ask(doc_id=i) for i in range(100)), answer, 2, abandoned.set)
    assert next(stream).doc_id == 0
    stream.close()
    assert abandoned.is_set()


def test_nothing_owed_is_a_normal_state() -> None:
    assert list(in_flight([], owed, 2)) == []
