"""The gap between questions a model may have seen and questions it cannot have seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from resit.errors import IdentityMismatch, UsageError
from resit.reports.claims import TaskScores, read_task
from resit.reports.comparison import UNKNOWN, Method, compare_scores, protocol_differences
from resit.reports.wording import verdict
from resit.stats import (
    Difference,
    Equivalence,
    confirmable_margin,
    difference_of,
    effect_factor,
    gap_test,
    gap_tost,
    unpaired_difference,
    unpaired_tost,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Gap:
    """Seen score less fresh score of one model; positive where it does better on what it may have seen."""

    model: str
    seen: str
    """How the seen set is called."""
    fresh: str
    seen_score: float
    fresh_score: float
    result: Difference
    equivalence: Equivalence | None = None
    """Of "the gap is smaller than the margin", where a margin was declared."""
    protocol_differences: tuple[str, ...] = ()
    unmeasured: int = 0
    """Samples of both sides without a verdict."""
    shared_questions: int = 0
    """Questions on both sides: a gap should have none, and an unpaired test wastes them."""
    paired_by: str = ""
    """The documents' field whose values are the pairs; empty: nothing is paired."""
    unpaired_groups: int = 0
    """Values of that field that only one side has; left out."""

    @property
    def verdict(self) -> str:
        """Whether the two sets can be told apart, in one sentence."""
        return verdict(self.result, self.seen, self.fresh)

    @property
    def confirmable_margin(self) -> float:
        """The smallest margin that this design could confirm as "no gap" with power .8.

        From the error behind the detectable effect, which is not 0 where all answers are alike.
        """
        result = self.result
        planned = result.minimum_detectable_effect / effect_factor(1 - result.confidence)
        return min(1.0, confirmable_margin(planned))

    def as_json(self) -> dict[str, Any]:
        """Flat: the keys of `Difference`, both scores, the equivalence test where there is one."""
        flat = {
            "model": self.model,
            "seen": self.seen,
            "fresh": self.fresh,
            "seen_score": self.seen_score,
            "fresh_score": self.fresh_score,
            **asdict(self.result),
            "confirmable_margin": self.confirmable_margin,
            "protocol_differences": list(self.protocol_differences),
            "unmeasured": self.unmeasured,
            "shared_questions": self.shared_questions,
        }
        if self.paired_by:
            flat |= {"paired_by": self.paired_by, "unpaired_groups": self.unpaired_groups}
        if self.equivalence:
            flat["equivalence"] = {
                **asdict(self.equivalence),
                "p_value": self.equivalence.p_value,
                "equivalent": self.equivalence.equivalent,
            }
        return flat


def gap_of_counts(
    seen: tuple[float, float],
    fresh: tuple[float, float],
    *,
    model: str = "the model",
    names: tuple[str, str] = ("seen", "fresh"),
    confidence: float = 0.95,
    margin: float | None = None,
) -> Gap:
    """The gap from (right, asked) on each set. UsageError for impossible counts or margin."""
    result = checked(lambda: gap_test(*seen, *fresh, confidence))
    equivalence = checked(lambda: gap_tost(*seen, *fresh, margin)) if margin is not None else None
    scores = seen[0] / seen[1], fresh[0] / fresh[1]
    return Gap(model, *names, *scores, result, equivalence)


def gap_of_runs(
    seen: str | Path,
    fresh: str | Path,
    seen_task: str | None = None,
    fresh_task: str | None = None,
    *,
    rule: str = "robust",
    confidence: float = 0.95,
    margin: float | None = None,
    across_protocols: bool = False,
) -> Gap:
    """The gap between a task of one scored run folder and a task of another (or of the same).

    Raises IdentityMismatch when the two were asked differently (naming how), unless that is allowed;
    UsageError where a run, task or rule is not there, or the scores allow no test.
    """
    return gap_of_scores(
        read_task(Path(seen), seen_task, rule),
        read_task(Path(fresh), fresh_task, rule),
        confidence=confidence,
        margin=margin,
        across_protocols=across_protocols,
    )


