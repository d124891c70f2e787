"""A fleet over workers of the test's own: no Ray, and a clock that is told the time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from resit.errors import AssetError, IdentityMismatch, ResitError
from resit.models import Setup, create
from resit.models.protocol import failed, owed
from resit.records import Document, Generation, Question, Request, Sampling
from resit.runs.fleet import (
    BARREN,
    HOPELESS,
    PLACE_SECONDS,
    Delivered,
    Event,
    Failed,
    Fleet,
    Lost,
    Placed,
    Started,
)
from resit.runs.station import Delivery, Order

MODEL = create("scripted", {}, Setup())


def asked(questions: int, repeats: int = 1) -> list[Request]:
    return [
        Request(Question("sums", Document(doc, f"h{doc}", {}), "?", "18"), repeat, Sampling(), 0)
        for doc in range(questions)
        for repeat in range(repeats)
    ]


Behaviour = Callable[["Hand", Order], Delivery | Exception | None]


@dataclass
class Hand:
    """One life of one worker."""

    worker: int
    life: int
    todo: deque[Request] = field(default_factory=deque)
    notes: list[str] = field(default_factory=list)


def diligent(hand: Hand, order: Order) -> Delivery:
    """Answers all that it has but one while more may follow, so that it always has something left."""
    keep = 1 if order.more else 0
    done = []
    while len(hand.todo) > keep:
        done.append(owed(hand.todo.popleft(), text=f"by {hand.worker}"))
    return Delivery(done, len(hand.todo))


@dataclass
class FakeCrew:
    """Workers that do what `behaviour` says, one event a step of one second."""

    behaviour: Behaviour = diligent
    loads: Callable[[int, int], Event | None] = lambda worker, life: Started(worker, 1.5, MODEL.identity())
    places: int = 99
    now: float = 0.0
    hired: list[int] = field(default_factory=list)
    released: list[int] = field(default_factory=list)
    dismissed: list[bool] = field(default_factory=list)
    hands: dict[int, Hand] = field(default_factory=dict)
    events: deque[Event] = field(default_factory=deque)
    orders: list[tuple[int, Order]] = field(default_factory=list)

    def hire(self, worker: int) -> None:
        self.hired.append(worker)
        if worker >= self.places:
            return
        life = self.hired.count(worker)
        self.hands[worker] = Hand(worker, life)
        self.events.append(Placed(worker, f"node{worker}"))
        if (event := self.loads(worker, life)) is not None:
            self.events.append(event)

    def send(self, worker: int, order: Order) -> None:
        self.orders.append((worker, order))
        hand = self.hands[worker]
        hand.todo.extend(order.requests)
        outcome = self.behaviour(hand, order)
        if isinstance(outcome, Exception):
            self.events.append(Lost(worker, str(outcome)))
        elif outcome is not None:
            self.events.append(Delivered(worker, outcome))

    def release(self, worker: int) -> None:
        self.released.append(worker)

    def wait(self, seconds: float) -> Sequence[Event]:
        self.now += 1.0
        return [self.events.popleft()] if self.events else []

    def shortage(self) -> str:
        return "a worker takes GPU=1, and no node has more than GPU=0"

    def dismiss(self, gently: bool = True) -> None:
        self.dismissed.append(gently)


@dataclass
class Bench:
    """A fleet, its crew, and what it said."""

    crew: FakeCrew
    workers: int = 2
    unit: int = 2
    notes: list[str] = field(default_factory=list)

    @property
    def fleet(self) -> Fleet:
        return Fleet(MODEL, self.crew, self.workers, self.unit, self.notes.append, lambda: self.crew.now)

    def run(self, requests: list[Request]) -> list[Generation]:
        return list(self.fleet.generate(requests))


def documents(generations: list[Generation]) -> list[int]:
    return sorted(generation.doc_id for generation in generations)


def test_every_request_is_answered_once_by_several_workers() -> None:
    bench = Bench(FakeCrew(), workers=3)
    found = bench.run(asked(40))
    assert documents(found) == list(range(40))
    assert {generation.text for generation in found} == {"by 0", "by 1", "by 2"}
    assert "worker 2 on node1 loaded its model in 1.5 s" in bench.notes


def test_nothing_is_started_when_nothing_is_owed() -> None:
    bench = Bench(FakeCrew())
    assert bench.run([]) == []
    assert bench.crew.hired == []


def test_workers_stay_for_the_next_task() -> None:
    bench = Bench(FakeCrew())
    fleet = bench.fleet
    for _ in range(2):
        assert len(list(fleet.generate(asked(10)))) == 10
    assert sorted(bench.crew.hired) == [0, 1]
    fleet.close()
    assert bench.crew.dismissed == [True]


def test_a_worker_that_dies_loses_only_what_it_had() -> None:
    def dies_once(hand: Hand, order: Order) -> Delivery | Exception:
        if hand.worker == 1 and hand.life == 1 and len(hand.todo) >= 2:
            return RuntimeError("SIGKILL")
        return diligent(hand, order)

    bench = Bench(FakeCrew(dies_once))
    found = bench.run(asked(30))
    assert documents(found) == list(range(30))
    assert all(generation.error is None for generation in found)
    assert bench.crew.hired.count(1) == 2
    assert any("SIGKILL" in note and "samples go back to the queue" in note for note in bench.notes)


def test_a_question_that_kills_three_workers_is_an_error_with_its_reason() -> None:
    def poisoned(hand: Hand, order: Order) -> Delivery | Exception:
        if any(request.question.document.doc_id == 7 for request in hand.todo):
            return RuntimeError("segmentation fault")
        return diligent(hand, order)

    bench = Bench(FakeCrew(poisoned), unit=4)
    found = bench.run(asked(20, repeats=2))
    errors = [generation for generation in found if generation.error is not None]
    assert documents(found) == sorted([*range(20), *range(20)])
    assert {generation.doc_id for generation in errors} == {7}
    assert all(
        "3 workers died of it" in str(e.error) and "segmentation fault" in str(e.error) for e in errors
    )
    assert len(bench.crew.hired) == 2 + 3


def test_workers_that_always_die_stop_the_run() -> None:
    bench = Bench(FakeCrew(lambda hand, order: RuntimeError("segmentation fault")))
    with pytest.raises(ResitError, match="segmentation fault"):
        bench.run(asked(500))
    assert len(bench.crew.hired) <= 2 + 4 * BARREN
    assert bench.crew.dismissed == [False]


def test_many_poisoned_questions_stop_a_proven_fleet_in_the_end() -> None:
    def second_half(hand: Hand, order: Order) -> Delivery | Exception:
        if any(request.question.document.doc_id >= 50 for request in hand.todo):
            return RuntimeError("out of memory")
        return diligent(hand, order)

    bench = Bench(FakeCrew(second_half))
    found: list[Generation] = []
    with pytest.raises(ResitError, match=r"keep dying|kept alive"):
        found.extend(bench.fleet.generate(asked(100)))
    assert {g.doc_id for g in found if g.error is None} >= set(range(44))


def test_ten_poisoned_questions_in_a_row_at_the_end_are_no_chance() -> None:
    def every_fifth(hand: Hand, order: Order) -> Delivery | Exception:
        if any(request.question.document.doc_id % 5 == 0 for request in hand.todo):
            return RuntimeError("out of memory")
        return diligent(hand, replace(order, more=False))

    bench = Bench(FakeCrew(every_fifth), workers=1, unit=1)
    found: list[Generation] = []
    with pytest.raises(ResitError, match=r"keep dying and nothing is finished .* out of memory") as raised:
        found.extend(bench.fleet.generate(asked(70)))
    assert "the same command again" in raised.value.hint
    assert sum("set aside" in note for note in bench.notes) == HOPELESS - 1


def test_what_a_worker_warns_of_is_told_with_its_name() -> None:
    def warns(hand: Hand, order: Order) -> Delivery:
        return replace(diligent(hand, order), notes=["the server cuts prompts"])

    bench = Bench(FakeCrew(warns), workers=1)
    bench.run(asked(2))
    assert "worker 1 on node0: the server cuts prompts" in bench.notes


def test_a_model_that_cannot_be_loaded_anywhere_is_its_own_error() -> None:
    def absent(worker: int, life: int) -> Event:
        return Failed(worker, AssetError("pretrained=/models/big: there is no such file"))

    bench = Bench(FakeCrew(loads=absent))
    with pytest.raises(AssetError, match="no such file"):
        bench.run(asked(5))
    assert len(bench.crew.hired) <= 3


def test_one_bad_node_does_not_stop_the_others() -> None:
    def absent_on_one(worker: int, life: int) -> Event:
        if worker == 0:
            return Failed(worker, AssetError("no such file"))
        return Started(worker, 1.0, MODEL.identity())

    bench = Bench(FakeCrew(loads=absent_on_one))
    assert documents(bench.run(asked(60))) == list(range(60))
    assert bench.crew.hired.count(0) == BARREN
    assert any("not replaced any more" in note for note in bench.notes)
    assert bench.crew.released == [0], "its place is for others"


def test_a_node_with_other_weights_is_refused() -> None:
    other = {**MODEL.identity(), "text": "another"}
    bench = Bench(FakeCrew(loads=lambda worker, life: Started(worker, 1.0, other)))
    with pytest.raises(IdentityMismatch, match='text: "lol" here, "another" there'):
        bench.run(asked(5))


def test_a_refusal_of_every_request_reaches_the_user() -> None:
    def refused(hand: Hand, order: Order) -> Delivery:
        return Delivery(ended=ResitError("the server refuses: 401 no such key"))

    with pytest.raises(ResitError, match="401"):
        Bench(FakeCrew(refused)).run(asked(50))


def test_a_broken_model_is_a_lost_worker() -> None:
    def breaks_once(hand: Hand, order: Order) -> Delivery:
        if hand.life == 1 and hand.worker == 0 and hand.todo:
            done = [owed(hand.todo.popleft(), text="before")]
            return Delivery(done, len(hand.todo), ended=RuntimeError("CUDA error"))
        return diligent(hand, order)

    bench = Bench(FakeCrew(breaks_once))
    found = bench.run(asked(20))
    assert documents(found) == list(range(20))
    assert any("RuntimeError: CUDA error" in note for note in bench.notes)


def test_errors_of_single_requests_pass_through() -> None:
    def errs(hand: Hand, order: Order) -> Delivery:
        done = [failed(request, "prompt too long") for request in hand.todo]
        hand.todo.clear()
        return Delivery(done)

    found = Bench(FakeCrew(errs)).run(asked(6))
    assert [generation.error for generation in found] == ["prompt too long"] * 6


def test_no_place_for_any_worker_is_an_error_in_time() -> None:
    bench = Bench(FakeCrew(places=0))
    with pytest.raises(ResitError, match="no node has more than GPU=0"):
        bench.run(asked(5))
    assert PLACE_SECONDS <= bench.crew.now <= PLACE_SECONDS + 2
    assert bench.notes[0] == (
        "2 of 2 workers wait for a place: a worker takes GPU=1, and no node has more than GPU=0"
    )


def test_workers_that_find_no_place_do_not_keep_the_others_waiting() -> None:
    bench = Bench(FakeCrew(places=1), workers=4)
    assert documents(bench.run(asked(20))) == list(range(20))


def test_a_long_load_is_told_and_waited_for() -> None:
    crew = FakeCrew(loads=lambda worker, life: None)
    bench = Bench(crew, workers=1)

    class Late(FakeCrew):
        def wait(self, seconds: float) -> Sequence[Event]:
            if self.now == 2 * PLACE_SECONDS:
                self.events.append(Started(0, self.now, MODEL.identity()))
            return super().wait(seconds)

    bench.crew = Late(loads=lambda worker, life: None)
    assert len(bench.run(asked(3))) == 3
    assert any(note.startswith("worker 1 on node0 has been loading its model for") for note in bench.notes)


def test_a_fast_worker_gets_as_much_as_it_does_in_half_a_second() -> None:
    def fast(hand: Hand, order: Order) -> Delivery:
        done = [owed(hand.todo.popleft(), text="18") for _ in range(min(len(hand.todo), 1000))]
        return Delivery(done, len(hand.todo))

    bench = Bench(FakeCrew(fast), workers=1, unit=8)
    bench.run(asked(5000))
    sizes = [len(order.requests) for _, order in bench.crew.orders]
    assert sizes[0] == 8
    assert max(sizes) <= 512
    waiting = [order.low for _, order in bench.crew.orders]
    assert all(low >= 1 for low in waiting)


def test_requests_are_pulled_as_they_are_needed() -> None:
    pulled = 0

    def counted() -> Any:
        nonlocal pulled
        for request in asked(1000):
            pulled += 1
            yield request

    bench = Bench(FakeCrew())
    stream = bench.fleet.generate(counted())
    for taken, _ in enumerate(stream, 1):
        assert pulled - taken < 100
    assert pulled == 1000


def test_an_abandoned_stream_ends_the_workers() -> None:
    bench = Bench(FakeCrew())
    stream = bench.fleet.generate(asked(100))
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert bench.crew.dismissed == [False]
