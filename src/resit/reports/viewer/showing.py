"""What the page asks for, of some runs at once: the same shapes as in a report, made from the index."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from resit.errors import UsageError
from resit.records import Question, ScoringRules
from resit.reports.charts.style import Spec
from resit.reports.claims import TaskScores
from resit.reports.page.data import Detail, Held, RowsPart, Summary
from resit.reports.page.source import Answered
from resit.reports.page.summary import (
    Pair,
    ScoredRun,
    labelled,
    quoted_rule,
    summary,
    task_rules,
    tasks_of_all,
)
from resit.reports.viewer.catalogue import readable
from resit.reports.viewer.counting import gathered, task_scores
from resit.reports.viewer.finding import Hunts
from resit.reports.viewer.index import Array
from resit.reports.viewer.listing import Asked, TaskListing
from resit.reports.viewer.making import RulesOf
from resit.reports.viewer.open_runs import OpenRun
from resit.reports.viewer.provisional import provisional_results
from resit.reports.viewer.reading import read_question
from resit.reports.viewer.run_line import is_being_written
from resit.reports.viewer.sides import Sides
from resit.reports.viewer.workshop import Workshop

_NUMBERED = re.compile(r"#([0-9]{1,12})")
READ_SECONDS = 0.15
"""For so long a run is read before what is known of it is shown; the rest follows."""
SEARCH_SECONDS = 0.4
"""For so long a search is waited for before what it found is shown."""


class Part(RowsPart):
    """Rows, and how far they are from being all."""

    read: float
    """Share of the runs' files that has been read."""
    searched: float
    """Share of the texts that has been searched."""
    version: list[int]
    """Of each run's index."""


@dataclass(frozen=True, slots=True)
class IndexedSource:
    """A run as the page's summary wants it; nothing is read through it but its path and record."""

    path: Path
    record: Mapping[str, Any]

    def rules(self, task: str) -> ScoringRules:
        """The index holds what the rules made."""
        raise NotImplementedError

    def questions(self, task: str) -> Iterator[Question]:
        """The index counts them."""
        raise NotImplementedError

    def answered(self, task: str) -> Iterator[Answered]:
        """The index counts them."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class IndexedRun(ScoredRun):
    """A run whose scores come from its index, not from its files."""

    sides: Sides

    def scores(self, task: str, rule: str) -> TaskScores:
        """One task's scores under a rule."""
        model = self.results.get("config", {}).get("model_name")
        return task_scores(self.sides, self.label, self.about(task) or {}, model, task, rule)


