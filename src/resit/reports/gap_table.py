"""Gaps on a terminal: tables and sentences that claim no more than the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from resit.reports.comparison import UNKNOWN
from resit.reports.comparison_table import plain_table
from resit.reports.gap_league import GapLeague
from resit.reports.gaps import Gap, GapDifference
from resit.reports.wording import p_cell, p_text, percent, points, seen_from, sight, span

if TYPE_CHECKING:
    from resit.stats.correlations import Correlation

DIFFICULTY = (
    "A gap adds up memorisation and any difference in difficulty between the two sets; "
    "other models' gaps on the same sets tell them apart."
)


def gap_table(*gaps: Gap) -> Table:
    """One column a gap: what was measured, the gap, how sure it is."""
    table = plain_table("")
    for gap in gaps:
        table.add_column(Text(gap.model), justify="right", overflow="fold")
    for label, *cells in zip(_gap_labels(gaps), *map(_gap_cells, gaps), strict=True):
        table.add_row(Text(label), *cells)
    return table


def _gap_labels(gaps: Sequence[Gap]) -> tuple[str, ...]:
    """The rows' names; the sets' own ones where all gaps are about the same."""
    named = len({(gap.seen, gap.fresh) for gap in gaps}) == 1 and gaps[0].seen != "seen"
    sets = (f"seen: {gaps[0].seen}", f"fresh: {gaps[0].fresh}") if named else ("seen", "fresh")
    return *sets, "gap, points", "± SE", "interval", "p", "p one-sided", "detectable"


def _gap_cells(gap: Gap) -> tuple[str, ...]:
    result = gap.result
    return (
        f"{percent(gap.seen_score)} of {result.n_first}",
        f"{percent(gap.fresh_score)} of {result.n_second}",
        points(result.difference),
        points(result.standard_error, signed=False),
        f"{points(result.ci_low)} to {points(result.ci_high)}",
        p_cell(result.p_value),
        p_cell(result.p_greater),
        seen_from(result.minimum_detectable_effect),
    )


def gap_lines(gap: Gap) -> Iterator[str]:
    """Sentences: the verdict, equivalence where a margin was declared, and what limits both."""
    result = gap.result
    yield gap.verdict
    if gap.paired_by:
        left = f"; {gap.unpaired_groups} on one side only are left out" if gap.unpaired_groups else ""
        yield f"Paired by {gap.paired_by}: {result.n_first} pairs{left}."
    one_sided = p_text(result.p_greater)
    yield f"One-sided, of a higher score on {gap.seen}: {one_sided}; interval: {result.method}."
    if result.distinguishable:
        yield f"For planning: {sight(result)}."
    if result.distinguishable and result.difference > 0:
        yield DIFFICULTY
    yield from _equivalence(gap)
    if UNKNOWN in gap.protocol_differences:
        yield "The protocol of at least one side is unrecorded: whether both were asked alike is not known."
    differing = [difference for difference in gap.protocol_differences if difference != UNKNOWN]
    if differing:
        yield "The two sides were asked differently, which moves a gap by itself: " + "; ".join(differing)
    if gap.shared_questions:
        yield (
            f"{gap.shared_questions} questions are on both sides, so neither is fresh and pairing is wasted: "
            "resit compare is the test for the same questions."
        )
    if gap.unmeasured:
        yield f"{gap.unmeasured} samples have no verdict; they do not count as wrong."


def _equivalence(gap: Gap) -> Iterator[str]:
    found = gap.equivalence
    if found is None:
        return
    margin = points(found.margin, signed=False)
    if found.equivalent:
        yield f"The gap lies within {margin} points (two one-sided tests, {p_text(found.p_value)})."
        return
    yield (
        f"Not shown to lie within {margin} points (two one-sided tests, {p_text(found.p_value)}); "
        "with no gap at all, four of five repetitions of this design would confirm a margin of "
        f"{points(gap.confirmable_margin, signed=False)} points."
    )


def gap_difference_lines(found: GapDifference) -> Iterator[str]:
    """Whether one model's gap is larger than another's."""
    result = found.result
    first, second = found.first.model, found.second.model
    interval = span(result.ci_low, result.ci_high, result.confidence)
    detail = f"{interval}, {p_text(result.p_value)}, paired within each set"
    if result.distinguishable:
        larger, smaller = (first, second) if result.difference > 0 else (second, first)
        size = points(abs(result.difference), signed=False)
        yield f"The gap of {larger} is {size} points larger than that of {smaller} ({detail})."
    else:
        yield (
            f"The gaps of {first} and {second} are not distinguishable "
            f"({points(result.difference)} points; {detail}): {sight(result)}."
        )


def league_table(league: GapLeague) -> Table:
    """One row a model, with adjusted p-values."""
    names = ["Model", "Seen", "Fresh", "Gap", "Interval", "p", "Holm", "BH"]
    table = plain_table(*names)
    if league.covariate:
        table.add_column(Text(league.covariate), justify="right", overflow="fold", max_width=10)
    for standing in league.standings:
        gap, result = standing.gap, standing.gap.result
        covariate = "" if standing.covariate is None else f"{standing.covariate:.4g}"
        table.add_row(
            Text(gap.model),
            percent(gap.seen_score),
            percent(gap.fresh_score),
            points(standing.value),
            f"{points(result.ci_low)} to {points(result.ci_high)}",
            p_cell(standing.p_value),
            p_cell(standing.p_holm),
            p_cell(standing.p_benjamini_hochberg),
            *([covariate] if league.covariate else []),
        )
    return table


def league_lines(league: GapLeague) -> Iterator[str]:
    """Sentences: how many gaps remain after correction, what the printed table agrees with, correlations."""
    total = len(league.standings)
    first = league.standings[0].gap
    yield (
        f"{league.count()} of {total} models have a two-sided p below .05; {league.count('p_holm')} remain "
        f"after Holm, {league.count('p_benjamini_hochberg')} after Benjamini-Hochberg."
    )
    agreed, printed = league.recomputed
    if printed:
        yield f"{agreed} of {printed} printed gaps follow from the printed scores to within their rounding."
    sees = sorted(standing.gap.result.minimum_detectable_effect for standing in league.standings)
    sizes = f"{first.result.n_first} seen and {first.result.n_second} fresh questions"
    least, most = map(seen_from, (sees[0], sees[-1]))
    above = f"{least} points" if least == most else f"{least} to {most} points, depending on the score"
    yield f"With {sizes} these designs see gaps above {above}."
    for found in league.correlations:
        yield _correlation_line(found, league.covariate or "")


_SYMBOLS = {"spearman": "Spearman's rho", "pearson": "Pearson's r", "kendall": "Kendall's tau-b"}


def _correlation_line(found: Correlation, covariate: str) -> str:
    holds_zero = found.ci_low <= 0 <= found.ci_high
    ending = "; the interval contains 0, so no link is shown" if holds_zero else ""
    interval = f"bootstrap {100 * found.confidence:g} % interval {found.ci_low:.3f} to {found.ci_high:.3f}"
    return (
        f"Gap against {covariate}, n = {found.n}: {_SYMBOLS[found.coefficient]} = {found.value:.3f}, "
        f"{p_text(found.p_value)}, {interval}{ending}."
    )
