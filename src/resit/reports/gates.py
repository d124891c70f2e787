"""A gate for releases: is a run at most a margin worse than its baseline, or at least as good as a bound?

Three answers, from a one-sided interval: yes, no, and "cannot tell". A failure holds at any size. A pass or a
"cannot tell" is only given for a design that could see the margin; others are refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from resit.errors import UsageError
from resit.reports.claims import LEAST_EFFECT, TaskScores, accuracy, read_task, tasks_of
from resit.reports.comparison import Comparison, Method, compare_runs
from resit.reports.gaps import checked
from resit.reports.wording import percent, points
from resit.stats import Difference, effect_factor, fewest_discordant, questions_needed

Outcome: TypeAlias = Literal["pass", "fail", "undecided", "refused"]

WORDS: dict[Outcome, str] = {
    "pass": "passes",
    "fail": "fails",
    "undecided": "cannot tell",
    "refused": "refused: the design cannot see the margin",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One condition on one task, and whether it holds."""

    name: str
    task: str
    outcome: Outcome
    reason: str
    """One sentence."""
    value: float
    """The score, or the run's score less the baseline's."""
    bound: float
    """What `value` must truly not fall below."""
    low: float
    """One-sided lower limit of `value`."""
    high: float
    """One-sided upper limit of `value`."""
    questions: int
    incomplete: bool = False
    """A pass was held back because too much is not measured; no option lets that through."""
    minimum_detectable_effect: float | None = None
    questions_needed: int | None = None
    """For the margin, at this discordance; where the design is too small."""

    def as_json(self) -> dict[str, Any]:
        """Flat, with what is undefined left out."""
        return {key: value for key, value in asdict(self).items() if value is not None}


def overall(checks: Sequence[Check]) -> Outcome:
    """The gravest outcome: a failure, then a refusal, then "cannot tell"."""
    order: tuple[Outcome, ...] = ("fail", "refused", "undecided", "pass")
    return min((check.outcome for check in checks), key=order.index)


@dataclass(frozen=True, slots=True)
class Gate:
    """What is asked of a run."""

    margin: float | None = None
    """How much worse than the baseline is still good enough; a fraction, 0.01 is one point."""
    min_score: float | None = None
    alpha: float = 0.05
    """One-sided error of each decision."""
    max_unmeasured: float = 0.01
    """Share of its samples, or of the baseline's questions, that the run may lack and still pass."""

    def __post_init__(self) -> None:
        """Raise UsageError for settings that make no gate."""
        for name, value in (("--margin", self.margin), ("--min-score", self.min_score)):
            if value is not None and not LEAST_EFFECT <= value < 1:
                raise UsageError(f"{name} is a fraction between 0 and 1 (0.01 is one point), not {value}")
        if not 0 < self.alpha < 0.5:
            raise UsageError(f"--alpha must lie between 0 and 0.5, not {self.alpha}")
        if not 0 <= self.max_unmeasured <= 1:
            raise UsageError(f"--max-unmeasured is a share between 0 and 1, not {self.max_unmeasured}")


def gate_run(
    run: Path,
    gate: Gate,
    baseline: Path | None = None,
    tasks: Sequence[str] = (),
    rule: str = "robust",
    *,
    across_protocols: bool = False,
) -> list[Check]:
    """Check each task of a scored run against its baseline and its least score.

    Raises UsageError when nothing is asked or shared, IdentityMismatch when run and baseline were asked
    differently.
    """
    if (baseline is None) != (gate.margin is None):
        raise UsageError(
            "--baseline and --margin belong together", "for example: --baseline runs/last --margin 0.01"
        )
    if baseline is None and gate.min_score is None:
        raise UsageError("a gate needs --baseline with --margin, or --min-score")
    checks = []
    for task in tasks or _tasks(run, baseline):
        if baseline is not None:
            method = Method(confidence=1 - 2 * gate.alpha, across_protocols=across_protocols)
            checks.append(margin_check(compare_runs(run, baseline, task, rule, method), gate))
        if gate.min_score is not None:
            checks.append(score_check(read_task(run, task, rule), gate))
    return checks


def _tasks(run: Path, baseline: Path | None) -> list[str]:
    mine = tasks_of(run)
    shared = [task for task in mine if baseline is None or task in tasks_of(baseline)]
    if not shared:
        raise UsageError(f"{run} and {baseline} share no task", f"{run} has {', '.join(mine)}")
    return shared


