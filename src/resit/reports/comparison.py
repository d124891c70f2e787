"""Two or more runs on the same questions: differences, tests, and the questions on which they part."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from resit.differences import differences
from resit.errors import IdentityMismatch, UsageError
from resit.reports.claims import QuestionSamples, TaskScores, read_task, tasks_of
from resit.reports.wording import verdict
from resit.stats import (
    Difference,
    Interval,
    benjamini_hochberg,
    holm,
    paired_difference,
    unpaired_difference,
)

Correction: TypeAlias = Literal["holm", "bh", "none"]

CORRECTIONS: dict[Correction, Callable[[Sequence[float]], list[float]]] = {
    "holm": holm,
    "bh": benjamini_hochberg,
    "none": list,
}


@dataclass(frozen=True, slots=True)
class Flip:
    """A question on which the runs differ, with what each answered in its first sample and its mean score."""

    doc_id: int
    first_answer: str | None
    second_answer: str | None
    first_score: float
    second_score: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """One task of two runs. `result.difference` is the first's score less the second's."""

    first: TaskScores
    second: TaskScores
    result: Difference
    paired: bool
    first_score: float
    """Over the questions that are compared."""
    second_score: float
    only_first: int
    """Questions measured in the first run only, and so left out of a paired comparison."""
    only_second: int
    better_in_first: tuple[Flip, ...] = ()
    better_in_second: tuple[Flip, ...] = ()
    bootstrap: Interval | None = None
    p_adjusted: float | None = None
    """p-value adjusted for all comparisons made at once."""
    protocol_differences: tuple[str, ...] = ()
    """How the protocols differ, where that was allowed; `unknown` where a run does not tell its own."""

    @property
    def verdict(self) -> str:
        """Whether the two can be told apart, in one sentence."""
        return verdict(self.result, self.first.name, self.second.name)

    def as_json(self) -> dict[str, Any]:
        """Flat: the keys of `Difference`, both sides, the flips."""
        bootstrap = self.bootstrap
        optional = {
            "bootstrap_ci_low": bootstrap.low if bootstrap else None,
            "bootstrap_ci_high": bootstrap.high if bootstrap else None,
            "p_adjusted": self.p_adjusted,
        }
        flips = {
            "better_in_first": [asdict(flip) for flip in self.better_in_first],
            "better_in_second": [asdict(flip) for flip in self.better_in_second],
        }
        return {
            "task": self.first.task,
            "rule": self.first.rule,
            "first": _side(self.first, self.first_score),
            "second": _side(self.second, self.second_score),
            "paired": self.paired,
            "questions": self.result.n_first,
            "measured_in_first_only": self.only_first,
            "measured_in_second_only": self.only_second,
            **asdict(self.result),
            **{key: value for key, value in optional.items() if value is not None},
            **(flips if self.paired else {}),
            "protocol_differences": list(self.protocol_differences),
        }


def _side(scores: TaskScores, score: float) -> dict[str, Any]:
    return {
        "run": scores.name,
        "model": scores.model,
        "score": score,
        "samples": scores.samples,
        "unextracted": scores.unextracted,
        "truncated": scores.truncated,
        "errored": scores.errored,
        "overrun": scores.overrun,
        "missing": scores.missing,
    }


@dataclass(frozen=True, slots=True)
class Method:
    """How two runs are compared."""

    paired: bool = True
    exact: bool = False
    """McNemar's exact test in place of its mid-p."""
    bootstrap: bool = False
    """A bootstrap interval over questions beside the other, where what it resamples is not all alike."""
    confidence: float = 0.95
    across_protocols: bool = False
    """Compare although the protocols differ, naming how."""


DEFAULT = Method()


def compare_runs(
    first: str | Path,
    second: str | Path,
    task: str | None = None,
    rule: str = "robust",
    method: Method = DEFAULT,
) -> Comparison:
    """Compare one task of two scored run folders, question by question.

    Raises IdentityMismatch when the protocols differ (naming how), UsageError when no question is shared.
    """
    sides = [read_task(Path(run), task, rule) for run in (first, second)]
    return compare_scores(sides[0], sides[1], method)


def compare_tasks(
    runs: Sequence[Path],
    tasks: Sequence[str],
    second_task: str,
    rule: str = "robust",
    method: Method = DEFAULT,
) -> Comparison:
    """Compare a task of one run with another task of another that asks the same questions.

    Raises UsageError unless there are two runs and at most one first task.
    """
    if len(runs) != 2 or len(tasks) > 1:
        raise UsageError("comparing two tasks needs two runs, and one task of the first")
    first = read_task(runs[0], tasks[0] if tasks else None, rule)
    return compare_scores(first, read_task(runs[1], second_task, rule), method)