class Showing:
    """Some runs, shown together. Made anew for each set of runs; what is costly is kept by its parts."""

    def __init__(self, runs: Sequence[OpenRun], hunts: Hunts, workshop: Workshop, rules_of: RulesOf) -> None:
        self.runs = tuple(runs)
        self._hunts, self._workshop, self._rules_of = hunts, workshop, rules_of
        self._listings: dict[str, tuple[list[int], TaskListing]] = {}
        self._overview: tuple[Any, tuple[Summary, dict[str, Spec]]] | None = None

    def sides(self, seconds: float = READ_SECONDS) -> list[Sides]:
        """Each run's questions, counted. Raises UsageError for a run that cannot be read."""
        return [run.sides(seconds) for run in self.runs]

    def listing(self, task: str, sides: Sequence[Sides]) -> TaskListing:
        """A task's rows. Raises UsageError where no run has them."""
        versions = _versions(sides)
        known = self._listings.get(task)
        if known is None or known[0] != versions:
            known = self._listings[task] = versions, TaskListing(task, sides)
        if not known[1].ids and all(side.snapshot.read == 1 for side in sides):
            raise UsageError(f"no run holds a question of task {task!r}")
        return known[1]

    def rows(self, task: str, asked: Asked, search: str, offset: int, count: int) -> Part:
        """Some of the rows that a query lists."""
        listing = self.listing(task, self.sides())
        self._check(asked)
        found, searched = self._found(listing, asked, search) if search else (None, 1.0)
        part = listing.part(asked, found, offset, count)
        read = min(side.snapshot.read for side in listing.sides)
        return Part(**part, read=read, searched=searched, version=_versions(listing.sides))

    def _check(self, asked: Asked) -> None:
        wanted = [asked.run] if asked.against is None else [asked.run, asked.against]
        if any(not 0 <= run < len(self.runs) for run in wanted):
            raise UsageError(f"there is no run {max(wanted)} among {len(self.runs)}")

    def _found(self, listing: TaskListing, asked: Asked, search: str) -> tuple[Array, float]:
        numbered = _NUMBERED.fullmatch(search)
        if numbered:
            return listing.doc_ids == int(numbered[1]), 1.0
        rows = np.zeros(len(listing.ids), bool)
        shares = []
        for run in [asked.run] if asked.against is None else [asked.run, asked.against]:
            taken = listing.sides[run].snapshot
            found, share = self._hunts.find(self.runs[run].found.id, taken, search, SEARCH_SECONDS)
            rows = rows | listing.of_run(run, found)
            shares.append(share)
        return rows, min(shares)

    def sample(self, row_id: str) -> Detail:
        """All about one question; UsageError where there is none of that name."""
        listing = self._listing_of(row_id)
        row = listing.rows[row_id]
        numbers = listing.numbers[:, row]
        run = int(np.argmax(numbers >= 0))
        question = read_question(listing.sides[run].snapshot, int(numbers[run]))
        target = question.target if question else ""
        return Detail(
            id=row_id,
            task=listing.task,
            doc_id=int(listing.doc_ids[row]),
            doc_hash=listing.sides[run].snapshot.doc_hashes[int(numbers[run])],
            target=target if isinstance(target, str) else "\n".join(target),
            fields=dict(question.document.fields) if question else {},
            sides=[
                own.detail(listing.task, int(number), self._workshop, self._rules_of) if number >= 0 else None
                for own, number in zip(self.runs, numbers, strict=True)
            ],
        )

    def _listing_of(self, row_id: str) -> TaskListing:
        sides = self.sides()
        for task in dict.fromkeys(task for side in sides for task in side.snapshot.tasks):
            if row_id.startswith(f"{task}/"):
                listing = self.listing(task, sides)
                if row_id in listing.rows:
                    return listing
        raise UsageError(f"there is no question {row_id!r:.80}")

    def scores(self, task: str, rule: str) -> TaskScores:
        """The first run's scores; UsageError where it has none of that task and rule."""
        run = self._scored(self.sides(float("inf")))[0]
        return replace(run.scores(task, rule), name=self.runs[0].found.name)

    def progress(self) -> dict[str, Any]:
        """How far the runs are: `version` changes when something new is to be shown."""
        sides = self.sides()
        runs = self._scored(sides)
        return {
            "version": _versions(sides),
            "read": min(side.snapshot.read for side in sides),
            "live": any(self.is_live(run, side) for run, side in zip(self.runs, sides, strict=True)),
            "runs": [_progress(run, side) for run, side in zip(runs, sides, strict=True)],
        }

    def overview(self, pairs: Sequence[Pair] = ()) -> tuple[Summary, dict[str, Spec]]:
        """What stands above the rows, and the charts by id; made again only when something changed."""
        sides = self.sides()
        state = [
            (side.snapshot.version, run.results(), run.grading_problem, self.is_live(run, side))
            for run, side in zip(self.runs, sides, strict=True)
        ]
        if self._overview is None or self._overview[0] != state:
            try:
                self._overview = state, self._summary(sides, pairs)
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                names = ", ".join(run.found.name for run in self.runs)
                raise UsageError(
                    f"run.json or results.json of {names} is not what Resit writes: {error!r}",
                    "`resit score` writes results.json anew",
                ) from error
        return self._overview[1]

    def _summary(self, sides: Sequence[Sides], pairs: Sequence[Pair]) -> tuple[Summary, dict[str, Spec]]:
        runs = self._scored(sides)
        found = {
            task: gathered(task, sides, task_rules(runs, task), quoted_rule(runs, task))
            for task in tasks_of_all(runs)
        }
        texts = sum(side.snapshot.samples for side in sides)
        held = Held(texts=texts, of=texts, rule="")
        live = any(self.is_live(run, side) for run, side in zip(self.runs, sides, strict=True))
        whole, charts = summary(runs, found, pairs, held, live=live)
        notes = [note for run, side in zip(self.runs, sides, strict=True) for note in _notes(run, side)]
        whole["notes"] = [*notes, *whole["notes"]]
        for entry in whole["tasks"]:
            listing = self.listing(entry["name"], sides)
            entry["rows"], entry["repeats"] = len(listing.ids), _repeats(sides, entry["name"])
        return whole, charts

    def _scored(self, sides: Sequence[Sides]) -> list[IndexedRun]:
        results = [_results(run, side) for run, side in zip(self.runs, sides, strict=True)]
        sources = [IndexedSource(run.found.files.path, run.record()) for run in self.runs]
        made = zip(labelled(sources, results), sides, strict=True)
        return [IndexedRun(run.source, run.results, run.label, side) for run, side in made]

    @staticmethod
    def is_live(run: OpenRun, side: Sides) -> bool:
        """Whether more may come: a process writes the run, or it is not read to its end."""
        return side.snapshot.read < 1 or is_being_written(run.found.files)


