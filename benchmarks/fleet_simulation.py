"""A thousand workers on paper: what becomes full first when a fleet grows.

    python benchmarks/fleet_simulation.py [--workers 64,1000,2000] [--seed 7] [--costs US,US,US,US] [--json]

The costs of the driver are measured here first, with the real code: a sample through the fleet's queue, its
parcels both ways, the journal's line, the verdict of the progress line, and a question's prompt. The rest is
simulated event by event, the same for the same seed and costs: workers with 64 samples in flight; answers of
lognormal length (median 100 tokens, sigma 0.6, at most 400, 30 ms a token; or 40 times as long); workers that
differ by 10 %, and three in a hundred that are three times as slow; exchanges as `resit.runs.fleet` makes
them, which wait for a driver that does one thing at a time; workers that die and load again for a minute.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path

from _figures import Figure, at_most, record
from ray_scaling import MOST_US, Echo, requests

from resit.cli.scoring import judge
from resit.models import Setup, create
from resit.models.protocol import owed
from resit.records import Generation, Request, ScoringRules
from resit.runs.fleet import AHEAD_SECONDS, EXCHANGES, FLUSH_SECONDS, MOST_AT_ONCE, ROUNDS_AHEAD, UNIT, Fleet
from resit.runs.folder import question_to
from resit.runs.journal import AppendFile, to_line
from resit.runs.parcels import pack_requests, pack_samples, unpack_samples
from resit.runs.progress import JUDGING_SHARE
from resit.tasks import load

SLOTS = 64
TOKENS, SIGMA, MOST, TOKEN_SECONDS = 100, 0.6, 4.0, 0.03
SPREAD, SLOW_SHARE, SLOW = 0.1, 0.03, 3.0
LOAD_SECONDS = 60.0
LINE_MB = 1.3e-3
"""A line of the journal with 1 KB of text."""
NETWORK_SECONDS = 0.001
EXCHANGE_US = 500.0
"""A call of an actor and its answer: Ray's own cost for the driver (shared/reference and ray_scaling.py)."""
WORKING = "She had 48/2 = 24 clips in May, and 48+24 = 72 in April and May. "
TASK = """\
task: sums
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
doc_to_text: "Question: {{{{question}}}}\\nAnswer:"
doc_to_target: "#### {{{{answer}}}}"
"""


@dataclass(frozen=True, slots=True)
class Costs:
    """Microseconds of the driver's processor."""

    dispatch: float
    """A sample through the queue: cutting, giving, taking, yielding."""
    parcels: float
    """Packing a request and unpacking its sample."""
    journal: float
    """A line of 1 KB."""
    verdict: float
    """The progress line's verdict, given as often as its share of the time allows."""

    @property
    def sample(self) -> float:
        """What every sample costs."""
        return (self.dispatch + self.parcels + self.journal) / (1 - JUDGING_SHARE)


def each(samples: int, work: Callable[[], object]) -> float:
    """Microseconds of the processor a sample, the best of three."""

    def once() -> float:
        began = time.process_time()
        work()
        return (time.process_time() - began) / samples * 1e6

    return min(once() for _ in range(3))


def measured(samples: int = 20_000) -> Costs:
    """The driver's costs on this machine."""
    model = create("scripted", {}, Setup())
    asked = list(islice(requests(), samples))
    done = [
        owed(
            request,
            text=WORKING * 14 + f"#### {number}",
            completion_tokens=250,
            prompt_tokens=800,
            seconds=3.1,
        )
        for number, request in enumerate(asked)
    ]
    with tempfile.TemporaryDirectory() as folder:
        verdict = judge({"gsm8k": sums(Path(folder))})
        with closing(AppendFile(Path(folder) / "journal")) as file:
            return Costs(
                dispatch=each(
                    samples,
                    lambda: list(
                        Fleet(model, Echo(identity=dict(model.identity())), 8, UNIT).generate(asked)
                    ),
                ),
                parcels=each(samples, lambda: (pack_requests(asked), unpack_samples(pack_samples(done)))),
                journal=each(samples, lambda: journaled(file, asked, done)),
                verdict=each(
                    samples, lambda: [verdict(r.question, g) for r, g in zip(asked, done, strict=True)]
                ),
            )


def sums(folder: Path) -> ScoringRules:
    """Rules like GSM8K's."""
    (folder / "data").write_text('{"question": "1 + 1?", "answer": "2"}\n', encoding="utf-8")
    (folder / "sums.yaml").write_text(TASK.format(data=folder / "data"), encoding="utf-8")
    return load([str(folder / "sums.yaml")])[0].rules


