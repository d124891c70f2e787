from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from resit.models import Setup, create
from resit.models.protocol import owed
from resit.records import Generation, Request
from resit.runs.calibration import calibrate
from resit.runs.plan import Plan, Settings, make_plan
from resit.tasks import load


class Pool:
    """Answers `slots` requests at a time, each in `seconds` by its own clock, after loading for 30 s."""

    def __init__(self, slots: int, seconds: float) -> None:
        self.slots, self.seconds, self.now, self.asked = slots, seconds, 0.0, 0

    def load(self) -> None:
        self.now += 30.0

    def clock(self) -> float:
        return self.now

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
        waiting = list(requests)
        self.asked += len(waiting)
        while waiting:
            batch, waiting = waiting[: self.slots], waiting[self.slots :]
            self.now += self.seconds
            for request in batch:
                yield owed(request, text="18", seconds=self.seconds)


def planned(*tasks: Path, **options: object) -> Plan:
    settings = Settings(**options)  # type: ignore[arg-type]
    return make_plan(create("scripted").identity(), load([str(task) for task in tasks]), settings)


@pytest.mark.parametrize(("slots", "count"), [(1, 8), (4, 32), (8, 64), (16, 16)])
def test_samples_in_flight_are_found_out(exam: Callable[..., Path], slots: int, count: int) -> None:
    pool = Pool(slots, 2.5)
    found = calibrate(planned(exam(questions=100)), pool, count, pool.clock)  # type: ignore[arg-type]
    assert found.load_seconds == 30.0
    assert found.in_flight == pytest.approx(slots)
    assert len(found.samples) == count


def test_every_task_has_a_share(exam: Callable[..., Path]) -> None:
    plan = planned(exam("small", 3), exam("large", 97))
    found = calibrate(plan, create("scripted"), 20)
    tasks = [sample.task for sample in found.samples]
    assert (tasks.count("small"), tasks.count("large")) == (2, 19)
    assert found.in_flight is None or found.in_flight > 0
    assert len({(sample.task, sample.doc_id) for sample in found.samples}) == 21


def test_the_same_questions_each_time_and_not_just_the_first(exam: Callable[..., Path]) -> None:
    plan = planned(exam(questions=100))
    first, second = (
        [sample.doc_id for sample in calibrate(plan, create("scripted", {}, Setup()), 10).samples]
        for _ in range(2)
    )
    assert first == second != list(range(10))


def test_no_more_questions_than_there_are(exam: Callable[..., Path]) -> None:
    assert len(calibrate(planned(exam(questions=3), limit=2), create("scripted"), 50).samples) == 2
