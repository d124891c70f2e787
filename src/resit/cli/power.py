"""`resit power`: plan an evaluation."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from resit.cli.examples import examples

EXAMPLE = examples(
    "resit power paired --n 1319 --discordance 0.1",
    "resit power paired --discordance 0.1 --effect 0.01",
    "resit power gap --effect 0.03 --p 0.9",
    "resit power paired --from runs/a --from runs/b",
)


class Design(StrEnum):
    """What is estimated."""

    single = "single"
    paired = "paired"
    gap = "gap"


_MEASURED = {"p", "discordance", "between", "within"}
"""What is expected, unless it is measured in runs."""
_OF_RUNS = {"task", "rule"}
_ALWAYS = (
    *("design", "n", "effect", "repeats", "between", "within", "alpha", "power", "one_sided"),
    *("from_runs", *_OF_RUNS, "as_json"),
)
_OWN = {
    Design.single: ("p",),
    Design.paired: ("discordance",),
    Design.gap: ("p", "n_fresh", "p_fresh"),
}
"""What only these designs listen to."""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="power", short_help="Say what a design can see.", epilog=EXAMPLE)(power)


def power(
    context: typer.Context,
    design: Annotated[
        Design, typer.Argument(help="One score; two runs on the same questions; seen and fresh.")
    ],
    n: Annotated[int | None, typer.Option("--n", help="Questions (of a gap: seen ones).")] = None,
    n_fresh: Annotated[
        int | None, typer.Option(min=1, help="Fresh questions of a gap; as many as --n if not given.")
    ] = None,
    effect: Annotated[
        float | None, typer.Option(help="The effect to see, as a fraction; 0.01 is one point.")
    ] = None,
    p: Annotated[float, typer.Option("--p", help="Expected score (of a gap: on the seen set).")] = 0.8,
    p_fresh: Annotated[
        float | None, typer.Option(help="Expected score on the fresh set; --p if not given.")
    ] = None,
    discordance: Annotated[
        float | None, typer.Option(help="Paired: share of questions that only one of the runs gets right.")
    ] = None,
    between: Annotated[
        float | None,
        typer.Option(help="With repeats: variance between questions (of a pair: of differences)."),
    ] = None,
    within: Annotated[
        float | None, typer.Option(help="With repeats: variance of a sample within a question.")
    ] = None,
    repeats: Annotated[int, typer.Option(help="Samples a question.", min=1)] = 1,
    from_runs: Annotated[
        list[Path] | None,
        typer.Option(
            "--from", help="Measure score, discordance and variances in this run; twice for a pair."
        ),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="The task of --from runs, where they hold several.")
    ] = None,
    rule: Annotated[str, typer.Option(help="The grading rule of --from runs.")] = "robust",
    alpha: Annotated[float, typer.Option(help="Error of the test.")] = 0.05,
    power: Annotated[float, typer.Option(help="Probability with which the effect is to be seen.")] = 0.8,
    one_sided: Annotated[bool, typer.Option("--one-sided", help="For a one-sided test.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what effect a design can see, and how many questions or samples an effect needs."""
    from resit.cli import options
    from resit.cli.statistics import print_json, printer
    from resit.reports.power_table import Plan, findings, measured, power_lines

    hint = "resit power --help says what each option is for"
    options.refuse_others(context, f"has no effect on a {design.value} design", hint, *_ALWAYS, *_OWN[design])
    why = "is measured in the runs of --from" if from_runs else "has no effect without --from"
    settled = _MEASURED if from_runs else _OF_RUNS
    options.refuse_others(context, why, hint, *(context.params.keys() - settled))
    plan = Plan(
        design.value, effect, n, n_fresh, p, p_fresh, discordance, between, within, repeats, alpha, power,
        1 if one_sided else 2,
    )  # fmt: skip
    if from_runs:
        plan = measured(plan, from_runs, task, rule)
    found = findings(plan)
    if as_json:
        print_json(found.as_json())
        return
    _, say = printer()
    for line in power_lines(plan, found):
        say(line)
