"""Does throughput grow with the workers, and what does a sample cost the driver?

    python benchmarks/ray_scaling.py [--workers 1,2,4,8] [--seconds 6] [--queue 1000000] [--json]

Workers wait 20 ms a request with 64 in flight, as a server's client does, so they need next to no processor
of the machine that all of them share here. Efficiency is the throughput over that of one worker times the
workers, and says something only where the machine was idle for a part of the time. The driver's cost is the
processor time of its whole process, Ray's threads included, a sample, from the first sample of the last
worker on. Then a million samples go through the queue, in this process and without Ray, and the driver's
memory is looked at after each tenth.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from _figures import Figure, at_most, more, record

from resit.models import Setup, create
from resit.models.protocol import owed
from resit.records import Document, Generation, Question, Request, Sampling
from resit.runs.fleet import Delivered, Event, Fleet, Placed, Started
from resit.runs.ray_executor import Cluster, RayCrew, Recipe, recipe_of
from resit.runs.station import Delivery, Order

DELAY, IN_FLIGHT, REPEATS = 0.02, 64, 8
LEAST_EFFICIENCY, MOST_US = 0.9, 50.0
"""Wanted: of linear growth to all workers; of the driver's processor a sample."""
PROMPT = "p" * 2500
"""A five-shot prompt of GSM8K has about so many characters."""


def requests() -> Iterator[Request]:
    """Samples of one task without end."""
    sampling, doc = Sampling(), 0
    while True:
        document = Document(doc, f"{doc:064x}", {"question": "q" * 240, "answer": "a" * 290})
        question = Question("gsm8k", document, PROMPT, "18")
        for repeat in range(REPEATS):
            yield Request(question, repeat, sampling, doc)
        doc += 1


class CountingCrew(RayCrew):
    """Ray's workers; `shares` is how many samples each has delivered."""

    def __init__(self, recipe: Recipe, cluster: Cluster) -> None:
        super().__init__(recipe, cluster)
        self.shares = [0] * cluster.workers

    def wait(self, seconds: float) -> list[Event]:
        """What has happened, its samples counted."""
        events = super().wait(seconds)
        for event in events:
            if isinstance(event, Delivered):
                self.shares[event.worker] += len(event.delivery.generations)
        return events


def throughput(workers: int, seconds: float) -> dict[str, Any]:
    """Samples a second and microseconds of the driver's processor a sample, once every worker is at work."""
    args = {"delay": str(DELAY)}
    setup = Setup(IN_FLIGHT)
    cluster = Cluster("local", workers, {"cpu": (os.cpu_count() or 1) / workers / 2})
    crew = CountingCrew(recipe_of("scripted", args, setup), cluster)
    with Fleet(create("scripted", args, setup), crew, workers, IN_FLIGHT) as fleet:
        stream = fleet.generate(requests())
        while not all(crew.shares):
            next(stream)
        warm = time.monotonic() + 2.0
        while time.monotonic() < warm:
            next(stream)
        samples, began, busy, spare = 0, time.monotonic(), time.process_time(), idle_seconds()
        while (passed := time.monotonic() - began) < seconds:
            next(stream)
            samples += 1
        busy, spare = time.process_time() - busy, idle_seconds() - spare
        shares = list(crew.shares)
    return {
        "workers": workers,
        "samples": samples,
        "shares": shares,
        "per_second": samples / passed,
        "driver_us": busy / samples * 1e6,
        "spare": spare / passed / (os.cpu_count() or 1),
    }


def idle_seconds() -> float:
    """Seconds that this machine's processors have had nothing to do, summed over them."""
    with open("/proc/stat", encoding="utf-8") as file:
        return int(file.readline().split()[4]) / os.sysconf("SC_CLK_TCK")