def margin_check(comparison: Comparison, gate: Gate) -> Check:
    """Whether the run is at most the margin worse than the baseline, by a 1 - 2 alpha interval.

    Fails when the one-sided upper limit of run - baseline lies below -margin, passes when the lower limit
    lies above it (Tango 1998 for single samples, Student's t otherwise). Refuses when so few questions could
    not show the margin whatever they said, or when they leave it open and their detectable effect exceeds it.
    """
    margin, result = gate.margin or 0.0, comparison.result
    outcome, reason = _margin_outcome(result, margin, gate)
    lacking = comparison.only_second / (comparison.only_second + result.n_first)
    unmeasured = _too_many_unmeasured(comparison.first, gate)
    incomplete = outcome == "pass" and (lacking > gate.max_unmeasured or bool(unmeasured))
    if incomplete:
        outcome = "undecided"
        reason = unmeasured
        if lacking > gate.max_unmeasured:
            reason = f"{comparison.only_second} of the baseline's questions are not measured in the run"
    return Check(
        name=f"at most {points(margin, signed=False)} points below {comparison.second.name}",
        task=comparison.first.task,
        outcome=outcome,
        reason=reason,
        value=result.difference,
        bound=-margin,
        low=result.ci_low,
        high=result.ci_high,
        questions=result.n_first,
        incomplete=incomplete,
        minimum_detectable_effect=result.minimum_detectable_effect,
        questions_needed=_needed(comparison, margin, gate.alpha) if outcome == "refused" else None,
    )


def _too_many_unmeasured(scores: TaskScores, gate: Gate) -> str:
    """Why the run cannot pass, if too many of its samples have no verdict; else nothing."""
    unmeasured = scores.unmeasured
    if unmeasured > gate.max_unmeasured * (scores.samples + unmeasured):
        return f"{unmeasured} samples have no verdict, too many for a pass"
    return ""


def _margin_outcome(result: Difference, margin: float, gate: Gate) -> tuple[Outcome, str]:
    n, effect = result.n_first, points(result.minimum_detectable_effect, signed=False)
    limits = f"one-sided limits {points(result.ci_low)} and {points(result.ci_high)} points"
    found = f"{points(result.difference)} points against the baseline, {limits}"
    if result.ci_high < -margin:
        return "fail", f"{found}: worse by more than the margin"
    if fewest_discordant(2 * gate.alpha) > margin * n:
        return (
            "refused",
            f"{n} questions cannot show {points(margin, signed=False)} points, whatever they say",
        )
    if result.ci_low > -margin:
        return "pass", f"{found}: not worse by the margin"
    if result.minimum_detectable_effect > margin:
        return "refused", f"{found}; these {n} questions see only effects above {effect} points"
    return "undecided", f"{found}: the margin lies between the limits"


def _needed(comparison: Comparison, margin: float, alpha: float) -> int:
    """Questions with which the margin is detectable one-sided, at the spread that was found."""
    result = comparison.result
    variance = result.standard_error**2 * result.n_first
    if result.test.startswith("McNemar"):
        variance = (len(comparison.better_in_first) + len(comparison.better_in_second)) / result.n_first
    floor = math.ceil(fewest_discordant(2 * alpha) / margin)
    return max(floor, questions_needed(margin, variance, effect_factor(alpha, sides=1)))


def score_check(scores: TaskScores, gate: Gate) -> Check:
    """Whether the run's true score reaches the least score: passes or fails when both limits agree."""
    bound = gate.min_score or 0.0
    claim = checked(lambda: accuracy(scores, 1 - 2 * gate.alpha))
    found = claim.estimate
    low = 0.0 if found.ci_low is None else found.ci_low
    high = 1.0 if found.ci_high is None else found.ci_high
    outcome: Outcome = "pass" if low >= bound else "fail" if high < bound else "undecided"
    limits = f"score {percent(found.value)}, one-sided limits {percent(low)} and {percent(high)}"
    endings = {"pass": "not below", "fail": "below", "undecided": "not told apart from"}
    reason = f"{limits}: {endings[outcome]} {percent(bound)}"
    unmeasured = _too_many_unmeasured(scores, gate)
    incomplete = outcome == "pass" and bool(unmeasured)
    if incomplete:
        outcome = "undecided"
        reason = f"{limits}, but {unmeasured}"
    return Check(
        name=f"score of at least {percent(bound)}",
        task=scores.task,
        outcome=outcome,
        reason=reason,
        value=found.value,
        bound=bound,
        low=low,
        high=high,
        questions=found.questions,
        incomplete=incomplete,
    )
