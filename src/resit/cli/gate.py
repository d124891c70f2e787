"""`resit gate`: let a run through, or not, from continuous integration."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from resit.cli.examples import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from resit.reports.gates import Check

EXAMPLE = examples(
    "resit gate runs/candidate --baseline runs/released --margin 0.02",
    "resit gate runs/candidate --min-score 0.8 --junit gate.xml",
)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="gate", short_help='Pass, fail or say "cannot tell", for CI.', epilog=EXAMPLE)(gate)


def gate(
    run: Annotated[Path, typer.Argument(help="The run folder to judge.")],
    baseline: Annotated[Path | None, typer.Option(help="The run folder to compare with.")] = None,
    margin: Annotated[
        float | None, typer.Option(help="How much worse than the baseline is good enough; 0.01 is one point.")
    ] = None,
    min_score: Annotated[float | None, typer.Option(help="The least true score, as a fraction.")] = None,
    tasks: Annotated[str, typer.Option("--tasks", "-t", help="Only these tasks.")] = "",
    rule: Annotated[str, typer.Option(help="The grading rule or filter whose verdicts count.")] = "robust",
    alpha: Annotated[float, typer.Option(help="One-sided error of each decision.")] = 0.05,
    max_unmeasured: Annotated[
        float, typer.Option(help="Share of samples that may lack a verdict before nothing can be said.")
    ] = 0.01,
    allow_undecided: Annotated[
        bool, typer.Option("--allow-undecided", help='Let "cannot tell" through.')
    ] = False,
    across_protocols: Annotated[
        bool, typer.Option("--across-protocols", help="Compare although the runs were asked differently.")
    ] = False,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML there.")] = None,
    summary: Annotated[
        Path | None,
        typer.Option(
            help="Append a Markdown summary there.", envvar="GITHUB_STEP_SUMMARY", show_default=False
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Pass, fail or say "cannot tell", from a one-sided paired interval.

    Exit status 0: passes. 4: fails, or cannot tell (unless --allow-undecided). 2: refused, for the design
    could not have seen the margin. A run that lacks too many samples (--max-unmeasured) does not pass.

    Verdicts are those of the rule robust; --rule names another, such as the one that the task is quoted by.
    """
    from resit.reports.gates import Gate, gate_run

    names = [name.strip() for name in tasks.split(",") if name.strip()]
    settings = Gate(margin, min_score, alpha, max_unmeasured)
    checks = gate_run(run, settings, baseline, names, rule, across_protocols=across_protocols)
    _show(run, checks, as_json)  # first: a file that cannot be written must not cost the verdict
    _write(run.resolve().name, checks, junit, summary, allow_undecided)
    _leave(checks, allow_undecided)


def _write(
    run: str, checks: Sequence[Check], junit: Path | None, summary: Path | None, allow_undecided: bool
) -> None:
    from resit.reports.gate_output import junit_xml, step_summary, write_file

    if junit is not None:
        write_file(junit, junit_xml(run, checks, allow_undecided))
    if summary is not None and os.fspath(summary):
        write_file(summary, step_summary(run, checks).encode("utf-8", "replace"), append=True)


def _show(run: Path, checks: Sequence[Check], as_json: bool) -> None:
    from resit.cli.statistics import print_json, printer
    from resit.reports.gate_output import gate_lines, gate_table
    from resit.reports.gates import overall

    if as_json:
        print_json(
            {"run": str(run), "outcome": overall(checks), "checks": [check.as_json() for check in checks]}
        )
        return
    show, say = printer()
    show(gate_table(checks))
    for line in gate_lines(checks):
        say(line)


def _leave(checks: Sequence[Check], allow_undecided: bool) -> None:
    from resit.errors import GateFailed, UsageError
    from resit.reports.gates import overall

    outcome = overall(checks)
    if outcome == "fail":
        raise GateFailed("the gate's condition does not hold")
    if outcome == "refused":
        raise UsageError(
            "the design cannot see the margin, so the gate was not judged",
            "ask more questions or repeats, or declare a wider margin; resit power says how many",
        )
    if any(check.incomplete for check in checks):
        raise GateFailed(
            "the gate cannot tell: too much of the run is not measured",
            "the run's own command asks again what errored or is missing",
        )
    if outcome == "undecided" and not allow_undecided:
        raise GateFailed(
            "the gate cannot tell", "more questions or repeats decide it; --allow-undecided lets it pass"
        )
