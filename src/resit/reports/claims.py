"""What can be claimed of a task of a run under a rule: scores with interval, n, unit, and what is missing."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from resit.errors import UsageError
from resit.grading.symbolic import OVERRUN
from resit.records import SampleScore, Verdict
from resit.reports.repeats import RepeatMetric, question_votes, repeat_estimates
from resit.reports.results import read_results
from resit.reports.scores import read_scores
from resit.stats import Estimate, estimate
from resit.stats.estimates import IntervalMethod

Metric: TypeAlias = Literal["accuracy"] | RepeatMetric

LEAST_EFFECT, MOST_QUESTIONS = 1e-6, 10**12
"""Beyond these a number is a slip of the hand, and its square soon no float."""


@dataclass(frozen=True, slots=True)
class QuestionSamples:
    """One question's measured samples under one rule, by repeat."""

    doc_id: int
    doc_hash: str
    verdicts: tuple[Verdict, ...]

    @property
    def scores(self) -> list[float]:
        """One score a sample."""
        return [verdict.correct for verdict in self.verdicts]

    @property
    def mean(self) -> float:
        """The question's mean score."""
        return math.fsum(self.scores) / len(self.verdicts)


@dataclass(frozen=True, slots=True)
class TaskScores:
    """One task of one run under one rule. Questions without a measured sample are counted, not listed."""

    name: str
    """How the run is called in a table: its folder's name."""
    task: str
    rule: str
    questions: Mapping[str, QuestionSamples]
    """By document hash, in the order of the file."""
    samples: int
    errored: int = 0
    """Samples that failed for reasons that are not the model's."""
    truncated: int = 0
    unextracted: int = 0
    overrun: int = 0
    """Samples whose answer the rule gave up on: not known to be wrong, so neither measured nor missing."""
    planned: int | None = None
    """Samples that the run owes in all; None when it does not say."""
    model: str | None = None
    protocol: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def missing(self) -> int:
        """Samples that were planned and are neither measured nor errored."""
        return max(0, (self.planned or 0) - self.samples - self.errored - self.overrun)

    @property
    def unmeasured(self) -> int:
        """Samples without a verdict, for whatever reason."""
        return self.errored + self.overrun + self.missing

    @property
    def means(self) -> list[float]:
        """One mean score a question."""
        return [question.mean for question in self.questions.values()]

    @property
    def repeats(self) -> int:
        """The most samples that any question has."""
        return max((len(question.verdicts) for question in self.questions.values()), default=0)


def collect(samples: Iterable[SampleScore], task: str, rule: str, name: str = "") -> TaskScores:
    """The samples of a task under a rule, by question.

    UsageError when none is measured or the rule is unknown.
    """
    verdicts: dict[str, list[tuple[int, Verdict]]] = {}
    doc_ids: dict[str, int] = {}
    count: Counter[str] = Counter()
    known: dict[str, None] = {}
    for sample in samples:
        if sample.task != task:
            continue
        known.update(dict.fromkeys(sample.verdicts))
        if sample.error is not None:
            count["errored"] += 1
        elif (verdict := sample.verdicts.get(rule)) is not None:
            if verdict.reason == OVERRUN:
                count["overrun"] += 1
                continue
            doc_ids[sample.doc_hash] = sample.doc_id
            verdicts.setdefault(sample.doc_hash, []).append((sample.repeat, verdict))
            count["samples"] += 1
            count["truncated"] += sample.truncated
            count["unextracted"] += verdict.extracted is None
    if not verdicts:
        _nothing_measured(name or "the run", task, rule, known)
    questions = {
        key: QuestionSamples(doc_ids[key], key, tuple(verdict for _, verdict in _by_repeat(found)))
        for key, found in verdicts.items()
    }
    return TaskScores(
        name,
        task,
        rule,
        questions,
        count["samples"],
        errored=count["errored"],
        truncated=count["truncated"],
        unextracted=count["unextracted"],
        overrun=count["overrun"],
    )


def _by_repeat(found: list[tuple[int, Verdict]]) -> list[tuple[int, Verdict]]:
    return sorted(found, key=lambda entry: entry[0])


