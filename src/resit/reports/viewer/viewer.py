"""The viewer's state, and what it answers: one method for each question that an address can ask."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from resit.errors import ResitError, UsageError
from resit.reports.charts.style import painted
from resit.reports.comparison import compare_scores
from resit.reports.comparison_table import comparison_lines
from resit.reports.gap_table import gap_lines
from resit.reports.gaps import gap_of_scores
from resit.reports.page.data import PromptText
from resit.reports.page.html import summary_part
from resit.reports.page.summary import Pair
from resit.reports.results import score_interval
from resit.reports.viewer import asking
from resit.reports.viewer.asking import Query
from resit.reports.viewer.catalogue import Found
from resit.reports.viewer.finding import Hunts
from resit.reports.viewer.making import Lines, RulesOf, show_lines
from resit.reports.viewer.open_runs import OpenRuns
from resit.reports.viewer.pages import NOTHING, ChartLibrary, report_page
from resit.reports.viewer.provisional import provisional_results
from resit.reports.viewer.run_line import RunLine, lines_of
from resit.reports.viewer.showing import READ_SECONDS, Showing
from resit.reports.viewer.table import RunsTable
from resit.reports.viewer.workshop import Workshop

_SHOWINGS = 16


class NotFound(ResitError):
    """There is no such run, task or question (any more)."""


@dataclass(frozen=True, slots=True)
class Ticked:
    """A task of a run, ticked in the table."""

    run: str
    task: str


class Viewer:
    """A folder of runs, open for looking. Safe to use from several threads."""

    def __init__(self, root: Path, rules_of: RulesOf, pairs: Sequence[Pair] = ()) -> None:
        self.table = RunsTable(root.resolve(strict=True), self._counted)
        self._rules_of, self._pairs = rules_of, pairs
        self._open, self._hunts = OpenRuns(), Hunts()
        self._showing_workshop, self._grading_workshop = Workshop(), Workshop()
        self._showings: OrderedDict[tuple[str, ...], Showing] = OrderedDict()
        self._lock = threading.Lock()
        self.library = ChartLibrary()

    def start(self) -> None:
        """Begin to look around in the folder, and make ready what takes long when it is first needed."""
        self.table.start()
        threading.Thread(target=self._warm_up, daemon=True, name="warm up").start()

    def _warm_up(self) -> None:
        score_interval((0.0, 0.5), single=False)  # loads what computes intervals
        with contextlib.suppress(ResitError):
            nothing = Lines(b"", (), ()), PromptText(shared="", lead="", own="")
            self._showing_workshop.call(show_lines, None, {}, *nothing, seconds=60.0)
        report_page(NOTHING)
        self.library.make()

    def close(self) -> None:
        """Stop everything that goes on in the background."""
        self.table.close()
        self._showing_workshop.close()
        self._grading_workshop.close()
        self.library.close()

    def runs(self, query: Query) -> dict[str, Any]:
        """Some rows of the table of runs."""
        return self.table.part(asking.table_asked(query))

    def table_state(self, query: Query) -> dict[str, Any]:
        """Changes when the table of runs does."""
        return self.table.state()

    def _counted(self, found: Found, line: RunLine) -> RunLine:
        """The line of a run in progress, with what is on file by now."""
        run = self._open.get(found)
        run.grade(self._grading_workshop, self._rules_of)
        try:
            results = provisional_results(run.sides(READ_SECONDS), run.record())
        except ResitError:
            return line
        return replace(line, tasks=tuple(lines_of(results)))

    def summary(self, query: Query) -> dict[str, Any]:
        """`page.data.Summary` of some runs."""
        return dict(self._showing(query).overview(self._pairs)[0])

    def top(self, query: Query) -> dict[str, Any]:
        """The summary, and as HTML what the page shows of it above the sample browser."""
        summary = self._showing(query).overview(self._pairs)[0]
        return {"summary": summary, "html": summary_part(summary)}

    def chart(self, query: Query) -> dict[str, Any]:
        """A chart's Vega-Lite specification."""
        charts = self._showing(query).overview(self._pairs)[1]
        name = asking.text(query, "id")
        if name not in charts:
            raise NotFound(f"there is no chart {name!r}")
        return dict(painted(charts[name], "page"))

    def rows(self, query: Query) -> dict[str, Any]:
        """`page.data.RowsPart` of a query, and how far it is from being all."""
        offset = asking.whole(query, "offset", 0, 10**9)
        count = asking.whole(query, "count", 100, asking.MOST_ROWS)
        asked, search = asking.rows_asked(query), asking.text(query, "search").strip()
        return dict(self._showing(query).rows(asking.text(query, "task"), asked, search, offset, count))

    def sample(self, query: Query) -> dict[str, Any]:
        """`page.data.Detail` of a question."""
        return dict(self._showing(query).sample(asking.text(query, "id")))

    def progress(self, query: Query) -> dict[str, Any]:
        """How far some runs are, and whether something changed."""
        return self._showing(query).progress()

    def compare(self, query: Query) -> dict[str, Any]:
        """The comparison of two ticked tasks: a verdict and its limits. IdentityMismatch where refused."""
        first, second = self._two(query)
        if first.run == second.run and first.task == second.task:
            raise UsageError("a comparison needs two different runs")
        scores = [self._scores(side, query) for side in (first, second)]
        found = compare_scores(scores[0], scores[1])
        return {"verdict": found.verdict, "lines": [*comparison_lines(found)][1:], **found.as_json()}

    def gap(self, query: Query) -> dict[str, Any]:
        """The gap of two ticked tasks, the first of them seen. IdentityMismatch where refused."""
        seen, fresh = self._two(query)
        if seen.run == fresh.run and seen.task == fresh.task:
            raise UsageError("a gap needs a seen and a fresh set of questions")
        found = gap_of_scores(self._scores(seen, query), self._scores(fresh, query))
        return {"verdict": found.verdict, "lines": [*gap_lines(found)][1:], **found.as_json()}

    def _two(self, query: Query) -> tuple[Ticked, Ticked]:
        first, second = (
            Ticked(asking.text(query, name), asking.text(query, f"{name}_task"))
            for name in ("first", "second")
        )
        return first, second

    def _scores(self, ticked: Ticked, query: Query) -> Any:
        showing = self._showing_of((ticked.run,))
        return showing.scores(ticked.task, asking.text(query, "rule", "robust"))

    def _showing(self, query: Query) -> Showing:
        return self._showing_of(tuple(dict.fromkeys(asking.run_ids(query))))

    def _showing_of(self, ids: tuple[str, ...]) -> Showing:
        found = [self._found(run_id) for run_id in ids]
        with self._lock:
            showing = self._showings.get(ids)
            runs = [self._open.get(run) for run in found]
            if showing is None or any(a is not b for a, b in zip(showing.runs, runs, strict=True)):
                showing = Showing(runs, self._hunts, self._showing_workshop, self._rules_of)
                self._showings[ids] = showing
            self._showings.move_to_end(ids)
            while len(self._showings) > _SHOWINGS:
                self._showings.popitem(last=False)
        for run in runs:
            run.grade(self._grading_workshop, self._rules_of)
        return showing

    def _found(self, run_id: str) -> Found:
        found = self.table.find(run_id)
        if found is None:
            raise NotFound("there is no such run (any more)")
        if found.problem:
            raise UsageError(f"{found.name}: {found.problem}")
        return found
