"""`resit merge`: the shards of a run as one run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from resit.cli.examples import examples

EXAMPLE = examples(
    "resit merge parts/1 parts/2 parts/3 parts/4 -o runs/whole",
    "resit merge parts/1 parts/2 -o runs/whole --partial",
)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="merge", short_help="Join the shards of a run; score it.", epilog=EXAMPLE)(merge)


def merge(
    shards: Annotated[list[Path], typer.Argument(help="The folders that `resit run --shard` wrote.")],
    output_path: Annotated[Path, typer.Option("--output-path", "-o", help="The whole run's new folder.")],
    partial: Annotated[
        bool, typer.Option("--partial", help="Take what there is; `resit run` can fill in the rest.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print results.json on standard output.")] = False,
) -> None:
    """Join the shards of a run into one run, and score it.

    The outcome is what one run would have given, byte for byte in results.json; it can be resumed and grown.
    Refused are shards of different runs, missing shards or samples, and different texts for one sample.
    """
    from resit.cli.scoring import rules_of, score_folder, show
    from resit.runs.folder import RunFolder
    from resit.runs.merge import merge as join

    merged = join(shards, output_path, partial)
    counts = f"{merged.shards} shards: {merged.questions} questions, {merged.samples} samples"
    errored = f", {merged.errored} of them errored" if merged.errored else ""
    missing = f", {merged.missing} missing" if merged.missing else ""
    typer.echo(counts + errored + missing, err=True)
    folder = RunFolder.existing(output_path)
    show(output_path, score_folder(folder, rules_of(folder)), as_json)
