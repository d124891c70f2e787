"""`resit gap`: questions a model may have seen against questions it cannot have seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from resit.cli.examples import example_of, examples

if TYPE_CHECKING:
    from resit.reports.gap_league import GapLeague
    from resit.reports.gaps import Gap, GapDifference

EXAMPLE = examples(
    "resit gap runs/m-gsm8k runs/m-gsm1k --margin 0.05",
    "resit gap runs/ --seen-task gsm8k --fresh-task gsm1k",
    "resit gap --counts 1055/1319 964/1205",
)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="gap", short_help="Say how large a gap is, and how sure that is.", epilog=EXAMPLE)(gap)


_ALWAYS = ("confidence", "as_json")
_OF_RUNS = ("runs", "seen_task", "fresh_task", "rule", "across_protocols", *_ALWAYS)
_OF_FORM = {
    "--counts": ("counts", "margin", *_ALWAYS),
    "--csv": (
        *("csv", "model_column", "seen_column", "fresh_column", "n_seen", "n_fresh"),
        *("z_column", "gap_column", "correlate", "margin", *_ALWAYS),
    ),
    "--versus": ("versus", *_OF_RUNS),
    "--by": ("by", "margin", *_OF_RUNS),
    "run folders": ("margin", "correlate", *_OF_RUNS),
}
"""The options that each form of the command heeds."""


def gap(
    context: typer.Context,
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="SEEN and FRESH run folders; or one folder of runs, for a table over its models."
        ),
    ] = None,
    seen_task: Annotated[
        str | None, typer.Option(help="The seen set's task, where runs hold several.")
    ] = None,
    fresh_task: Annotated[str | None, typer.Option(help="The fresh set's task.")] = None,
    rule: Annotated[str, typer.Option(help="The grading rule or filter whose verdicts count.")] = "robust",
    margin: Annotated[
        float | None,
        typer.Option(
            help="Test that the gap is smaller than this fraction (0.05 is 5 points), by two one-sided tests."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="Pair questions that share this field of their documents, such as template.",
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    versus: Annotated[
        tuple[Path, Path] | None, typer.Option(help="SEEN and FRESH of a second model: compare the gaps.")
    ] = None,
    across_protocols: Annotated[
        bool,
        typer.Option("--across-protocols", help="Report the gap although the sides were asked differently."),
    ] = False,
    counts: Annotated[
        tuple[str, str] | None, typer.Option(help="Counts in place of runs: RIGHT/ASKED RIGHT/ASKED.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(help="A table of published scores in place of runs, one row a model.")
    ] = None,
    model_column: Annotated[str | None, typer.Option(help="Of --csv; the first if not named.")] = None,
    seen_column: Annotated[str, typer.Option(help="Of --csv: scores on the seen set.")] = "gsm8k",
    fresh_column: Annotated[str, typer.Option(help="Of --csv: scores on the fresh set.")] = "gsm1k",
    n_seen: Annotated[int, typer.Option(help="Of --csv: questions in the seen set.", min=1)] = 1319,
    n_fresh: Annotated[int, typer.Option(help="Of --csv: questions in the fresh set.", min=1)] = 1205,
    z_column: Annotated[
        str | None, typer.Option(help="Of --csv: take p-values from this printed z, not from the scores.")
    ] = None,
    gap_column: Annotated[
        str | None, typer.Option(help="Of --csv: the printed gap, checked against the scores.")
    ] = None,
    correlate: Annotated[
        str | None,
        typer.Option(
            help="Correlate the gap with this column of --csv, or with a file of model,number lines."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say how large the gap is, how sure that is, and what the design could see at all.

    The gap is the seen set's score less the fresh set's, in points (hundredths). The questions differ, so
    nothing is paired, unless both sets descend from the same templates and --by names the field that says so.
    """
    from resit.cli import options, statistics
    from resit.errors import UsageError

    forms = [bool(runs), counts is not None, csv is not None]
    if sum(forms) != 1:
        raise UsageError(
            "expected run folders, or --counts, or --csv, and one of them only", example_of(EXAMPLE)
        )
    named = (("--counts", counts), ("--csv", csv), ("--versus", versus), ("--by", by))
    form = next((name for name, value in named if value), "run folders")
    options.refuse_others(
        context, f"has no effect with {form}", "resit gap --help says what each form takes", *_OF_FORM[form]
    )
    from resit.reports import gap_league, gaps

    if counts is not None:
        seen, fresh = (statistics.fraction("--counts", text) for text in counts)
        _show_gap(gaps.gap_of_counts(seen, fresh, confidence=confidence, margin=margin), as_json)
    elif csv is not None:
        columns = gap_league.Columns(
            model_column, seen_column, fresh_column, n_seen, n_fresh, z_column, gap_column, correlate
        )
        _show_league(gap_league.read_published(csv, columns, confidence, margin), as_json)
    elif versus is not None:
        first, second = ([*runs] if runs else []), list(versus)
        found = gaps.gaps_compared(
            first, second, (seen_task, fresh_task), rule, confidence, across_protocols=across_protocols
        )
        _show_difference(found, as_json)
    elif by:
        from resit.reports.paired_gaps import paired_gap_of_runs

        if not runs or len(runs) > 2:
            raise UsageError(
                "--by expects SEEN and FRESH run folders, or one that holds both tasks", example_of(EXAMPLE)
            )
        paired = paired_gap_of_runs(
            runs[0],
            runs[-1],
            by,
            seen_task,
            fresh_task,
            rule=rule,
            confidence=confidence,
            margin=margin,
            across_protocols=across_protocols,
        )
        _show_gap(paired, as_json)
    else:
        found_gap = gap_league.gap_of_paths(
            runs or [],
            (seen_task, fresh_task),
            rule,
            confidence,
            margin,
            Path(correlate) if correlate else None,
            across_protocols=across_protocols,
        )
        if isinstance(found_gap, gaps.Gap):
            if correlate:
                raise UsageError("--correlate needs several models", "name the folder that holds their runs")
            _show_gap(found_gap, as_json)
        else:
            _show_league(found_gap, as_json)


def _show_gap(found: Gap, as_json: bool) -> None:
    from resit.cli.statistics import print_json, printer
    from resit.reports.gap_table import gap_lines, gap_table

    if as_json:
        print_json(found.as_json())
        return
    show, say = printer()
    show(gap_table(found))
    for line in gap_lines(found):
        say(line)


def _show_difference(found: GapDifference, as_json: bool) -> None:
    from resit.cli.statistics import print_json, printer
    from resit.reports.gap_table import gap_difference_lines, gap_table

    if as_json:
        print_json(found.as_json())
        return
    show, say = printer()
    show(gap_table(found.first, found.second))
    for line in gap_difference_lines(found):
        say(line)


def _show_league(found: GapLeague, as_json: bool) -> None:
    from resit.cli.statistics import print_json, printer
    from resit.reports.gap_table import league_lines, league_table

    if as_json:
        print_json(found.as_json())
        return
    show, say = printer()
    show(league_table(found))
    for line in league_lines(found):
        say(line)
