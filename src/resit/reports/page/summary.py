"""What stands above the sample browser: claims, scores, counts, warnings, comparisons, gaps, charts."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from resit.errors import ResitError
from resit.reports.charts.style import Spec
from resit.reports.claims import TaskScores, read_task
from resit.reports.comparison import Comparison, Method, compare_scores
from resit.reports.comparison_table import comparison_lines
from resit.reports.gap_league import Entry, gap_league
from resit.reports.gap_table import gap_lines
from resit.reports.gaps import Gap, gap_of_scores
from resit.reports.page import drawing
from resit.reports.page.data import (
    ComparisonEntry,
    Example,
    GapEntry,
    Held,
    RunEntry,
    Standing,
    Summary,
    TaskEntry,
    WarningEntry,
)
from resit.reports.page.figures import claim, counts, facts, figures, flat
from resit.reports.page.gathering import Gathered
from resit.reports.page.source import RunSource
from resit.reports.paired_gaps import paired_gap_of_runs
from resit.reports.wording import percent, points
from resit.stats import holm


class Pair(NamedTuple):
    """Two tasks between which a gap means something, and how it is read."""

    seen: str
    fresh: str
    rule: str = "robust"
    by: str = ""
    """The documents' field by which the questions are paired; empty: they are not."""


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """A run with its results, and how the page calls it."""

    source: RunSource
    results: Mapping[str, Any]
    label: str

    def about(self, task: str) -> Mapping[str, Any] | None:
        """The run's entry of a task; None where it has none."""
        found: Mapping[str, Any] | None = self.results["resit"]["tasks"].get(task)
        return found

    def scores(self, task: str, rule: str) -> TaskScores:
        """The run's verdicts of a rule, under its label."""
        return replace(read_task(self.source.path, task, rule), name=self.label)


def labelled(sources: Sequence[RunSource], results: Sequence[Mapping[str, Any]]) -> list[ScoredRun]:
    """The runs, each under its model's name where that tells them apart, else under its folder's."""
    models = [found.get("config", {}).get("model_name") for found in results]
    folders = [source.path.resolve().name for source in sources]
    names = models if all(models) and len(set(models)) == len(models) else folders
    seen: Counter[str] = Counter()
    runs = []
    for source, found, name in zip(sources, results, names, strict=True):
        shown = printable(str(name))
        seen[shown] += 1
        label = shown if seen[shown] == 1 else f"{shown} ({seen[shown]})"
        runs.append(ScoredRun(source, found, label))
    return runs


def printable(name: str) -> str:
    """A name that cannot turn a sentence around or break it: what does not print is named by its number."""
    return "".join(char if char.isprintable() else f"U+{ord(char):04X}" for char in name)


def task_rules(runs: Sequence[ScoredRun], task: str) -> list[str]:
    """Every rule that gives verdicts on a task in any of the runs, in order."""
    abouts = (run.about(task) or {} for run in runs)
    return list(dict.fromkeys(rule for about in abouts for rule in about.get("rules", {})))


def quoted_rule(runs: Sequence[ScoredRun], task: str) -> str:
    """The rule that a task is quoted by; `robust` or the first where the runs do not say."""
    rules = task_rules(runs, task)
    for run in runs:
        quoted = (run.about(task) or {}).get("headline", "").partition(",")[2]
        if quoted in rules:
            return str(quoted)
    return "robust" if "robust" in rules else next(iter(rules), "robust")


def tasks_of_all(runs: Sequence[ScoredRun]) -> list[str]:
    """The tasks of all runs, each once, in order."""
    return list(dict.fromkeys(task for run in runs for task in run.results["resit"]["tasks"]))


