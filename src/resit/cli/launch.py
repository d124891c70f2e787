"""One run from its options to its table: what `resit run` does for one model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from resit.cli.options import folder_name
from resit.cli.scoring import check_scorable, judge, rules_of, score_folder, show
from resit.errors import DONE, INTERRUPTED, TooManyErrors, UsageError
from resit.models import Model, Setup, create, parse_model_args
from resit.runs.describe import about_run
from resit.runs.execute import Outcome
from resit.runs.execute import run as execute
from resit.runs.folder import RunFolder
from resit.runs.plan import Plan, Settings, make_plan
from resit.runs.progress import ConsoleObserver
from resit.runs.shards import Shard
from resit.stats import wilson_interval
from resit.tasks import Selection, select
from resit.tasks.exams import own_exam

if TYPE_CHECKING:  # nobody waits for it who has no cluster
    from resit.runs.ray_executor import Cluster

RUNS = Path("runs")


@dataclass(frozen=True, slots=True)
class Launch:
    """One model, its tasks and how to run them."""

    model: str
    model_args: str
    tasks: list[str]
    settings: Settings
    fresh_seed: int | None = None
    """Of generated questions; None: the tasks' own."""
    include_path: Path | None = None
    concurrency: int | None = None
    output_path: Path | None = None
    max_error_share: float = 0.01
    trust_task_code: bool = False
    trust_model_code: bool = False
    as_json: bool = False
    cluster: Cluster | None = None
    """Where Ray's workers run; None: the model is in this process."""
    shard: Shard | None = None


def launch(wanted: Launch) -> dict[str, Any]:
    """Generate, score and show a run; returns its results.

    Raises ResitError subclasses; typer.Exit with 130 after an interrupt and a partial table.
    """
    if not wanted.model or not wanted.tasks:
        raise UsageError(
            "a run needs --model and --tasks",
            "for example: resit run --model llamacpp --model-args pretrained=smollm2-135m --tasks gsm_fresh",
        )
    chosen = select(
        wanted.tasks,
        include_path=wanted.include_path,
        trust_task_code=wanted.trust_task_code,
        trust_model_code=wanted.trust_model_code,
    )
    exam = tuple(own_exam(chosen.tasks, wanted.fresh_seed))
    fresh_seed = None if exam == chosen.tasks else wanted.fresh_seed  # the tasks' own seed is no other exam
    chosen = replace(chosen, tasks=exam)
    observer = ConsoleObserver(judge({task.name: task.rules for task in chosen.tasks}), wilson_interval)
    args = parse_model_args(wanted.model_args)
    setup = Setup(wanted.concurrency, observer.note, debug=bool(os.environ.get("RESIT_DEBUG")))
    model = create(wanted.model, args, setup)
    if wanted.cluster is not None:
        from resit.runs.ray_executor import ray_fleet, recipe_of

        model = ray_fleet(model, recipe_of(wanted.model, args, setup), wanted.cluster, setup)
    with model:  # its name may have been asked for over a connection, also where nothing is owed
        job = Job(
            model,
            wanted.model,
            args,
            chosen,
            wanted.settings,
            wanted.output_path,
            observer,
            shard=wanted.shard,
            fresh_seed=fresh_seed,
        )
        outcome, results = perform(job)
        path = job.path()
    show(path, results, wanted.as_json)
    status, message = exit_status(outcome, wanted.max_error_share)
    if status == INTERRUPTED:
        raise typer.Exit(INTERRUPTED)
    if status:
        where = path / "generations.jsonl"
        raise TooManyErrors(message, f"the errors are in {where}; the same command again retries them")
    return results


@dataclass(slots=True)
class Job:
    """A run that is ready to be carried out."""

    model: Model
    kind: str
    args: Mapping[str, Any]
    """The model's arguments as `run.json` may show them."""
    chosen: Selection
    settings: Settings
    folder: Path | None
    observer: ConsoleObserver
    shard: Shard | None = None
    fresh_seed: int | None = None
    """Of generated questions; None: the tasks' own."""
    _plan: Plan | None = None

    def plan(self) -> Plan:
        """What the run asks; made once."""
        if self._plan is None:
            self._plan = make_plan(self.model.identity(), list(self.chosen.tasks), self.settings, self.shard)
        return self._plan

    def path(self) -> Path:
        """The run's folder: the one that was named, or that of the model and the settings."""
        if self.folder is not None:
            return self.folder
        part = "" if self.shard is None else f"-shard-{self.shard.index}-of-{self.shard.count}"
        return RUNS / (folder_name(self.model.name, self.plan().identity(), self.fresh_seed) + part)


def perform(job: Job) -> tuple[Outcome, dict[str, Any]]:
    """Generate what the run owes and score it: what that took, and the results. Raises ResitError."""
    check_scorable(job.chosen.tasks)
    plan = job.plan()
    about = about_run(plan, job.kind, job.model.name, job.args, job.chosen.groups)
    outcome = execute(plan, job.model, job.path(), job.observer, about)
    folder = RunFolder(job.path())
    rules = {task.name: task.rules for task in job.chosen.tasks}
    before = [name for name in folder.tasks() if name not in rules]
    if before:  # a run that grew by a task still shows the ones it had
        trusted = any(task.trust_model_code for task in job.chosen.tasks)
        rules = {**rules_of(folder, before, trust_model_code=trusted), **rules}
    return outcome, score_folder(folder, rules)


def exit_status(outcome: Outcome, max_error_share: float) -> tuple[int, str]:
    """The exit status that an outcome deserves, and the sentence that explains it."""
    if outcome.interrupted:
        return INTERRUPTED, "interrupted; the same command again goes on"
    if outcome.error_share > max_error_share:
        return TooManyErrors.exit_status, (
            f"{outcome.errored} of {outcome.planned} samples errored, more than the share of "
            f"{max_error_share:g} that is allowed; they are excluded from the scores, not counted as wrong"
        )
    return DONE, ""