def _nothing_measured(name: str, task: str, rule: str, known: Mapping[str, None]) -> None:
    if known:
        raise UsageError(
            f"{name}: task {task!r} has no verdicts of the rule {rule!r}",
            f"it has {', '.join(known)} (--rule)",
        )
    raise UsageError(f"{name} holds no measured sample of task {task!r}", "run it first")


def tasks_of(run: Path) -> list[str]:
    """The tasks of a scored run, in its order. UsageError when it is not scored."""
    return list(read_results(run).get("resit", {}).get("tasks", {}))


def read_task(run: Path, task: str | None = None, rule: str = "robust") -> TaskScores:
    """One task of a scored run folder; without a name, the only one.

    UsageError where that is not to be had.
    """
    results = read_results(run)
    tasks = results.get("resit", {}).get("tasks", {})
    name = _task_name(run, list(tasks), task)
    about = tasks[name]
    return replace(
        collect(read_scores(run), name, rule, run.resolve().name),
        planned=about.get("samples", {}).get("planned"),
        model=results.get("config", {}).get("model_name"),
        protocol=about.get("protocol"),
    )


def _task_name(run: Path, tasks: Sequence[str], task: str | None) -> str:
    if task is None and len(tasks) != 1:
        raise UsageError(
            f"{run} holds {len(tasks)} tasks, so one must be named", f"it has {', '.join(tasks)}"
        )
    if task is not None and task not in tasks:
        raise UsageError(f"{run} has no scored task {task!r}", f"it has {', '.join(tasks) or 'none'}")
    return task or tasks[0]


@dataclass(frozen=True, slots=True)
class Claim:
    """One number with all that belongs beside it."""

    task: str
    rule: str
    metric: Metric
    k: int | None
    """Samples that the metric draws; None where it is about all of them."""
    estimate: Estimate
    unextracted: int
    truncated: int
    errored: int
    overrun: int
    missing: int

    def as_json(self) -> dict[str, Any]:
        """Flat, with what is undefined left out."""
        flat = asdict(self)
        flat.update(flat.pop("estimate"))
        return {key: value for key, value in flat.items() if value is not None}


def accuracy(scores: TaskScores, confidence: float = 0.95, method: IntervalMethod = "auto") -> Claim:
    """Mean score of the measured samples, with its interval over questions."""
    values = [question.scores for question in scores.questions.values()]
    return _claim(scores, "accuracy", None, estimate(values, confidence, method))


def share_of_all(scores: TaskScores) -> float:
    """Score with every sample that has no verdict counted as wrong: the least the run can come to."""
    right = math.fsum(score for question in scores.questions.values() for score in question.scores)
    return right / (scores.samples + scores.unmeasured)


def sampling_claims(
    scores: TaskScores, ks: Sequence[int] | None = None, confidence: float = 0.95
) -> list[Claim]:
    """pass@k, pass^k, maj@k for each k that every question allows, and consistency; empty for single samples.

    Only for right-or-wrong verdicts; a rule that gives shares has none of these.
    """
    questions = scores.questions.values()
    found = repeat_estimates(
        [question.scores for question in questions],
        [question_votes(question.verdicts) for question in questions],
        ks,
        confidence,
    )
    return [_claim(scores, metric, k, estimated) for metric, k, estimated in found]


def with_intervals(results: Mapping[str, Any], run: Path, method: IntervalMethod) -> dict[str, Any]:
    """The results of a scored run with every rule's interval made by another method.

    Raises UsageError where the method does not fit the scores (a count, of several samples).
    """
    samples = list(read_scores(run))
    changed = copy.deepcopy(dict(results))
    for task, summary in changed["resit"]["tasks"].items():
        for rule, row in summary["rules"].items():
            try:
                found = accuracy(collect(samples, task, rule, run.name), method=method).estimate
            except ValueError as error:
                raise UsageError(
                    f"{task}, {rule}: {error}", "--interval bootstrap fits any scores"
                ) from error
            row.update(ci_low=found.ci_low, ci_high=found.ci_high, interval=found.method)
    return changed


def _claim(scores: TaskScores, metric: Metric, k: int | None, found: Estimate) -> Claim:
    return Claim(
        task=scores.task,
        rule=scores.rule,
        metric=metric,
        k=k,
        estimate=found,
        unextracted=scores.unextracted,
        truncated=scores.truncated,
        errored=scores.errored,
        overrun=scores.overrun,
        missing=scores.missing,
    )