def gap_of_scores(
    seen: TaskScores,
    fresh: TaskScores,
    *,
    confidence: float = 0.95,
    margin: float | None = None,
    across_protocols: bool = False,
) -> Gap:
    """The gap between two tasks' scores; see `gap_of_runs`."""
    differing = list(protocol_differences(seen, fresh))
    if differing and differing != [UNKNOWN] and not across_protocols:
        raise _asked_differently(seen, fresh, differing)
    a, b = seen.means, fresh.means
    names = {name for name in (seen.model, fresh.model) if name}
    return Gap(
        model=names.pop() if len(names) == 1 else f"{seen.name} / {fresh.name}",
        seen=seen.task if seen.task != fresh.task else seen.name,
        fresh=fresh.task if seen.task != fresh.task else fresh.name,
        seen_score=sum(a) / len(a),
        fresh_score=sum(b) / len(b),
        result=checked(lambda: unpaired_difference(a, b, confidence)),
        equivalence=checked(lambda: unpaired_tost(a, b, margin)) if margin is not None else None,
        protocol_differences=(*_models(seen, fresh), *differing),
        unmeasured=seen.unmeasured + fresh.unmeasured,
        shared_questions=len(seen.questions.keys() & fresh.questions.keys()),
    )


def _asked_differently(seen: TaskScores, fresh: TaskScores, differing: Sequence[str]) -> IdentityMismatch:
    return IdentityMismatch(
        f"{seen.task} of {seen.name} and {fresh.task} of {fresh.name} were asked differently: "
        f"{'; '.join(differing)}",
        "their gap would mix memorisation and protocol: `resit tasks list` names the pairs that are asked "
        "alike; --across-protocols reports the gap all the same",
    )


def _models(seen: TaskScores, fresh: TaskScores) -> list[str]:
    """That another model answered, the gravest of differences between two halves; told, not refused."""
    return [f"model: {seen.model} against {fresh.model}"] if seen.model != fresh.model else []


@dataclass(frozen=True, slots=True)
class GapDifference:
    """How much larger one model's gap is than another's, paired within each set."""

    first: Gap
    second: Gap
    result: Difference

    def as_json(self) -> dict[str, Any]:
        """The keys of `Difference`, and both gaps."""
        return {**asdict(self.result), "first": self.first.as_json(), "second": self.second.as_json()}


def difference_of_gaps(
    first: tuple[TaskScores, TaskScores],
    second: tuple[TaskScores, TaskScores],
    *,
    confidence: float = 0.95,
    across_protocols: bool = False,
) -> GapDifference:
    """First model's gap less the second's, from each model's (seen, fresh) scores on the same two sets.

    The models are paired question by question within each set, and the sets' variances add. Raises
    IdentityMismatch when the models were asked differently, UsageError when no question is shared.
    """
    method = Method(confidence=confidence, across_protocols=across_protocols)
    seen = compare_scores(first[0], second[0], method).result
    fresh = compare_scores(first[1], second[1], method).result
    return GapDifference(
        first=gap_of_scores(*first, confidence=confidence, across_protocols=across_protocols),
        second=gap_of_scores(*second, confidence=confidence, across_protocols=across_protocols),
        result=checked(lambda: difference_of(seen, fresh, confidence)),
    )


def gaps_compared(
    first: Sequence[Path],
    second: Sequence[Path],
    tasks: tuple[str | None, str | None] = (None, None),
    rule: str = "robust",
    confidence: float = 0.95,
    *,
    across_protocols: bool = False,
) -> GapDifference:
    """`difference_of_gaps` of two models, each given as its (SEEN, FRESH) run folders; raises as it does."""
    if len(first) != 2 or len(second) != 2:
        raise UsageError(
            f"expected a SEEN and a FRESH run for each model, found {len(first)} and {len(second)}"
        )
    sides = [
        (read_task(model[0], tasks[0], rule), read_task(model[1], tasks[1], rule))
        for model in (first, second)
    ]
    return difference_of_gaps(sides[0], sides[1], confidence=confidence, across_protocols=across_protocols)


def checked(compute: Callable[[], T]) -> T:
    """What `compute` returns; the library's ValueError becomes a UsageError."""
    try:
        return compute()
    except ValueError as error:
        raise UsageError(f"no test is possible: {error}") from error
