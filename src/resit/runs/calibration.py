"""A few questions of a run through its real model, to know what all of them will take."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from resit.models import LoadableModel, Model
from resit.models.calculating import generations
from resit.prompts import questions
from resit.records import Generation, Request
from resit.runs.identity import sample_seed
from resit.runs.plan import Plan, TaskPlan


@dataclass(frozen=True, slots=True)
class Calibration:
    """What some samples took."""

    samples: tuple[Generation, ...]
    load_seconds: float
    in_flight: float | None
    """Samples that the model answered at a time, on average; None where it does not tell their seconds."""


def calibrate(
    plan: Plan, model: Model, count: int, clock: Callable[[], float] = time.monotonic
) -> Calibration:
    """One sample each of about `count` questions (at least two a task), drawn at random by the run's seed.

    Raises what the model raises. The samples are kept nowhere.
    """
    requests = list(_requests(plan, count))  # before the clock runs: questions between them are rendered too
    began = clock()
    if isinstance(model, LoadableModel):
        model.load()
    loaded = clock()
    finished: list[tuple[Generation, float]] = []
    for generation in generations(model, requests):
        finished.append((generation, clock()))
    return Calibration(tuple(generation for generation, _ in finished), loaded - began, _in_flight(finished))


def _requests(plan: Plan, count: int) -> Iterator[Request]:
    whole = sum(task.asked for task in plan.tasks) or 1
    for task in plan.tasks:
        share = max(2, round(count * task.asked / whole))
        chance = random.Random(f"{plan.settings.seed}/{task.task.name}")
        chosen = set(chance.sample(range(task.planned), min(share, task.planned)))
        yield from _of_task(plan, task, chosen)


def _of_task(plan: Plan, task: TaskPlan, positions: set[int]) -> Iterator[Request]:
    settings = plan.settings
    asked = questions(
        task.task,
        seed=settings.fewshot_seed,
        chat=settings.chat,
        system_instruction=settings.system_instruction,
        limit=max(positions, default=-1) + 1,
    )
    for position, question in enumerate(asked):
        if position in positions:
            seed = sample_seed(settings.seed, question.document.doc_hash, 0)
            yield Request(question, 0, task.sampling, seed)


def _in_flight(finished: Sequence[tuple[Generation, float]]) -> float | None:
    """Mean number of samples being answered, from the first one's start until the last one's.

    After that a model only empties, which says nothing of a long run. Where all started together, as many as
    there were: more could not be seen.
    """
    spans = [(end - generation.seconds, end) for generation, end in finished if generation.seconds]
    if len(spans) < len(finished) or not spans:
        return None
    first, last = min(start for start, _ in spans), max(start for start, _ in spans)
    steps = sorted([(start, 1) for start, _ in spans] + [(end, -1) for _, end in spans])
    most = max(accumulate(step for _, step in steps))
    busy = sum(min(end, last) - start for start, end in spans)
    return (
        busy / (last - first) if last - first > 0.5 * (max(end for _, end in spans) - first) else float(most)
    )