def compare_scores(first: TaskScores, second: TaskScores, method: Method = DEFAULT) -> Comparison:
    """Compare two runs' scores; see `compare_runs`."""
    differing = tuple(protocol_differences(first, second))
    if differing and differing != (UNKNOWN,) and not method.across_protocols:
        raise IdentityMismatch(
            f"{first.name} and {second.name} were asked differently: {'; '.join(differing)}",
            "their difference would mix model and protocol; --across-protocols compares all the same",
        )
    compare = _paired if method.paired else _unpaired
    return replace(compare(first, second, method), protocol_differences=differing)


def _paired(first: TaskScores, second: TaskScores, method: Method) -> Comparison:
    shared = [key for key in first.questions if key in second.questions]
    if not shared:
        raise UsageError(
            f"{first.name} and {second.name} share no measured question of {first.task}",
            "pairing goes by the documents' content; --unpaired compares different questions",
        )
    pairs = [(first.questions[key], second.questions[key]) for key in shared]
    a, b = [x.mean for x, _ in pairs], [y.mean for _, y in pairs]
    result = _checked(lambda: paired_difference(a, b, method.confidence, exact=method.exact))
    return Comparison(
        first=first,
        second=second,
        result=result,
        paired=True,
        first_score=sum(a) / len(a),
        second_score=sum(b) / len(b),
        only_first=len(first.questions) - len(shared),
        only_second=len(second.questions) - len(shared),
        better_in_first=tuple(_flip(x, y) for x, y in pairs if x.mean > y.mean),
        better_in_second=tuple(_flip(x, y) for x, y in pairs if x.mean < y.mean),
        bootstrap=_paired_bootstrap(a, b, method),
    )


def _unpaired(first: TaskScores, second: TaskScores, method: Method) -> Comparison:
    a, b = first.means, second.means
    result = _checked(lambda: unpaired_difference(a, b, method.confidence))
    shared = first.questions.keys() & second.questions.keys()
    return Comparison(
        first=first,
        second=second,
        result=result,
        paired=False,
        first_score=sum(a) / len(a),
        second_score=sum(b) / len(b),
        only_first=len(a) - len(shared),
        only_second=len(b) - len(shared),
        bootstrap=_unpaired_bootstrap(a, b, method),
    )


def _paired_bootstrap(a: Sequence[float], b: Sequence[float], method: Method) -> Interval | None:
    if not method.bootstrap:
        return None
    from resit.stats import bootstrap_interval  # here, for it loads numpy

    with suppress(ValueError):  # a single question, or all of them alike
        return bootstrap_interval([x - y for x, y in zip(a, b, strict=True)], method.confidence)
    return None


def _unpaired_bootstrap(a: Sequence[float], b: Sequence[float], method: Method) -> Interval | None:
    if not method.bootstrap:
        return None
    from resit.stats import bootstrap_difference

    with suppress(ValueError):
        return bootstrap_difference(a, b, method.confidence)
    return None


def _checked(compute: Callable[[], Difference]) -> Difference:
    try:
        return compute()
    except ValueError as error:
        raise UsageError(f"these scores cannot be compared: {error}") from error


def _flip(x: QuestionSamples, y: QuestionSamples) -> Flip:
    return Flip(x.doc_id, x.verdicts[0].extracted, y.verdicts[0].extracted, x.mean, y.mean)


UNKNOWN = "unknown"


def protocol_differences(first: TaskScores, second: TaskScores) -> Iterator[str]:
    """The fields in which two runs' protocols differ, with both values; `unknown` where unrecorded."""
    if not first.protocol or not second.protocol:
        yield UNKNOWN
        return
    for path, ours, theirs in differences(first.protocol, second.protocol):
        yield f"{path}: {ours} against {theirs}"


def compare_many(
    runs: Sequence[Path],
    tasks: Sequence[str] = (),
    rule: str = "robust",
    method: Method = DEFAULT,
    *,
    all_pairs: bool = False,
    correction: Correction = "holm",
) -> list[Comparison]:
    """Every task that runs share, the first run against each other one (or all pairs), p-values adjusted.

    The p-values of everything compared in one call form one family. UsageError when nothing is shared.
    """
    pairs = list(itertools.combinations(runs, 2)) if all_pairs else [(runs[0], run) for run in runs[1:]]
    found = [
        compare_runs(first, second, task, rule, method)
        for first, second in pairs
        for task in _shared_tasks(first, second, tasks)
    ]
    adjusted = CORRECTIONS[correction]([comparison.result.p_value for comparison in found])
    if len(found) < 2 or correction == "none":
        return found
    return [replace(comparison, p_adjusted=p) for comparison, p in zip(found, adjusted, strict=True)]


def _shared_tasks(first: Path, second: Path, wanted: Sequence[str]) -> list[str]:
    theirs = tasks_of(second)
    shared = [task for task in tasks_of(first) if task in theirs]
    missing = [task for task in wanted if task not in shared]
    if missing or not shared:
        raise UsageError(
            f"{first} and {second} do not share the task {missing[0]!r}"
            if missing
            else f"{first} and {second} share no task",
            f"shared: {', '.join(shared)}"
            if shared
            else "for two data sets, resit gap compares a seen and a fresh one",
        )
    return list(wanted) or shared
