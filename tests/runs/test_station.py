"""A worker's side of a fleet, without a fleet."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace

from resit.errors import ResitError
from resit.models import Model, Setup, create
from resit.models.protocol import owed
from resit.records import Document, Generation, Question, Request, Sampling
from resit.runs.station import Order, Station


def requests(count: int, first: int = 0) -> list[Request]:
    return [
        Request(Question("sums", Document(doc, f"h{doc}", {}), "?", "18"), 0, Sampling(), 0)
        for doc in range(first, first + count)
    ]


def scripted(concurrency: int = 1, **args: object) -> Model:
    return create("scripted", args, Setup(concurrency))


def drained(station: Station, order: Order, want: int) -> list[int]:
    """Documents delivered until there are `want` of them."""
    found: list[int] = []
    deadline = time.monotonic() + 120
    while len(found) < want:
        delivery = station.exchange(order)
        found += [generation.doc_id for generation in delivery.generations]
        assert delivery.ended is None, delivery.ended
        assert time.monotonic() < deadline
        order = Order(more=order.more)
    return found


def test_everything_comes_back_once() -> None:
    station = Station(scripted(8, delay=0.002))
    found = drained(station, Order(requests(100), more=False), 100)
    assert sorted(found) == list(range(100))


def test_a_later_order_starts_a_new_stream() -> None:
    station = Station(scripted())
    assert drained(station, Order(requests(3)), 3) == [0, 1, 2]
    assert drained(station, Order(requests(2, 3)), 2) == [3, 4]


class Streams:
    """A model that counts its streams, and answers a request when the next one comes."""

    name = "streams"

    def __init__(self) -> None:
        self.streams = 0

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
        self.streams += 1
        before: Request | None = None
        for request in requests:
            if before is not None:
                yield owed(before, text="18")
            before = request
        if before is not None:
            yield owed(before, text="18")


def test_one_stream_lasts_while_more_may_follow() -> None:
    model = Streams()
    station = Station(model)  # type: ignore[arg-type]
    assert len(drained(station, Order(requests(4), more=True), 3)) == 3
    assert len(drained(station, Order(requests(4, 4), more=True), 4)) == 4
    assert drained(station, Order(more=False), 1) == [7]
    assert model.streams == 1


def test_a_hungry_model_ends_the_exchange_at_once() -> None:
    deadline = time.monotonic() + 120

    def still() -> float:
        """Time that does not pass: the exchange cannot end because it has lasted long."""
        assert time.monotonic() < deadline, "nobody saw that the model is hungry"
        return 0.0

    station = Station(scripted(2, delay=600.0), still)
    delivery = station.exchange(Order(requests(2), more=True, low=1, flush=0.2))
    assert delivery.generations == []
    assert delivery.waiting == 0


def test_finished_samples_are_gathered_for_the_time_of_a_flush() -> None:
    station = Station(scripted(4, delay=0.01))
    began = time.monotonic()
    delivery = station.exchange(Order(requests(400), more=True, low=1, flush=0.2))
    assert time.monotonic() - began >= 0.2
    assert len(delivery.generations) > 4


def test_what_a_failing_model_had_finished_is_delivered_before_its_error() -> None:
    station = Station(scripted(fatal_after=5))
    first = station.exchange(Order(requests(20), flush=0.0))
    found = list(first.generations)
    while len(found) < 5:
        found += station.exchange(Order()).generations
    last = station.exchange(Order())
    assert [generation.doc_id for generation in found] == [0, 1, 2, 3, 4]
    assert isinstance(last.ended, ResitError)
    assert station.exchange(Order(requests(1, 30))).ended is last.ended


class Forgetful(Streams):
    """A model that leaves every second request without an answer."""

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
        for number, request in enumerate(requests):
            if number % 2:
                yield owed(request, text="18")


def test_a_model_that_forgets_requests_is_broken_and_hangs_nobody() -> None:
    station = Station(Forgetful())  # type: ignore[arg-type]
    found = []
    while (delivery := station.exchange(Order(requests(4) if not found else (), flush=0.0))).ended is None:
        found += delivery.generations
    assert "no answer to 2 requests" in str(delivery.ended)


def test_the_calculator_works_beside_the_model() -> None:
    class Wrong(Streams):
        def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
            for request in requests:
                begun = str(request.question.prompt)
                text = "<<3*4=13>> is 13." if begun == "?" else " is 12."
                yield owed(request, text=text)

        def encode(self, prompt: object) -> None:
            raise ResitError("no tokens here")

    (asked,) = requests(1)
    asked = replace(asked, sampling=replace(asked.sampling, calculator=True))
    station = Station(Wrong())  # type: ignore[arg-type]
    (generation,) = station.exchange(Order([asked])).generations
    assert generation.text == "<<3*4=12>> is 12."
    assert generation.insertions is not None


def test_notes_travel_with_a_delivery() -> None:
    station = Station(scripted())
    station.note("the server cuts prompts")
    assert list(station.exchange(Order(requests(1))).notes) == ["the server cuts prompts"]
    assert list(station.exchange(Order(requests(1, 1))).notes) == []
