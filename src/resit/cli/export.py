"""`resit export`: a run in the shapes that other programs read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from resit.cli.examples import examples

EXAMPLE = examples(
    "resit export runs/NAME --format lm-eval -o out",
    "resit export runs/NAME --format parquet",
)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="export", short_help="Write a run in another program's shape.", epilog=EXAMPLE)(export)


def export(
    run: Annotated[Path, typer.Argument(help="The run's folder.")],
    format: Annotated[str, typer.Option("--format", "-f", help="lm-eval, jsonl or parquet.")],
    output_path: Annotated[
        Path | None, typer.Option("--output-path", "-o", help="Folder to write to; else RUN/export.")
    ] = None,
    tasks: Annotated[str, typer.Option("--tasks", "-t", help="Only these of its tasks.")] = "",
    trust_task_code: Annotated[
        bool, typer.Option("--trust-task-code", help="Run the Python that a task file names with !function.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the written files as a JSON object.")
    ] = False,
) -> None:
    """Write a run's samples and scores as lm-eval does, as JSON lines or as Parquet.

    lm-eval: results_<time>.json and samples_<task>_<time>.jsonl, which its tools read, and `resit import`.
    jsonl and parquet: one file a task, one row a sample, with every rule's verdict.
    """
    from resit.cli import options
    from resit.cli.exporting import export_run
    from resit.cli.scoring import rules_of
    from resit.runs.folder import RunFolder

    folder = RunFolder.existing(run)
    rules = rules_of(folder, options.names(tasks), trust_task_code)
    written = export_run(folder, rules, format, output_path or run / "export")
    if as_json:
        typer.echo(json.dumps({"files": [str(path) for path in written]}))
    else:
        for path in written:
            typer.echo(path)