class _Page:
    """Gathers the parts of one summary, with what could not be made."""

    def __init__(self, runs: Sequence[ScoredRun]) -> None:
        self.runs = runs
        self.notes: list[str] = []
        self.charts: list[drawing.Chart] = []

    def task(self, name: str, found: Gathered | None) -> TaskEntry:
        standings = [standing(index, run, name) for index, run in enumerate(self.runs) if run.about(name)]
        quoted = quoted_rule(self.runs, name)
        charts = [*self._task_charts(name, standings, quoted, found)]
        comparisons = [*self._comparisons(name, quoted)]
        self.charts += charts
        return TaskEntry(
            name=name,
            rules=task_rules(self.runs, name),
            quoted=quoted,
            repeats=found.repeats if found else 1,
            rows=len(found.rows.rows) if found else 0,
            claim=_claim(name, standings, comparisons),
            standings=standings,
            comparisons=comparisons,
            charts=[drawn.entry["id"] for drawn in charts],
        )

    def _task_charts(
        self, name: str, standings: Sequence[Standing], quoted: str, found: Gathered | None
    ) -> Iterator[drawing.Chart]:
        labels = [run.label for run in self.runs]
        yield from drawing.score_charts(name, labels, standings)
        yield from drawing.sampling_charts(name, labels, [run.about(name) for run in self.runs], quoted)
        if found is not None:
            yield from drawing.vote_charts(name, labels, found)
            yield from drawing.length_charts(name, labels, found)

    def _comparisons(self, task: str, rule: str) -> Iterator[ComparisonEntry]:
        with_task = [index for index, run in enumerate(self.runs) if run.about(task)]
        found: list[tuple[int, Comparison]] = []
        try:
            sides = [self.runs[index].scores(task, rule) for index in with_task if len(with_task) > 1]
            for second, side in zip(with_task[1:], sides[1:], strict=True):
                found.append((second, compare_scores(sides[0], side, Method(across_protocols=True))))
        except ResitError as error:
            self.notes.append(f"{task}: the runs are not compared: {error}")
        adjusted = holm([comparison.result.p_value for _, comparison in found])
        for (second, comparison), p in zip(found, adjusted, strict=True):
            several = replace(comparison, p_adjusted=p) if len(found) > 1 else comparison
            yield _comparison(with_task[0], second, several)


def gaps_of(runs: Sequence[ScoredRun], pairs: Iterable[Pair], notes: list[str]) -> list[Gap]:
    """The gap of every model of which the runs hold both tasks of a pair; what has none goes to `notes`."""
    found = []
    for pair in pairs:
        for seen, fresh in itertools.product(runs, runs):
            if seen.about(pair.seen) and fresh.about(pair.fresh) and _same_model(seen, fresh):
                try:
                    gap = _gap_of(seen, fresh, pair)
                    found.append(replace(gap, model=printable(gap.model)))
                except ResitError as error:
                    notes.append(f"no gap between {pair.seen} and {pair.fresh}: {error}")
    return found


def summary(
    runs: Sequence[ScoredRun],
    gathered: Mapping[str, Gathered],
    pairs: Iterable[Pair],
    held: Held,
    *,
    live: bool = False,
) -> tuple[Summary, dict[str, Spec]]:
    """The summary and the charts' specifications by id.

    Tasks that are not in `gathered` have no charts of samples. `pairs` are the tasks between which a gap
    means something; those that the runs hold for one model are reported.
    """
    page = _Page(runs)
    tasks = [page.task(name, gathered.get(name)) for name in tasks_of_all(runs)]
    gaps = gaps_of(runs, pairs, page.notes)
    charts = [*drawing.gap_charts(gaps), *page.charts]
    whole = Summary(
        title=_title(runs, tasks),
        resit=str(runs[0].source.record.get("resit", "")),
        runs=[_run(run) for run in runs],
        tasks=tasks,
        gaps=[_gap_entry(gap) for gap in gaps],
        gaps_claim=_gaps_claim(gaps),
        charts=[drawn.entry for drawn in charts],
        notes=page.notes,
        held=held,
        live=live,
    )
    return whole, {drawn.entry["id"]: drawn.spec for drawn in charts}


def _claim(task: str, standings: Sequence[Standing], comparisons: Sequence[ComparisonEntry]) -> str:
    if len(standings) == 1:
        return standings[0]["claim"]
    if len(comparisons) == 1:
        return comparisons[0]["verdict"]
    scores = [f["score"] for standing in standings for f in standing["figures"] if f["quoted"]]
    if not scores:
        return f"{len(standings)} runs of {task}, none of which has a score."
    return f"{len(standings)} runs of {task} score from {percent(min(scores))} to {percent(max(scores))}."


