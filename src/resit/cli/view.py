"""`resit view`: look at runs in a browser, while they are made or later."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from resit.cli.examples import examples

if TYPE_CHECKING:
    from resit.records import ScoringRules

EXAMPLE = examples(
    "resit view",
    "resit view runs/NAME --open",
    "resit view runs --port 8642",
)
RUNS = Path("runs")


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="view", short_help="Look at runs in a browser, also while they run.", epilog=EXAMPLE)(
        view
    )


def view(
    folder: Annotated[Path, typer.Argument(help="A folder of runs, at any depth, or one run.")] = RUNS,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 0,
    host: Annotated[
        str, typer.Option(help="Address to listen on; other than loopback, a token is asked for.")
    ] = "127.0.0.1",
    token: Annotated[
        bool,
        typer.Option("--token", help="Ask for a token on loopback too: others may share this machine."),
    ] = False,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the address in a browser.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the address as a JSON object.")] = False,
) -> None:
    """Serve a folder of runs to a browser: a table, every answer, comparisons and gaps; Ctrl-C ends it.

    Only reads. Runs of any size, also unfinished, unscored and damaged ones; those in progress are followed.
    Listens on this machine only. From elsewhere: ssh -L 8642:localhost:8642 HOST, then --port 8642 there.
    """
    import json

    from resit.cli.declared import declared_pairs
    from resit.reports.viewer.serving import Place, serve

    def tell(address: str) -> None:
        typer.echo(json.dumps({"address": address}) if as_json else f"{folder}: {address}")
        if open_browser:
            typer.launch(address)

    serve(folder, Place(host, port, token), recorded_rules, declared_pairs(), tell)


def recorded_rules(about: Mapping[str, Any]) -> ScoringRules:
    """The rules that `run.json` holds for a task; no task file is read and no code run."""
    from resit.runs.rules import rules_from

    return rules_from(about["rules"])
