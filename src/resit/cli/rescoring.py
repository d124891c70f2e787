"""What `resit score` shows beside the table: changes, disagreements, a run that grows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from math import inf
from pathlib import Path
from typing import Any

import typer

from resit.cli.lots import graded_task
from resit.cli.scoring import console_of_output, score_folder, show
from resit.errors import UsageError
from resit.records import ScoringRules
from resit.reports.changes import Before, change_lines, changes_since
from resit.runs.folder import RunFolder

Pause = Callable[[float], None]


def show_changes(before: Before, run: Path, results: Mapping[str, Any], as_json: bool) -> None:
    """Say what scoring again changed; beside a JSON object, on standard error."""
    try:
        lines = list(change_lines(before, results, changes_since(before, run)))
    except UsageError as error:
        lines = [f"what changed cannot be told: {error}"]
    for line in lines:
        typer.echo(line, err=as_json)


def show_disagreements(folder: RunFolder, rules: Mapping[str, ScoringRules], as_json: bool) -> None:
    """Show on which samples the rules disagree: all of them as JSON, or the counts and a few of each kind."""
    from resit.reports.disagreement_table import (
        disagreement_lines,
        disagreement_table,
        disagreements_json,
        disagreements_of,
    )

    found = {task: disagreements_of(graded_task(folder, task, own)) for task, own in rules.items()}
    if as_json:
        typer.echo(json.dumps(disagreements_json(found), ensure_ascii=True))
        return
    console = console_of_output()
    console.print(disagreement_table(found))
    for line in disagreement_lines(found):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def watch_run(
    folder: RunFolder,
    rules: Mapping[str, ScoringRules],
    seconds: float,
    as_json: bool,
    pause: Pause = time.sleep,
) -> None:
    """Score and show a run each time its journal has grown, until every planned sample is there and measured.

    Looks every `seconds`; Ctrl-C ends it quietly.
    """
    if not 0 < seconds < inf:
        raise UsageError(f"--watch: expected a number of seconds above 0, found {seconds:g}")
    scored = 0
    try:
        while True:
            size = _size(folder)
            if size != scored:
                results, scored = score_folder(folder, rules), size
                show(folder.path, results, as_json)
                if _complete(results):
                    return
            pause(seconds)
    except KeyboardInterrupt:
        return


def _size(folder: RunFolder) -> int:
    try:
        return folder.generations.stat().st_size
    except FileNotFoundError:
        return 0


def _complete(results: Mapping[str, Any]) -> bool:
    counts = [summary["samples"] for summary in results["resit"]["tasks"].values()]
    return all(not samples["missing"] and not samples["errored"] for samples in counts)
