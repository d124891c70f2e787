"""What a run will take: tokens, time and money, predicted from some of its samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from resit.records import Generation
from resit.stats import predicted_total

PER = 1_000_000
"""Prices are for so many tokens."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Money for a million tokens, and for an hour of one worker."""

    prompt: float | None = None
    cached: float | None = None
    completion: float | None = None
    worker_hour: float | None = None


@dataclass(frozen=True, slots=True)
class FleetSize:
    """What will do the work."""

    workers: int = 1
    in_flight: float | None = None
    """Samples that a worker answers at a time; None: unknown, so no time can be predicted."""
    load_seconds: float = 0.0
    """What a worker needs before its first sample."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A prediction with its 95 % interval; the limits are None where there are too few samples for one."""

    estimate: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run will take; a quantity that cannot be told is None."""

    questions: int
    samples: int
    calibrated_on: int
    """Samples that the prediction is made from."""
    workers: int
    prompt_tokens: Quantity | None = None
    cached_tokens: Quantity | None = None
    completion_tokens: Quantity | None = None
    worker_seconds: Quantity | None = None
    """Work, as one worker would do it, without loading."""
    seconds: Quantity | None = None
    """From the first worker's start to the last sample."""
    token_cost: Quantity | None = None
    worker_cost: Quantity | None = None

    def as_dict(self) -> dict[str, Any]:
        """What is known, for `--json`."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def forecast(
    samples: Mapping[str, Sequence[Generation]],
    sizes: Mapping[str, tuple[int, int]],
    fleet: FleetSize,
    prices: Prices,
) -> Forecast:
    """The forecast of a run of tasks with (questions, repeats) from samples of each, errored ones left out.

    Units are questions: a question's repeats are as long as the one that was looked at. Work is the sum of
    the samples' seconds over the samples in flight; the time of the fleet lies between work / workers and
    that plus the longest sample (Graham 1969, SIAM J. Appl. Math. 17:416-429: nobody idles while work waits).
    ValueError for a task of which no sample was measured.
    """
    good = {task: [s for s in samples.get(task, ()) if s.error is None] for task in sizes}
    bare = next((task for task, found in good.items() if not found), None)
    if bare is not None:
        raise ValueError(f"no sample of {bare} was measured")

    def total(value: Callable[[Generation], float | None]) -> Quantity | None:
        return _total(good, sizes, value)

    work = total(lambda sample: sample.seconds) if fleet.in_flight else None
    worker_seconds = work and _scaled(work, 1 / (fleet.in_flight or 1))
    seconds = worker_seconds and _fleet_time(worker_seconds, good, sizes, fleet)
    hours = prices.worker_hour
    return Forecast(
        questions=sum(questions for questions, _ in sizes.values()),
        samples=sum(questions * repeats for questions, repeats in sizes.values()),
        calibrated_on=sum(map(len, good.values())),
        workers=fleet.workers,
        prompt_tokens=total(lambda sample: sample.prompt_tokens),
        cached_tokens=total(lambda sample: sample.cached_tokens),
        completion_tokens=total(lambda sample: sample.completion_tokens),
        worker_seconds=worker_seconds,
        seconds=seconds,
        token_cost=None if prices.prompt is None else total(lambda sample: _cost(sample, prices)),
        worker_cost=None
        if hours is None or seconds is None
        else _scaled(seconds, fleet.workers * hours / 3600),
    )


def _total(
    samples: Mapping[str, Sequence[Generation]],
    sizes: Mapping[str, tuple[int, int]],
    value: Callable[[Generation], float | None],
) -> Quantity | None:
    """The sum of a value over the whole run; None where the backend does not tell it."""
    strata = []
    for task, (_, repeats) in sizes.items():
        values = [value(sample) for sample in samples[task]]
        known = [repeats * found for found in values if found is not None]
        if len(known) < len(values):
            return None
        strata.append(known)
    estimate, interval = predicted_total(strata, [questions for questions, _ in sizes.values()])
    return Quantity(estimate, *(interval or (None, None)))


def _cost(sample: Generation, prices: Prices) -> float | None:
    if sample.prompt_tokens is None or sample.completion_tokens is None:
        return None
    cached = sample.cached_tokens or 0
    read, written = prices.prompt or 0.0, prices.completion or 0.0
    kept = read if prices.cached is None else prices.cached
    return ((sample.prompt_tokens - cached) * read + cached * kept + sample.completion_tokens * written) / PER


def _fleet_time(
    work: Quantity,
    samples: Mapping[str, Sequence[Generation]],
    sizes: Mapping[str, tuple[int, int]],
    fleet: FleetSize,
) -> Quantity:
    longest = max(sample.seconds or 0.0 for found in samples.values() for sample in found)
    slots = fleet.workers * (fleet.in_flight or 1)
    owed = sum(questions * repeats for questions, repeats in sizes.values())
    share = max(1, min(slots, owed)) / (fleet.in_flight or 1)  # slots beyond the samples do nothing
    least, most = fleet.load_seconds, fleet.load_seconds + longest
    middle = work.estimate / share + (least + most) / 2
    if work.low is None or work.high is None:
        return Quantity(middle)
    return Quantity(middle, work.low / share + least, work.high / share + most)


def _scaled(quantity: Quantity, factor: float) -> Quantity:
    low, high = (None if limit is None else limit * factor for limit in (quantity.low, quantity.high))
    return Quantity(quantity.estimate * factor, low, high)


def forecast_lines(found: Forecast, currency: str = "") -> list[str]:
    """The forecast in sentences."""
    lines = [
        f"{found.samples:,} samples of {found.questions:,} questions, by {found.workers} "
        f"{'worker' if found.workers == 1 else 'workers'}; predicted from {found.calibrated_on} samples, "
        "95 % intervals",
        *_line("prompt tokens", found.prompt_tokens, _count),
        *_line("of them cached", found.cached_tokens, _count),
        *_line("completion tokens", found.completion_tokens, _count),
        *_line("work of one worker", found.worker_seconds, _duration),
        *_line("time", found.seconds, _duration),
        *_line("cost of the tokens", found.token_cost, _money),
        *_line("cost of the workers", found.worker_cost, _money),
    ]
    if found.seconds is None:
        lines.append("no time: the samples have no seconds, or the samples in flight of a worker are unknown")
    if found.completion_tokens is None:
        lines.append("no tokens: the backend does not count them")
    return lines


def _line(name: str, quantity: Quantity | None, written: Callable[[float], str]) -> list[str]:
    if quantity is None:
        return []
    limits = (
        "too few samples for an interval"
        if quantity.low is None or quantity.high is None
        else f"{written(quantity.low)} to {written(quantity.high)}"
    )
    return [f"{name:<20} {written(quantity.estimate):>12}   ({limits})"]


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _money(value: float) -> str:
    return f"{value:,.2f}" if value >= 1 else f"{value:.4g}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"