@dataclass
class Echo:
    """A crew whose workers answer everything at once, in this process."""

    events: list[Event] = field(default_factory=list)
    identity: dict[str, object] = field(default_factory=dict)

    def hire(self, worker: int) -> None:
        self.events += [Placed(worker, "here"), Started(worker, 0.0, self.identity)]

    def send(self, worker: int, order: Order) -> None:
        done = [owed(request, text="#### 18") for request in order.requests]
        self.events.append(Delivered(worker, Delivery(done)))

    def release(self, worker: int) -> None:
        pass

    def wait(self, seconds: float) -> Sequence[Event]:
        events, self.events = self.events, []
        return events

    def shortage(self) -> str:
        return ""

    def dismiss(self, gently: bool = True) -> None:
        self.events = []


def through_the_queue(samples: int) -> dict[str, Any]:
    """Microseconds a sample, and megabytes resident after each tenth of them."""
    model = create("scripted", {}, Setup())
    fleet = Fleet(model, Echo(identity=dict(model.identity())), 8, IN_FLIGHT)
    memory: list[float] = []
    began, looking = time.process_time(), 0.0
    for number, _ in enumerate(limited(samples, fleet.generate(requests())), 1):
        if number % (samples // 10) == 0:
            looked = time.process_time()
            gc.collect()  # garbage that waits for the collector comes and goes by tens of megabytes
            memory.append(resident_megabytes())
            looking += time.process_time() - looked
    return {
        "samples": samples,
        "us": (time.process_time() - began - looking) / samples * 1e6,
        "megabytes": [round(size, 1) for size in memory],
    }


def limited(count: int, stream: Iterator[Generation]) -> Iterator[Generation]:
    """The first `count` of a stream."""
    for _ in range(count):
        yield next(stream)


def resident_megabytes() -> float:
    """What this process has in memory."""
    with open("/proc/self/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def figures(rows: Sequence[dict[str, Any]], queue: dict[str, Any]) -> Iterator[Figure]:
    """What the table of all benchmarks shows."""
    for row in rows[1:]:
        linear = rows[0]["per_second"] / rows[0]["workers"] * row["workers"]
        least = LEAST_EFFICIENCY if row is rows[-1] else None
        spare = f"machine idle for {row['spare']:.0%}"
        yield more(
            f"{row['workers']} workers", row["per_second"], "samples/s", "linear growth", linear, least, spare
        )
    if rows:
        yield at_most("driver's processor, a sample", max(row["driver_us"] for row in rows), "µs", MOST_US)
    count, memory = f"{queue['samples']:,} samples", queue["megabytes"]
    yield at_most(f"queue alone, a sample of {count}", queue["us"], "µs", MOST_US)
    yield Figure(
        f"queue alone, memory grown over {count}", memory[-1] - memory[0], "MB", note=f"from {memory[0]} MB"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--workers", default="1,2,4,8")
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--queue", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [throughput(int(count), options.seconds) for count in options.workers.split(",") if count]
    for row in rows:
        row["efficiency"] = row["per_second"] / row["workers"] / (rows[0]["per_second"] / rows[0]["workers"])
    queue = through_the_queue(options.queue)
    record(*figures(rows, queue))
    if options.json:
        json.dump({"scaling": rows, "queue": queue, "load": os.getloadavg()}, sys.stdout)
        return
    print(f"{DELAY * 1000:.0f} ms a request, {IN_FLIGHT} in flight; load {os.getloadavg()[0]:.1f}")
    print(f"{'workers':>8}{'samples/s':>12}{'efficiency':>12}{'driver µs/sample':>18}{'machine idle':>14}")
    for row in rows:
        print(
            f"{row['workers']:>8.0f}{row['per_second']:>12.0f}{row['efficiency']:>12.2f}"
            f"{row['driver_us']:>18.1f}{row['spare']:>14.0%}"
        )
    print(f"queue alone: {queue['samples']:,} samples, {queue['us']:.1f} µs each; MB: {queue['megabytes']}")


if __name__ == "__main__":
    main()
