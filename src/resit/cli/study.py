"""`resit run config.yaml`: models x tasks, one run after the other, and one table."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import typer

from resit import jsonl
from resit.cli.launch import Job, exit_status, perform
from resit.cli.options import cluster as cluster_option
from resit.cli.scoring import console_of_output, judge
from resit.errors import DONE, INTERRUPTED, UNEXPECTED, ResitError, UsageError
from resit.models import (
    Closing,
    Encoding,
    InterruptibleModel,
    Model,
    Setup,
    all_kinds,
    create,
    parse_model_args,
)
from resit.prompts import chat_options
from resit.records import Generation, Prompt, Request
from resit.reports.study_table import study_notes, study_table
from resit.runs.execute import Outcome
from resit.runs.plan import Settings
from resit.runs.progress import ConsoleObserver
from resit.runs.ray_executor import Cluster, ray_fleet, recipe_of
from resit.runs.secrets import Secrets
from resit.runs.study import Cell, ModelEntry, RunSettings, cells, read_study
from resit.stats import wilson_interval
from resit.tasks import Selection

SUMMARY = "study.json"


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one run of the study; a row of its table, an entry of `study.json`."""

    model: str
    task: str
    folder: str
    exit_status: int
    message: str = ""
    """What went wrong; empty for a run that is done."""
    headline: str = ""
    score: float | None = None
    standard_error: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    questions: int | None = None
    warnings: int = 0


def run_study(path: Path, output_path: Path | None, as_json: bool) -> None:
    """Carry out every run of a study; leave with the worst of their exit statuses.

    Raises UsageError, before anything is generated, for a file that cannot be meant as it stands.
    """
    study = read_study(path)
    planned = cells(path, study)
    _check(path, planned)
    secrets = Secrets()
    arguments = {
        m.name: secrets.expanded(_arguments(m), f"{path}: {m.name}: model_args") for m in study.models
    }
    parent = output_path or Path(study.output_path or Path("runs") / path.stem)
    rows = list(_rows(planned, arguments, secrets, parent))
    worst = max(row.exit_status for row in rows)
    summary = {"study": path.name, "exit_status": worst, "runs": [asdict(row) for row in rows]}
    text = json.dumps(summary, ensure_ascii=False, indent=2) + "\n"
    jsonl.make_folder(parent)  # no run may have come to that
    jsonl.write_atomic(parent / SUMMARY, text.encode("utf-8", "backslashreplace"))
    _show(summary, parent, as_json)
    if worst != DONE:
        raise typer.Exit(worst)


def _check(path: Path, planned: Iterable[Cell]) -> None:
    """Raise UsageError for what the file alone shows to be impossible."""
    for cell in planned:
        if cell.model.model not in all_kinds():
            raise UsageError(
                f"{path}: {cell.model.name}: there is no model kind {cell.model.model!r}",
                f"the kinds are {', '.join(all_kinds())}",
            )
        _settings(cell.settings)
        _cluster(cell.settings)


def _arguments(model: ModelEntry) -> dict[str, Any]:
    return parse_model_args(model.model_args) if isinstance(model.model_args, str) else model.model_args


def _rows(
    planned: Iterable[Cell], arguments: Mapping[str, dict[str, Any]], secrets: Secrets, parent: Path
) -> Iterator[Row]:
    """A row for each run; after an interrupt the remaining ones are not started."""
    desk = _ModelDesk(arguments, secrets)
    interrupted = False
    with desk:
        for cell in planned:
            if interrupted:
                yield _row(cell, INTERRUPTED, "not started")
                continue
            sys.stderr.write(f"{cell.model.name}, {cell.task_name}:\n")
            row = _carried_out(cell, desk, secrets, parent / cell.folder)
            interrupted = row.exit_status == INTERRUPTED
            yield row


def _carried_out(cell: Cell, desk: _ModelDesk, secrets: Secrets, folder: Path) -> Row:
    """The row of one run, whatever happens in it."""
    try:
        job = _job(cell, desk, secrets, folder)
        outcome, results = perform(job)
        return _scored(cell, outcome, results)
    except KeyboardInterrupt:
        return _row(cell, INTERRUPTED, "stopped at once")
    except ResitError as error:
        status, message = error.exit_status, str(error)
    except Exception as error:  # one run's fault never stops the others
        status, message = UNEXPECTED, f"unexpected {type(error).__name__}: {error}"
    desk.close()  # whatever state the model is in, the next run gets a new one
    message = secrets.hidden_in_text(message)
    sys.stderr.write(f"error: {message}\n")
    return _row(cell, status, message)


def _row(cell: Cell, status: int, message: str) -> Row:
    return Row(cell.model.name, cell.task_name, str(cell.folder), status, message)