def standing(index: int, run: ScoredRun, task: str) -> Standing:
    """What one run says about one of its tasks."""
    about = run.results["resit"]["tasks"][task]
    found, counted = figures(run.results, task), counts(about)
    return Standing(
        run=index,
        claim=claim(run.label, task, found, counted),
        figures=found,
        counts=counted,
        warnings=[_warning(task, warning) for warning in about.get("warnings", ())],
        facts=_facts(run, task, about),
        protocol=[*flat(about.get("protocol") or {})],
    )


def _facts(run: ScoredRun, task: str, about: Mapping[str, Any]) -> list[str]:
    record = run.source.record
    own = record.get("identity", {}).get("tasks", {}).get(task) or {}
    digest = str(record.get("digest", ""))
    return [*facts(about, own.get("dataset") or own), *([f"identity {digest[:12]}"] if digest else [])]


def _warning(task: str, warning: Mapping[str, Any]) -> WarningEntry:
    examples = (warning.get("evidence") or {}).get("examples") or []
    named = [e for e in examples if isinstance(e, Mapping) and isinstance(e.get("doc_id"), int)]
    return WarningEntry(
        kind=str(warning.get("kind", "")),
        message=str(warning.get("message", "")),
        examples=[Example(id=f"{task}/{e['doc_id']}", repeat=int(e.get("repeat", 0))) for e in named],
    )


def _comparison(first: int, second: int, found: Comparison) -> ComparisonEntry:
    return ComparisonEntry(
        first=first,
        second=second,
        rule=found.first.rule,
        verdict=found.verdict,
        lines=[*comparison_lines(found)][1:],
        agreement=_agreement(found),
    )


def _agreement(found: Comparison) -> dict[str, int]:
    """Questions by which run does better; where neither does, by whether both are mostly right."""
    alike = [
        question.mean
        for key, question in found.first.questions.items()
        if (other := found.second.questions.get(key)) is not None and other.mean == question.mean
    ]
    both = sum(mean > 0.5 for mean in alike)
    first, second = len(found.better_in_first), len(found.better_in_second)
    return {"both": both, "first": first, "second": second, "neither": len(alike) - both}


def _gap_of(seen: ScoredRun, fresh: ScoredRun, pair: Pair) -> Gap:
    if not pair.by:
        return gap_of_scores(seen.scores(pair.seen, pair.rule), fresh.scores(pair.fresh, pair.rule))
    paths = seen.source.path, fresh.source.path
    return paired_gap_of_runs(*paths, pair.by, pair.seen, pair.fresh, rule=pair.rule)


def _same_model(seen: ScoredRun, fresh: ScoredRun) -> bool:
    names = [run.results.get("config", {}).get("model_name") for run in (seen, fresh)]
    return names[0] == names[1] and names[0] is not None


def _gaps_claim(gaps: Sequence[Gap]) -> str:
    if len(gaps) < 2:
        return "".join(f"{gap.model}: {gap.verdict}" for gap in gaps)
    league = gap_league([Entry(gap) for gap in gaps])
    low, high = (points(pick(gap.result.difference for gap in gaps)) for pick in (min, max))
    told = league.count("p_holm")
    return f"{len(gaps)} gaps, from {low} to {high} points; {told} can be told from none (Holm-adjusted)."


def _gap_entry(gap: Gap) -> GapEntry:
    return GapEntry(
        model=gap.model,
        seen=gap.seen,
        fresh=gap.fresh,
        seen_score=gap.seen_score,
        fresh_score=gap.fresh_score,
        verdict=gap.verdict,
        lines=[*gap_lines(gap)][1:],
    )


def _run(run: ScoredRun) -> RunEntry:
    record = run.source.record
    samples = [about.get("samples", {}) for about in run.results["resit"]["tasks"].values()]
    return RunEntry(
        name=run.label,
        model=str(run.results.get("config", {}).get("model_name") or run.label),
        created=str(record.get("created", "")),
        digest=str(record.get("digest", "")),
        identity=[*flat({key: record.get(key) for key in ("identity", "environment") if record.get(key)})],
        unfinished=any(counted.get("missing") for counted in samples),
    )


def _title(runs: Sequence[ScoredRun], tasks: Sequence[TaskEntry]) -> str:
    who = " and ".join(run.label for run in runs) if len(runs) <= 2 else f"{len(runs)} runs"
    what = ", ".join(task["name"] for task in tasks) if len(tasks) <= 3 else f"{len(tasks)} tasks"
    return f"{who} on {what}"
