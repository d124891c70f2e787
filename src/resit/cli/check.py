"""`resit check`: the preflight of the catalogue, the tasks, the records, the documentation and the tree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from resit.cli.examples import examples

if TYPE_CHECKING:
    from resit.cli.checking import Check, Outcome

EXAMPLE = examples(
    "resit check",
    "resit check --only links --deep",
    status="0 nothing is wrong, 4 a check failed, 2 wrong usage",
)
SHOWN = 20
"""Defects of one check that are told; --json tells all."""

Only = Annotated[
    list[str] | None, typer.Option("--only", help="Make this check alone; may be given several times.")
]
Deep = Annotated[bool, typer.Option("--deep", help="Open the links, too; needs the network.")]
Checkout = Annotated[
    Path | None, typer.Option("--checkout", help="The project's working tree (default: found from here).")
]
ListThem = Annotated[bool, typer.Option("--list", help="List the checks and make none.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="check", short_help="Preflight: catalogue, exemplars, golds, docs.", epilog=EXAMPLE)(
        check
    )


def check(
    only: Only = None,
    deep: Deep = False,
    checkout: Checkout = None,
    list_them: ListThem = False,
    as_json: AsJson = False,
) -> None:
    """Verify the catalogue, the tasks, their records of alignment and, in a checkout, the tree itself.

    Nothing is downloaded. What cannot be checked here (rows that are not on this machine, no checkout, no
    network) is skipped with the reason and never ok; `partly`: some items were looked at, all of them right.
    """
    from resit.cli import checking

    chosen = _chosen(checking.CHECKS, only)
    if list_them:
        _list(chosen, as_json)
        return
    place = checking.Place(_checkout(checkout), deep)
    outcomes = []
    for outcome in checking.make(chosen, place):
        outcomes.append(outcome)
        if not as_json:
            _tell(outcome)
    _conclude(outcomes, as_json)


def _chosen(known: tuple[Check, ...], only: list[str] | None) -> list[Check]:
    from resit.assets.catalogue import meant
    from resit.errors import UsageError

    names = [check.name for check in known]
    for name in only or ():
        if name not in names:
            raise UsageError(
                f"there is no check {name!r}.{meant(name, names)}", f"the checks: {', '.join(names)}"
            )
    return [check for check in known if not only or check.name in only]


def _list(checks: list[Check], as_json: bool) -> None:
    import json

    if as_json:
        typer.echo(json.dumps({"checks": [{"name": c.name, "about": c.about} for c in checks]}))
        return
    for each in checks:
        typer.echo(f"{each.name:10}  {each.about}")


def _checkout(asked: Path | None) -> Path | None:
    """The working tree: the one asked for, the one that runs, or the one around the current folder."""
    from resit.errors import UsageError

    if asked is not None:
        if not _is_checkout(asked):
            raise UsageError(f"{asked} is no checkout of Resit", "name the folder with its pyproject.toml")
        return asked.resolve()
    here = Path.cwd()
    return next(filter(_is_checkout, (Path(__file__).parents[3], here, *here.parents)), None)


def _is_checkout(folder: Path) -> bool:
    project = folder / "pyproject.toml"
    return (
        project.is_file()
        and (folder / "src" / "resit").is_dir()
        and 'name = "resit"' in project.read_text(encoding="utf-8", errors="replace")
    )


def _tell(outcome: Outcome) -> None:
    ledger = outcome.ledger
    status = "FAILED" if outcome.status == "failed" else outcome.status
    counted = f"{ledger.checked} checked" + (f", {len(ledger.skipped)} skipped" if ledger.skipped else "")
    typer.echo(f"{status:8}{outcome.check.name:11}{counted:27}{outcome.check.about}")
    for note in ledger.problems[:SHOWN]:
        typer.echo(f"        {note.where}: {note.text}")
    if len(ledger.problems) > SHOWN:
        typer.echo(f"        … and {len(ledger.problems) - SHOWN} more")
    reasons: dict[str, list[str]] = {}
    for note in ledger.skipped:
        reasons.setdefault(note.text, []).append(note.where)
    for reason, places in reasons.items():
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        typer.echo(f"        skipped: {places[0]}{more}: {reason}")


def _conclude(outcomes: list[Outcome], as_json: bool) -> None:
    import json

    from resit.errors import GateFailed

    failed = [outcome.check.name for outcome in outcomes if outcome.status == "failed"]
    if as_json:
        shown = {"passed": not failed, "checks": [outcome.as_json() for outcome in outcomes]}
        typer.echo(json.dumps(shown, ensure_ascii=True))
    if failed:
        raise GateFailed(f"{len(failed)} of {len(outcomes)} checks failed: {', '.join(failed)}")
