"""Where the two halves meet: a run's stored samples go through the grading rules into its results."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from resit.cli.lots import shares
from resit.errors import ResitError, UsageError
from resit.grading import scorer
from resit.grading.rules import PROGRAM, with_trust
from resit.records import Generation, Question, ScoringRules, Verdict
from resit.reports.merging import merged
from resit.reports.results import TaskTally, build_results, write_results
from resit.reports.scores import scores_file
from resit.reports.warnings import WarningTally
from resit.runs.folder import RunFolder
from resit.runs.rules import rules_from

if TYPE_CHECKING:
    from rich.console import Console

    from resit.tasks import Task

WIDTH = 120
"""Columns of a table that goes to a file or a pipe."""


def score_folder(
    folder: RunFolder, rules: Mapping[str, ScoringRules], processes: int | None = None
) -> dict[str, Any]:
    """Score every stored sample of the tasks in `rules`, write the derived files, return the results.

    Memory follows the number of samples, not their text; a large run is graded by all processors. Raises
    UsageError when nothing is stored.
    """
    record = folder.record() or {}
    tallies: dict[str, TaskTally] = {}
    suspicions: dict[str, WarningTally] = {}
    with scores_file(folder.path) as add_lines:
        for share in shares(folder, rules, processes):
            add_lines(share.lines)
            tallies[share.task] = merged(tallies.get(share.task, TaskTally()), share.tally)
            suspicions[share.task] = merged(suspicions.get(share.task, WarningTally()), share.suspicions)
    if not tallies:
        raise UsageError(f"{folder.path} holds no samples of {', '.join(rules)}", "run it first")
    results = build_results(record, tallies, rules, suspicions)
    write_results(folder.path, results)
    return results


def check_scorable(tasks: Iterable[Task]) -> None:
    """Raise UsageError, naming the file, for a task with an unknown filter, metric, rule or option.

    So does one that would run what the model writes without the user's leave. Before the first request: a
    fault in the rules must not cost a generation.
    """
    for task in tasks:
        try:
            scorer(task.rules)
            check_trusted({task.name: task.rules}, task.trust_model_code)
        except UsageError as error:
            raise UsageError(f"{task.source}: {error}", error.hint) from None


def check_trusted(rules: Mapping[str, ScoringRules], trust_model_code: bool) -> None:
    """Raise UsageError for rules that have to run what a model wrote without the user's leave.

    Also where programs cannot be run at all; where nothing but Python itself holds them, the user is told.
    """
    for own in rules.values():
        with_trust(own, trust_model_code)
    if any(PROGRAM in own.named for own in rules.values()):
        from resit.grading.sandbox import shared_sandbox

        sandbox = shared_sandbox()
        sandbox.start()
        if not sandbox.locked:
            typer.echo(
                "warning: this system's kernel does not filter what programs call; only Python's shut doors "
                "hold them (docs/programs.md)",
                err=True,
            )


def rules_of(
    folder: RunFolder, only: Iterable[str] = (), trust: bool = False, trust_model_code: bool = False
) -> dict[str, ScoringRules]:
    """The rules of a run's tasks as their files say now, or as recorded where the file cannot be had.

    Programs that the model wrote are run with `trust_model_code` only; else they have no verdict. Raises
    UsageError for a task that the run does not hold.
    """
    about = (folder.record() or {}).get("tasks", {})
    unknown = [name for name in only if name not in about]
    if unknown:
        raise UsageError(
            f"{folder.path} has no task {unknown[0]!r}", f"it holds {', '.join(about) or 'no task at all'}"
        )
    found = {name: _rules(name, about[name], trust) for name in only or about}
    return {n: with_trust(r, True) for n, r in found.items()} if trust_model_code else found


def _rules(name: str, about: Mapping[str, Any], trust: bool) -> ScoringRules:
    source = about.get("source", "")
    if Path(source).is_file():  # a fault in it is told, not passed over
        return _rules_in(source, name, trust) or rules_from(about["rules"])
    try:
        found = _rules_in(name, name, trust)
    except ResitError:
        found = None
    if found is None and about["rules"]["needs_code"]:
        raise UsageError(
            f"task {name!r} is scored by its own Python, and {source} cannot be loaded",
            "restore the file and pass --trust-task-code",
        )
    return found or rules_from(about["rules"])


def _rules_in(reference: str, name: str, trust: bool) -> ScoringRules | None:
    from resit.tasks import load

    return next((task.rules for task in load([reference], trust_task_code=trust) if task.name == name), None)


def judge(rules: Mapping[str, ScoringRules]) -> Any:
    """A function from (question, generation) to the verdict that the progress line shows."""
    prepared = cache(lambda task: scorer(rules[task]))
    quoted = {task: own.headline.partition(",")[2] for task, own in rules.items()}

    def verdict(question: Question, generation: Generation) -> Verdict:
        score = prepared(question.task)(question, [generation])
        verdicts = score.samples[0].verdicts
        first = next(iter(verdicts), "")
        shown = (verdicts.get(rule) for rule in ("robust", quoted[question.task], first))
        return next((found for found in shown if found), Verdict("none", None, 0.0))

    return verdict


def show(folder: Path, results: Mapping[str, Any], as_json: bool) -> None:
    """Print the results: the table and where the run lies, or `results.json` as one object."""
    if as_json:
        typer.echo(json.dumps(results, ensure_ascii=True))
        return
    from resit.reports.table import footnotes, results_table

    console = console_of_output()
    console.print(results_table(results))
    for line in footnotes(results):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print(f"run: {folder}", markup=False, highlight=False, soft_wrap=True)


def console_of_output() -> Console:
    """Standard output for tables: as wide as the terminal, or as a log can hold."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else WIDTH)
