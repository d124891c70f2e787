"""`resit compare`: runs on the same questions."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from resit.cli.examples import example_of, examples

if TYPE_CHECKING:
    from resit.reports.comparison import Comparison

EXAMPLE = examples(
    "resit compare runs/fp16 runs/int4 --flips 10",
    "resit compare runs/a runs/b runs/c --all-pairs --rule strict-match",
    "resit compare --discordant 70 45 --n 1319",
)


class Correction(StrEnum):
    """How p-values are adjusted for several comparisons."""

    holm = "holm"
    bh = "bh"
    none = "none"


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="compare", short_help="Compare runs on the same questions.", epilog=EXAMPLE)(compare)


_OF_FORM = {
    "--discordant": ("discordant", "n", "exact", "confidence", "as_json"),
    "--counts": ("counts", "confidence", "as_json"),
}
"""The options that each form without runs heeds."""


def compare(
    context: typer.Context,
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Two or more run folders; the first is A.")
    ] = None,
    tasks: Annotated[str, typer.Option("--tasks", "-t", help="Only these of the shared tasks.")] = "",
    rule: Annotated[str, typer.Option(help="The grading rule or filter whose verdicts count.")] = "robust",
    second_task: Annotated[
        str, typer.Option(help="The second run's task, where it asks the same questions under another name.")
    ] = "",
    unpaired: Annotated[bool, typer.Option("--unpaired", help="The runs asked different questions.")] = False,
    exact: Annotated[bool, typer.Option("--exact", help="McNemar's exact test, not its mid-p.")] = False,
    bootstrap: Annotated[
        bool, typer.Option("--bootstrap", help="Add a seeded bootstrap interval over questions.")
    ] = False,
    all_pairs: Annotated[
        bool, typer.Option("--all-pairs", help="Compare every two runs, not each with the first.")
    ] = False,
    correction: Annotated[
        Correction, typer.Option(help="Adjust p-values of several comparisons; bh is Benjamini-Hochberg.")
    ] = Correction.holm,
    across_protocols: Annotated[
        bool, typer.Option("--across-protocols", help="Compare although the runs were asked differently.")
    ] = False,
    flips: Annotated[
        int, typer.Option(min=0, help="Show up to so many questions that each run alone gets right.")
    ] = 0,
    confidence: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    discordant: Annotated[
        tuple[int, int] | None, typer.Option(help="Counts in place of runs: right in A only, in B only.")
    ] = None,
    n: Annotated[int | None, typer.Option("--n", help="Questions, for --discordant.")] = None,
    counts: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Counts of unpaired runs in place of runs: RIGHT/ASKED RIGHT/ASKED."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare runs question by question: difference, interval, test, and what the design can see.

    A − B is in points (hundredths). With one comparison --json prints its fields, with several
    {"comparisons": […]}.
    """
    from resit.cli import options, statistics
    from resit.errors import UsageError

    if discordant or counts:
        statistics.only_counts(runs)
        form = "--discordant" if discordant else "--counts"
        options.refuse_others(
            context,
            f"has no effect with {form}",
            "resit compare --help says what each form takes",
            *("discordant", "counts"),
            *_OF_FORM[form],
        )
        statistics.show_counted(discordant, n, counts, exact, confidence, as_json)
        return
    if n is not None:
        raise UsageError("--n has no effect without --discordant", example_of(EXAMPLE))
    if not runs or len(runs) < 2:
        raise UsageError(f"expected two or more run folders, found {len(runs or [])}", example_of(EXAMPLE))
    from resit.reports.comparison import Method, compare_many, compare_tasks

    method = Method(not unpaired, exact, bootstrap, confidence, across_protocols)
    names = [name.strip() for name in tasks.split(",") if name.strip()]
    if second_task:
        found = [compare_tasks(runs, names, second_task, rule, method)]
    else:
        found = compare_many(runs, names, rule, method, all_pairs=all_pairs, correction=correction.value)
    _show(found, flips, as_json)


def _show(found: list[Comparison], flips: int, as_json: bool) -> None:
    from resit.cli.statistics import print_json, printer
    from resit.reports.comparison_table import comparison_lines, comparison_table, flips_table, flips_title

    if as_json:
        objects = [comparison.as_json() for comparison in found]
        print_json(objects[0] if len(objects) == 1 else {"comparisons": objects})
        return
    show, say = printer()
    show(comparison_table(found))
    for comparison in found:
        for line in comparison_lines(comparison):
            say(line)
        if flips and comparison.paired:
            for side, differing in (
                (comparison.first, comparison.better_in_first),
                (comparison.second, comparison.better_in_second),
            ):
                say(flips_title(side, differing, flips))
                show(flips_table(differing, flips))
