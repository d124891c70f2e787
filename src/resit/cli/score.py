"""`resit score`: grade stored samples again, without a model."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from resit.cli.examples import examples

if TYPE_CHECKING:
    from resit.stats.estimates import IntervalMethod

EXAMPLE = examples(
    "resit score runs/NAME",
    "resit score runs/NAME --disagreements",
    "resit score runs/NAME --interval clopper-pearson --json",
)


class Interval(StrEnum):
    """Intervals of a score."""

    auto = "auto"
    wilson = "wilson"
    clopper_pearson = "clopper-pearson"
    jeffreys = "jeffreys"
    clustered = "clustered"
    bootstrap = "bootstrap"


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="score", short_help="Grade stored samples again, without a model.", epilog=EXAMPLE)(
        score
    )


def score(
    run: Annotated[Path, typer.Argument(help="The run's folder.")],
    tasks: Annotated[str, typer.Option("--tasks", "-t", help="Show only these of its tasks.")] = "",
    trust_task_code: Annotated[
        bool, typer.Option("--trust-task-code", help="Run the Python that a task file names with !function.")
    ] = False,
    trust_model_code: Annotated[
        bool, typer.Option("--trust-model-code", help="Run the programs that the model wrote, in a sandbox.")
    ] = False,
    interval: Annotated[
        Interval, typer.Option(help="How the shown intervals are made; results.json keeps the default.")
    ] = Interval.auto,
    disagreements: Annotated[
        bool, typer.Option("--disagreements", help="List the samples on which the rules disagree, by kind.")
    ] = False,
    watch: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Score a growing run again every so often, until it is complete."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print results.json on standard output.")] = False,
) -> None:
    """Score a run's stored samples by its tasks' rules as they are now.

    Needs no model, tokenizer or network; change a rule in a task file and run it again to see which scores
    and verdicts that changes.
    """
    from resit.cli import options
    from resit.cli.rescoring import show_changes, show_disagreements, watch_run
    from resit.cli.scoring import check_trusted, rules_of, score_folder, show
    from resit.reports.changes import scores_kept
    from resit.reports.results import only_tasks
    from resit.runs.folder import RunFolder

    folder = RunFolder.existing(run)
    wanted = rules_of(folder, options.names(tasks), trust_task_code, trust_model_code)
    rules = rules_of(folder, (), trust_task_code, trust_model_code)  # the files keep what is not shown
    check_trusted(rules, trust_model_code)
    if watch is not None:
        watch_run(folder, rules, watch, as_json)
        return
    with scores_kept(run) as before:
        results = only_tasks(score_folder(folder, rules), wanted)
        if disagreements:
            show_disagreements(folder, wanted, as_json)
            return
        if interval == Interval.auto:
            show(run, results, as_json)
        else:
            from resit.reports.claims import with_intervals

            show(run, with_intervals(results, run, cast("IntervalMethod", interval.value)), as_json)
        if before is not None:
            show_changes(before, run, results, as_json)