def journaled(file: AppendFile, asked: list[Request], done: list[Generation]) -> None:
    """Write the samples, and each question once."""
    before = None
    for request, sample in zip(asked, done, strict=True):
        if request.question is not before:
            before = request.question
            file.append(question_to(before))
        file.append(to_line(sample))


@dataclass(slots=True)
class Worker:
    """A worker's state."""

    pace: float
    """Seconds a token."""
    waiting: int = 0
    busy: int = 0
    done: int = 0
    speed: float = 0.0
    appetite: int = UNIT
    away: bool = False
    """Whether its exchange is with the driver."""
    last: float = 0.0
    life: int = 0
    started: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Outcome:
    """What a simulated run came to."""

    workers: int
    seconds: float
    ideal_seconds: float
    worker_busy: float
    """Share of all slots' time that was spent on samples, until the queue was empty."""
    driver_busy: float
    """Share of the driver's time, until the queue was empty."""
    driver_wait_ms: float
    """Median time that an exchange waited for the driver."""
    samples_per_second: float
    journal_mb_per_second: float
    generated_again: int
    tail_seconds: float
    """From the empty queue to the last sample."""


class Simulation:
    """One run: a heap of events, a driver that serves one exchange after the other."""

    def __init__(
        self, workers: int, samples: int, long: float, deaths: float, costs: Costs, seed: int
    ) -> None:
        self.chance = random.Random(seed)
        self.samples, self.left, self.finished = samples, samples, 0
        self.long, self.deaths, self.costs = long, deaths, costs
        self.flush = max(FLUSH_SECONDS, workers / EXCHANGES)
        self.fleet = [Worker(self.pace()) for _ in range(workers)]
        self.events: list[tuple[float, int, str, int, int]] = []
        self.count = 0
        self.driver_free = self.driver_work = self.needed = self.emptied = 0.0
        self.busy = 0
        """Slots that answer something now."""
        self.busy_area = self.counted = 0.0
        self.taken = 0
        """Samples that had been delivered when the queue became empty."""
        self.waits: list[float] = []
        self.again = 0

    def pace(self) -> float:
        slow = SLOW if self.chance.random() < SLOW_SHARE else 1.0
        return TOKEN_SECONDS * slow * self.chance.lognormvariate(0.0, SPREAD)

    def at(self, when: float, what: str, worker: int) -> None:
        self.count += 1
        heapq.heappush(self.events, (when, self.count, what, worker, self.fleet[worker].life))

    def run(self) -> Outcome:
        for number in range(len(self.fleet)):
            self.at(self.chance.uniform(0.0, 1.0), "exchange", number)
            if self.deaths:
                self.at(self.chance.expovariate(self.deaths), "death", number)
        now = 0.0
        while self.finished < self.samples:
            now, _, what, number, life = heapq.heappop(self.events)
            if not self.emptied:
                self.busy_area, self.counted = self.busy_area + self.busy * (now - self.counted), now
            if life == self.fleet[number].life:
                getattr(self, what)(now, number)
        slots = len(self.fleet) * SLOTS
        until = self.emptied or now
        return Outcome(
            workers=len(self.fleet),
            seconds=now,
            ideal_seconds=self.needed / slots,
            worker_busy=self.busy_area / (slots * until),
            driver_busy=self.driver_work / until,
            driver_wait_ms=statistics.median(self.waits) * 1000,
            samples_per_second=self.taken / until,
            journal_mb_per_second=self.taken * LINE_MB / until,
            generated_again=self.again,
            tail_seconds=now - until,
        )

    def start(self, now: float, number: int) -> None:
        """Fill the worker's slots from what waits there."""
        worker = self.fleet[number]
        while worker.waiting and worker.busy < SLOTS:
            worker.waiting -= 1
            worker.busy += 1
            self.busy += 1
            tokens = min(MOST, self.chance.lognormvariate(0.0, SIGMA)) * TOKENS * self.long
            self.needed += tokens * worker.pace
            self.at(now + tokens * worker.pace, "sample", number)

    def sample(self, now: float, number: int) -> None:
        worker = self.fleet[number]
        worker.busy -= 1
        self.busy -= 1
        worker.done += 1
        self.start(now, number)
        if not worker.away and (worker.waiting < self.low(worker) or now - worker.last >= self.flush):
            self.exchange(now, number)

    def wanted(self, worker: Worker) -> int:
        return max(worker.appetite, round(worker.speed * max(AHEAD_SECONDS, ROUNDS_AHEAD * self.flush)))

    def low(self, worker: Worker) -> int:
        return self.wanted(worker) // 2 if self.left else 0

    def exchange(self, now: float, number: int) -> None:
        """The worker reports; the driver takes it when it is free, and then answers."""
        worker = self.fleet[number]
        if worker.done == 0 and worker.waiting >= self.wanted(worker):
            return
        worker.away = True
        arrives = now + NETWORK_SECONDS
        begins = max(arrives, self.driver_free)
        work = (EXCHANGE_US + worker.done * self.costs.sample) * 1e-6
        self.waits.append(begins - arrives)
        self.driver_free = begins + work
        if not self.emptied:
            self.driver_work += work
        self.at(self.driver_free + NETWORK_SECONDS, "answer", number)

    def answer(self, now: float, number: int) -> None:
        """New requests come in; what was delivered is finished."""
        worker = self.fleet[number]
        worker.speed = (worker.speed + worker.done / max(now - worker.last, 1e-3)) / 2
        self.finished += worker.done
        if not self.emptied:
            self.taken += worker.done
        hungry = not worker.done and not worker.waiting
        worker.appetite = min(2 * worker.appetite, MOST_AT_ONCE) if hungry else UNIT
        worker.done, worker.away, worker.last = 0, False, now
        given = min(self.left, max(0, self.wanted(worker) - worker.waiting))
        self.left -= given
        if not self.left and not self.emptied:
            self.emptied = now
        worker.waiting += given
        self.start(now, number)
        if self.left and worker.waiting < self.low(worker):
            self.exchange(now, number)
        else:
            self.at(now + self.flush, "flush_due", number)

    def flush_due(self, now: float, number: int) -> None:
        worker = self.fleet[number]
        if worker.done and not worker.away:
            self.exchange(now, number)

    def death(self, now: float, number: int) -> None:
        """All that the worker had is owed again; another one loads."""
        worker = self.fleet[number]
        lost = worker.waiting + worker.busy + worker.done
        self.busy -= worker.busy
        self.left += lost
        self.again += worker.busy + worker.done
        self.fleet[number] = Worker(self.pace(), life=worker.life + 1, last=now + LOAD_SECONDS)
        self.at(now + LOAD_SECONDS, "exchange", number)
        self.at(now + LOAD_SECONDS + self.chance.expovariate(self.deaths), "death", number)


