"""Comparisons on a terminal: a table, a sentence each, and the flips to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from resit.reports.claims import TaskScores
from resit.reports.comparison import UNKNOWN, Comparison, Flip
from resit.reports.wording import p_cell, p_text, percent, points, sight, span


def plain_table(*columns: str, left: int = 1) -> Table:
    """A table without lines; the first `left` columns are text, which folds, the others numbers."""
    table = Table(show_edge=False, pad_edge=False, box=None, header_style="bold")
    for name in columns[:left]:
        table.add_column(Text(name), overflow="fold")
    for name in columns[left:]:
        table.add_column(Text(name), justify="right", no_wrap=True)
    return table


def comparison_table(comparisons: Sequence[Comparison]) -> Table:
    """One row a comparison, 80 columns wide; an adjusted p-value where several were made."""
    many = any(comparison.p_adjusted is not None for comparison in comparisons)
    names = ["A − B", "n", "A", "B", "Points", "Interval", "p"]
    table = plain_table(*names, *(["adjusted"] if many else []))
    several = len({comparison.first.task for comparison in comparisons}) > 1
    for comparison in comparisons:
        result = comparison.result
        sizes = f"{result.n_first}" if comparison.paired else f"{result.n_first} / {result.n_second}"
        adjusted = comparison.p_adjusted
        table.add_row(
            Text(_who(comparison, several)),
            sizes,
            percent(comparison.first_score),
            percent(comparison.second_score),
            points(result.difference),
            f"{points(result.ci_low)} to {points(result.ci_high)}",
            p_cell(result.p_value),
            *([p_cell(adjusted) if adjusted is not None else ""] if many else []),
        )
    return table


def _who(comparison: Comparison, with_task: bool) -> str:
    task = f"{comparison.first.task}: " if with_task else ""
    return f"{task}{comparison.first.name} − {comparison.second.name}"


def comparison_lines(comparison: Comparison) -> Iterator[str]:
    """Sentences: the verdict, how it was reached, and all that limits it."""
    first, second, result = comparison.first, comparison.second, comparison.result
    yield f"{first.task}, rule {first.rule}: {comparison.verdict}"
    if comparison.p_adjusted is not None and result.distinguishable:
        lost = comparison.p_adjusted >= 1 - result.confidence
        outcome = "no longer distinguishable" if lost else "still distinguishable"
        yield f"Adjusted for all comparisons made here it is {outcome} ({p_text(comparison.p_adjusted)})."
    if comparison.paired:
        yield (
            f"{len(comparison.better_in_first)} questions are better in {first.name}, "
            f"{len(comparison.better_in_second)} in {second.name}; interval: {result.method}."
        )
    else:
        yield f"Different questions, so nothing is paired; interval: {result.method}."
    if result.distinguishable:
        yield f"For planning: {sight(result)}."
    if comparison.bootstrap:
        yield f"Bootstrap over questions: {span(*comparison.bootstrap, result.confidence)}."
    yield from _limits(comparison)


def _limits(comparison: Comparison) -> Iterator[str]:
    left_out = comparison.only_first + comparison.only_second
    if comparison.paired and left_out:
        yield (
            f"Left out: {comparison.only_first} questions measured in the first run only, "
            f"{comparison.only_second} in the second only."
        )
    for side in (comparison.first, comparison.second):
        if side.errored or side.missing:
            yield (
                f"{side.name}: {side.errored} samples errored, {side.missing} are missing; "
                "neither counts as wrong."
            )
        if side.overrun:
            yield f"{side.name}: {side.rule} gave up on {side.overrun} answers; they do not count as wrong."
    if comparison.protocol_differences == (UNKNOWN,):
        yield "The protocol of at least one run is unrecorded: whether both were asked alike is not known."
    elif comparison.protocol_differences:
        yield "Asked differently, so this is no comparison of models alone: " + "; ".join(
            comparison.protocol_differences
        )


def flips_title(side: TaskScores, flips: Sequence[Flip], limit: int) -> str:
    """How many questions one run alone does better, and how many of them are shown."""
    shown = f", the first {limit}" if len(flips) > limit else ""
    return f"Better in {side.name}: {len(flips)} questions{shown}"


def flips_table(flips: Sequence[Flip], limit: int) -> Table:
    """The first `limit` questions on which one run does better."""
    table = plain_table("Question", "Answer A", "Answer B", "Score A", "Score B")
    for flip in flips[:limit]:
        table.add_row(
            str(flip.doc_id),
            Text(_answer(flip.first_answer)),
            Text(_answer(flip.second_answer)),
            f"{flip.first_score:g}",
            f"{flip.second_score:g}",
        )
    return table


def _answer(answer: str | None) -> str:
    return "(none found)" if answer is None else answer if len(answer) <= 24 else answer[:23] + "…"
