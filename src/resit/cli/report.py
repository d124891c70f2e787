"""`resit report`: runs as a page that opens from a mail attachment, and as tables and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from resit.cli.examples import examples

EXAMPLE = examples(
    "resit report runs/NAME -o report.html",
    "resit report runs/a runs/b -o report.html",
    "resit report runs/a runs/b -o table.tex",
    "resit report runs/NAME --format junit -o -",
)
FORMATS = "html, md, json, csv, junit, model-index (YAML for a model card), latex, png or svg (one a chart)."


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="report", short_help="Write a page with every score and every answer.", epilog=EXAMPLE)(
        report
    )


def report(
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders; of several the first is the one compared.")
    ],
    output_path: Annotated[
        Path | None,
        typer.Option(
            "--output-path",
            "-o",
            help="The file to write, a folder for pictures, or - for standard output; else report.* in the "
            "first run.",
        ),
    ] = None,
    format: Annotated[
        str, typer.Option("--format", "-f", help=f"{FORMATS} Else the file's ending decides.")
    ] = "",
    trust_task_code: Annotated[
        bool, typer.Option("--trust-task-code", help="Run the Python that a task file names with !function.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the written file as a JSON object.")] = False,
) -> None:
    """Write one self-contained HTML file: claims, intervals, warnings, charts, and every sample to browse.

    Or the scores alone, with interval, counts, warnings and digests: as Markdown, JSON, CSV, JUnit XML, a
    model card's metadata or a LaTeX table; or each chart as a picture.

    It needs no network and loads nothing. Two runs of a task are compared with the flips first; a seen and a
    fresh task of one model give a gap. A run that is not scored, or has grown since, is scored first.
    """
    from resit.cli.reporting import write_report

    written = write_report(runs, output_path, format, trust_task_code)
    if as_json:
        import json

        typer.echo(json.dumps({"files": [str(path) for path in written]}))
    else:
        for path in written:
            typer.echo(path)