def simulated(counts: list[int], costs: Costs, seed: int) -> Iterator[tuple[str, Outcome]]:
    """Runs of six rounds of all slots: short answers, long ones, and long ones on machines that go away."""
    for name, long, deaths in (
        ("short", 1.0, 0.0),
        ("long", 40.0, 0.0),
        ("long, a worker lost every 2 h", 40.0, 1 / 7200),
    ):
        for count in counts:
            samples = count * SLOTS * 6
            yield name, Simulation(count, samples, long, deaths, costs, seed).run()


def figure(row: tuple[str, Outcome]) -> Figure:
    """A simulated run for the table of all benchmarks."""
    what, run = row
    busy = f"simulated; slots {run.worker_busy:.0%} busy, driver {run.driver_busy:.0%}"
    return Figure(f"{run.workers:,} workers, {what}", run.samples_per_second, "samples/s", note=busy)


def main() -> None:
    """Measure, simulate, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--workers", default="64,1000,2000")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--costs", help="dispatch, parcels, journal, verdict, instead of measuring them")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    costs = Costs(*map(float, options.costs.split(","))) if options.costs else measured()
    rows = list(simulated([int(count) for count in options.workers.split(",")], costs, options.seed))
    record(at_most("driver's processor, a sample", costs.sample, "µs", MOST_US), *map(figure, rows))
    if options.json:
        json.dump({"costs": asdict(costs), "runs": [{"what": w, **asdict(o)} for w, o in rows]}, sys.stdout)
        return
    print("driver, µs a sample: " + ", ".join(f"{name} {value:.1f}" for name, value in asdict(costs).items()))
    print(f"so it takes at most {1e6 / costs.sample:,.0f} samples/s, less {EXCHANGE_US:.0f} µs an exchange")
    print(
        f"{'':32}{'workers':>8}{'samples/s':>11}{'slots busy':>11}{'driver':>8}{'wait ms':>9}{'MB/s':>7}"
        f"{'again':>7}{'tail s':>8}{'s':>8}{'ideal':>8}"
    )
    for what, run in rows:
        print(
            f"{what:32}{run.workers:>8}{run.samples_per_second:>11,.0f}{run.worker_busy:>11.1%}{run.driver_busy:>8.1%}"
            f"{run.driver_wait_ms:>9.1f}{run.journal_mb_per_second:>7.2f}{run.generated_again:>7}"
            f"{run.tail_seconds:>8.1f}{run.seconds:>8.1f}{run.ideal_seconds:>8.1f}"
        )


if __name__ == "__main__":
    main()