def _scored(cell: Cell, outcome: Outcome, results: Mapping[str, Any]) -> Row:
    status, message = exit_status(outcome, cell.settings.max_error_share)
    row = _row(cell, status, message)
    summary = results["resit"]["tasks"].get(cell.task.name)
    if summary is None:
        return row
    scores, headline = results["results"][cell.task.name], summary["headline"]
    metric, _, filter_name = headline.partition(",")
    rule = summary["rules"].get(filter_name, {})
    score, error = scores.get(headline), scores.get(f"{metric}_stderr,{filter_name}")
    if headline not in scores and metric == "exact_match":  # a rule that stands beside the task's own
        score, error = rule.get("score"), rule.get("standard_error")
    plain = rule.get("score") == score
    return replace(
        row,
        headline=headline,
        score=score,
        standard_error=error if isinstance(error, float) else None,
        ci_low=rule.get("ci_low") if plain else None,
        ci_high=rule.get("ci_high") if plain else None,
        questions=summary["questions"]["scored"],
        warnings=len(summary["warnings"]),
    )


def _job(cell: Cell, desk: _ModelDesk, secrets: Secrets, folder: Path) -> Job:
    observer = ConsoleObserver(judge({cell.task.name: cell.task.rules}), wilson_interval)
    model = desk.model(
        cell, Setup(_concurrency(cell.settings), observer.note, bool(os.environ.get("RESIT_DEBUG")))
    )
    shown = secrets.hidden(desk.arguments[cell.model.name])
    return Job(
        model,
        cell.model.model,
        shown,
        Selection((cell.task,), ()),
        _settings(cell.settings),
        folder,
        observer,
    )


def _cluster(settings: RunSettings) -> Cluster | None:
    return cluster_option(settings.executor, settings.address or "", settings.workers, settings.resources)


def _concurrency(settings: RunSettings) -> int | None:
    return None if settings.batch_size == "auto" else settings.batch_size


def _settings(settings: RunSettings) -> Settings:
    limit = settings.limit
    return Settings(
        seed=settings.seed,
        fewshot_seed=settings.seed if settings.fewshot_seed is None else settings.fewshot_seed,
        num_fewshot=settings.num_fewshot,
        gen_kwargs=settings.gen_kwargs,
        chat=chat_options(settings.apply_chat_template, settings.fewshot_as_multiturn),
        system_instruction=settings.system_instruction,
        limit=int(limit) if limit is not None and limit >= 1 and limit.is_integer() else limit,
        repeats=settings.repeats,
        calculator=settings.calculator,
    )


class _ModelDesk(Closing):
    """Keeps one model open for as long as the runs that follow one another use it."""

    def __init__(self, arguments: Mapping[str, dict[str, Any]], secrets: Secrets) -> None:
        self.arguments = arguments
        self._secrets = secrets
        self._open: tuple[tuple[Any, ...], DiscreetModel] | None = None

    def model(self, cell: Cell, setup: Setup) -> Model:
        """The cell's model, the one that is open if it is the same."""
        cluster = _cluster(cell.settings)
        key = (cell.model.name, setup.concurrency, cluster)
        if self._open is None or self._open[0] != key:
            self.close()
            model = create(cell.model.model, self.arguments[cell.model.name], setup)
            if cluster is not None:
                recipe = recipe_of(cell.model.model, _arguments(cell.model), setup, expand=True)
                model = ray_fleet(model, recipe, cluster, setup)
            self._open = (key, DiscreetModel(model, self._secrets))
        return self._open[1]

    def close(self) -> None:
        """Close what is open."""
        if self._open is not None:
            model, self._open = self._open[1], None
            model.close_for_good()


class DiscreetModel(Closing):
    """A model that tells no secret, and that stays open when a run is done with it."""

    def __init__(self, model: Model, secrets: Secrets) -> None:
        self._model = model
        self._secrets = secrets

    @property
    def name(self) -> str:
        """The model's name."""
        return self._secrets.hidden_in_text(self._model.name)

    @property
    def calculates(self) -> bool:
        """Whether the model itself puts the calculator's results in."""
        return bool(getattr(self._model, "calculates", False))

    @property
    def continues(self) -> bool:
        """Whether its texts come with all of the calculator's results, as a fleet's do."""
        return bool(getattr(self._model, "continues", False))

    def identity(self) -> dict[str, Any]:
        """The model's identity, secrets by their names and a few digits that tell one value from another."""
        return dict(self._secrets.marked(self._model.identity()))

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
        """The model's generations; a key that a server repeats in an error or text stays off the file."""
        for generation in self._model.generate(requests):
            error = generation.error
            yield replace(
                generation,
                text=self._secrets.hidden_in_text(generation.text),
                error=None if error is None else self._secrets.hidden_in_text(error),
            )

    def interrupt(self) -> None:
        """Tell the model, if it can be told."""
        if isinstance(self._model, InterruptibleModel):
            self._model.interrupt()

    def encode(self, prompt: Prompt) -> Encoding:
        """As the model encodes it."""
        return self._model.encode(prompt)

    def close(self) -> None:
        """Nothing yet: the next run may want the model."""

    def close_for_good(self) -> None:
        """Close the model."""
        self._model.close()


def _show(summary: Mapping[str, Any], parent: Path, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(summary, ensure_ascii=True))
        return
    console = console_of_output()
    console.print(study_table(summary))
    for line in [*study_notes(summary), f"study: {parent}"]:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
