"""What `resit plan` predicts from: some of a run's samples, fresh or on file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from resit.errors import UsageError
from resit.models import Setup, create, parse_model_args
from resit.models.account import read_price
from resit.prompts.asking import limited
from resit.records import Generation
from resit.reports.forecast import FleetSize, Forecast, Prices, forecast, forecast_lines
from resit.runs.calibration import calibrate
from resit.runs.folder import RunFolder
from resit.runs.plan import Settings, make_plan
from resit.tasks import Task


@dataclass(frozen=True, slots=True)
class Measured:
    """Samples by task, the run that they stand for, and how they were made."""

    model: str
    samples: Mapping[str, Sequence[Generation]]
    sizes: Mapping[str, tuple[int, int]]
    """By task: questions and repeats."""
    in_flight: float | None
    load_seconds: float = 0.0


def measure(
    kind: str,
    args: str,
    tasks: Sequence[Task],
    settings: Settings,
    concurrency: int | None,
    count: int,
) -> Measured:
    """Ask `count` questions of the real model. Raises ResitError."""
    if not kind or not tasks:
        raise UsageError(
            "a plan needs --model and --tasks, or --from RUN",
            "for example: resit plan --model llamacpp --model-args pretrained=smollm2-135m --tasks gsm8k",
        )
    setup = Setup(concurrency, _say, debug=bool(os.environ.get("RESIT_DEBUG")))
    with create(kind, parse_model_args(args), setup) as model:
        plan = make_plan(model.identity(), list(tasks), settings)
        found = calibrate(plan, model, count)
        name = model.name
    samples: dict[str, list[Generation]] = {task.task.name: [] for task in plan.tasks}
    for sample in found.samples:
        samples[sample.task].append(sample)
    sizes = {task.task.name: (task.asked, task.repeats) for task in plan.tasks}
    return Measured(name, samples, sizes, found.in_flight, found.load_seconds)


def measured_run(path: Path, names: list[str], settings: Settings, concurrency: int | None) -> Measured:
    """The samples of a run on file; its whole tasks, unless --limit or --repeats say otherwise."""
    folder = RunFolder.existing(path)
    record = folder.record() or {}
    wanted = names or folder.tasks()
    unknown = next((name for name in wanted if name not in record["plan"]), None)
    if unknown is not None:
        raise UsageError(f"{path} has no task {unknown!r}", f"it holds {', '.join(record['plan'])}")
    sizes = {name: _size(record["plan"][name], settings) for name in wanted}
    return Measured(
        model=record.get("model", {}).get("name", ""),
        samples={name: list(_samples(folder, name)) for name in wanted},
        sizes=sizes,
        in_flight=concurrency,
    )


def _size(planned: Mapping[str, int], settings: Settings) -> tuple[int, int]:
    documents = range(planned.get("documents", planned["questions"]))
    return len(limited(documents, settings.limit)), settings.repeats or planned["repeats"]


def _samples(folder: RunFolder, task: str) -> Iterator[Generation]:
    """One sample, the first, of each question."""
    index = folder.index()
    with index.reader() as reader:
        for question in folder.questions(task):
            yield from reader.samples(index.offsets(task, question.document.doc_hash)[:1])


def show_forecast(
    measured: Measured, workers: int, prices: Path | None, worker_hour: float | None, as_json: bool
) -> None:
    """Print what the run will take. Raises UsageError where nothing can be predicted."""
    price = None if prices is None else read_price(prices, measured.model)
    paid = Prices(worker_hour=worker_hour)
    if price is not None:
        paid = Prices(price.prompt, price.cached, price.completion, worker_hour)
    fleet = FleetSize(workers, measured.in_flight, measured.load_seconds)
    try:
        found = forecast(measured.samples, measured.sizes, fleet, paid)
    except ValueError as error:
        raise UsageError(f"nothing can be predicted: {error}", _errors(measured)) from None
    if as_json:
        typer.echo(json.dumps({"model": measured.model, **found.as_dict()}))
        return
    for line in [*forecast_lines(found), *_doubts(measured, found)]:
        typer.echo(line)


def _doubts(measured: Measured, found: Forecast) -> Iterator[str]:
    """What the reader should know of the prediction."""
    if measured.in_flight and found.calibrated_on < 2 * measured.in_flight:
        yield (
            f"{found.calibrated_on} samples hardly fill the {measured.in_flight:.0f} in flight: a larger "
            "--calibrate measures the speed of a full worker"
        )
    errored = sum(sample.error is not None for samples in measured.samples.values() for sample in samples)
    if errored:
        yield f"{errored} samples errored and are not counted"


def _errors(measured: Measured) -> str:
    errors = (sample.error for samples in measured.samples.values() for sample in samples)
    return next((f"the first error was: {error}" for error in errors if error), "ask more questions")


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
