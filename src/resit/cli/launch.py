"""One run from its options to its table: what `resit run` does for one model."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from resit.cli.options import folder_name
from resit.cli.scoring import judge, score_folder, show
from resit.errors import INTERRUPTED, TooManyErrors, UsageError
from resit.models import Setup, create, parse_model_args
from resit.runs.describe import about_run
from resit.runs.execute import Outcome
from resit.runs.execute import run as execute
from resit.runs.folder import RunFolder
from resit.runs.plan import Settings, make_plan
from resit.runs.progress import ConsoleObserver
from resit.stats import wilson_interval
from resit.tasks import load

RUNS = Path("runs")


@dataclass(frozen=True, slots=True)
class Launch:
    """One model, its tasks and how to run them."""

    model: str
    model_args: str
    tasks: list[str]
    settings: Settings
    include_path: Path | None = None
    concurrency: int | None = None
    output_path: Path | None = None
    max_error_share: float = 0.01
    trust_task_code: bool = False
    as_json: bool = False


def launch(wanted: Launch) -> dict[str, Any]:
    """Generate, score and show a run; returns its results.

    Raises ResitError subclasses; typer.Exit with 130 after an interrupt and a partial table.
    """
    if not wanted.model or not wanted.tasks:
        raise UsageError(
            "a run needs --model and --tasks",
            "for example: resit run --model llamacpp --model-args pretrained=smollm2-135m --tasks gsm_fresh",
        )
    tasks = load(wanted.tasks, include_path=wanted.include_path, trust_task_code=wanted.trust_task_code)
    rules = {task.name: task.rules for task in tasks}
    observer = ConsoleObserver(judge(rules), wilson_interval)
    args = parse_model_args(wanted.model_args)
    setup = Setup(wanted.concurrency, observer.note, debug=bool(os.environ.get("RESIT_DEBUG")))
    model = create(wanted.model, args, setup)
    plan = make_plan(model.identity(), tasks, wanted.settings)
    path = wanted.output_path or RUNS / folder_name(model.name, plan.identity())
    about = about_run(plan, wanted.model, model.name, args)
    outcome = execute(plan, model, path, observer, about)
    results = score_folder(RunFolder(path), rules)
    show(path, results, wanted.as_json)
    _conclude(outcome, wanted.max_error_share, path)
    return results


def _conclude(outcome: Outcome, max_error_share: float, path: Path) -> None:
    """Leave with the status that the outcome deserves."""
    if outcome.interrupted:
        raise typer.Exit(INTERRUPTED)
    if outcome.error_share > max_error_share:
        raise TooManyErrors(
            f"{outcome.errored} of {outcome.planned} samples errored, more than --max-error-share "
            f"{max_error_share:g}; they are excluded from the scores, not counted as wrong",
            f"the errors are in {path / 'generations.jsonl'}; the same command again retries them",
        )