def _versions(sides: Sequence[Sides]) -> list[int]:
    return [side.snapshot.version for side in sides]


def _repeats(sides: Sequence[Sides], task: str) -> int:
    """The most samples that a question of a task has in any run."""
    most = 1
    for side in sides:
        counts = (side.samples + side.errored)[np.array([name == task for name in side.snapshot.tasks], bool)]
        most = max(most, int(counts.max(initial=0)))
    return most


def _results(run: OpenRun, side: Sides) -> Mapping[str, Any]:
    """What `results.json` says where it is about all that is on file, else what the index has counted."""
    results = run.results()
    if results and not is_being_written(run.found.files) and _is_about(results["resit"]["tasks"], side):
        return results
    return provisional_results(side, run.record())


def _is_about(known: Mapping[str, Any], side: Sides) -> bool:
    """Whether the results count what the index counts; before all is read, they are taken at their word."""
    taken = side.snapshot
    if taken.read < 1:
        return True
    tasks = np.array(taken.tasks, object)
    for task in dict.fromkeys(taken.tasks):
        counts = known.get(task, {}).get("samples", {})
        found = [int(column[tasks == task].sum()) for column in (side.samples, side.errored)]
        if found != [0, 0] and found != [counts.get("scored"), counts.get("errored")]:
            return False
    return True


def _notes(run: OpenRun, side: Sides) -> Iterator[str]:
    """What is wrong with a run's files, or unfinished."""
    taken, name = side.snapshot, run.found.name
    unfiled = int((~taken.errored & (~taken.scored | (taken.score_place < 0))).sum())
    if unfiled and taken.read == 1 and not is_being_written(run.found.files):
        command = f"resit score {readable(str(run.found.files.path))}"
        yield f"{name}: {unfiled} of {taken.samples} samples have no scores on file: {command}"
    if run.grading_problem:
        yield f"{name}: {run.grading_problem}"
    yield from (f"{name}: {problem}" for problem in taken.problems)
    if taken.more_problems:
        yield f"{name}: {taken.more_problems} more lines are damaged"


def _progress(run: IndexedRun, side: Sides) -> dict[str, Any]:
    tasks = run.results["resit"]["tasks"]
    return {
        "name": run.label,
        "samples": int(side.samples.sum()),
        "errored": int(side.errored.sum()),
        "planned": sum(about["samples"]["planned"] for about in tasks.values()),
        "pending": int((~side.snapshot.scored & ~side.snapshot.errored).sum()),
    }
