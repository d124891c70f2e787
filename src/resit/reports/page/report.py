"""A report of runs as one HTML file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from resit.reports.charts.style import painted
from resit.reports.page.gathering import Gathered, gather
from resit.reports.page.html import file_page
from resit.reports.page.packing import BUDGET, pack, packed_rows
from resit.reports.page.source import RunSource
from resit.reports.page.summary import (
    Pair,
    ScoredRun,
    labelled,
    quoted_rule,
    summary,
    task_rules,
    tasks_of_all,
)
from resit.reports.results import read_results


def html_report(sources: Sequence[RunSource], pairs: Iterable[Pair] = (), notes: Iterable[str] = ()) -> str:
    """The report of one or more scored runs. `notes` are said on it: what of the input could not be used.

    Raises UsageError where a run is not scored or its derived files are damaged.
    """
    runs = labelled(sources, [read_results(source.path) for source in sources])
    gathered = gather_all(runs)
    packed = pack(runs, gathered, BUDGET)
    whole, specs = summary(runs, gathered, pairs, packed.held())
    whole["notes"] += [*notes, *_not_shown(runs, gathered)]
    return file_page(whole, painted(specs, "page"), packed_rows(gathered, packed), packed.blocks)


def _not_shown(runs: Sequence[ScoredRun], gathered: Mapping[str, Gathered]) -> Iterator[str]:
    """What is scored and has no row, because its question or its text is gone from the folder."""
    for task, found in gathered.items():
        for index, run in enumerate(runs):
            sides = [side for row in found.rows.rows.values() if (side := row["sides"][index])]
            shown = sum(side["samples"] for side in sides)
            scored = ((run.about(task) or {}).get("samples") or {}).get("scored", 0)
            if shown < scored:
                yield (
                    f"{run.label}: {scored - shown} of {scored} scored samples of {task} cannot be shown: "
                    "their questions or texts are no longer in the folder."
                )


def gather_all(runs: Sequence[ScoredRun]) -> dict[str, Gathered]:
    """What one pass over each task of the runs finds."""
    return {
        task: gather(
            task,
            [run.source if run.about(task) else None for run in runs],
            task_rules(runs, task),
            quoted_rule(runs, task),
        )
        for task in tasks_of_all(runs)
    }
