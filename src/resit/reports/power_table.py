"""Plans: what a design can see, and what an effect needs, for single, paired and gap designs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from resit.errors import UsageError
from resit.reports.claims import LEAST_EFFECT, MOST_QUESTIONS, TaskScores, read_task
from resit.reports.gaps import checked
from resit.reports.wording import percent, points
from resit.stats import (
    confirmable_margin,
    effect_factor,
    fewest_discordant,
    fresh_questions_needed,
    gap_error,
    largest_discordance,
    normal_quantile,
    paired_error,
    power_of_test,
    questions_needed,
    repeats_error,
    repeats_needed,
    single_error,
    standard_error,
    variance_parts,
)


@dataclass(frozen=True, slots=True)
class Plan:
    """A design as far as it is fixed. Scores and effects are fractions."""

    design: str
    """`single`, `paired` or `gap`."""
    effect: float | None = None
    n: int | None = None
    n_fresh: int | None = None
    p: float = 0.8
    p_fresh: float | None = None
    discordance: float | None = None
    between: float | None = None
    """Variance between questions, omega^2; with `within`, for designs with repeats."""
    within: float | None = None
    """Variance of a sample within its question, sigma^2; of a paired difference, both sides' together."""
    repeats: int = 1
    alpha: float = 0.05
    power: float = 0.8
    sides: int = 2


@dataclass(frozen=True, slots=True)
class Findings:
    """What follows from a plan; None is "not asked", and "no number suffices" is listed in `impossible`."""

    design: str
    standard_error: float | None = None
    minimum_detectable_effect: float | None = None
    half_width: float | None = None
    """Of the 1 - alpha interval."""
    confirmable_margin: float | None = None
    """Smallest equivalence margin, where the true difference is 0."""
    power_at_effect: float | None = None
    questions_needed: int | None = None
    fresh_questions_needed: int | None = None
    repeats_needed: int | None = None
    largest_discordance: float | None = None
    impossible: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Flat, with what was not asked left out."""
        return {key: value for key, value in asdict(self).items() if value not in (None, ())}


def findings(plan: Plan) -> Findings:
    """Work a plan out. UsageError when it is too little, or impossible, to work on."""
    if plan.design not in ("single", "paired", "gap"):
        raise UsageError(f"the design is single, paired or gap, not {plan.design!r}")
    if plan.n is None and plan.effect is None:
        raise UsageError("expected --n (what can it see?), --effect (what does it need?), or both")
    if plan.effect is not None and not LEAST_EFFECT <= abs(plan.effect) < 1:
        raise UsageError(f"--effect is a fraction between 0 and 1 (0.01 is one point), not {plan.effect:g}")
    if max(plan.n or 0, plan.n_fresh or 0) > MOST_QUESTIONS:
        raise UsageError(f"expected at most {MOST_QUESTIONS:,} questions")
    for name, share in (("--p", plan.p), ("--p-fresh", plan.p_fresh), ("--discordance", plan.discordance)):
        if share is not None and not 0 <= share <= 1:
            raise UsageError(f"{name} must lie between 0 and 1, not {share:g}")
    for name, variance in (("--between", plan.between), ("--within", plan.within)):
        if variance is not None and not 0 <= variance < math.inf:
            raise UsageError(f"{name} is a variance, from 0 up, not {variance:g}")
    if plan.repeats > 1 and plan.between is None:
        raise UsageError(
            "what repeats are worth needs --between and --within",
            "resit power --from RUN… measures them in runs with several samples a question",
        )
    if (plan.between is None) != (plan.within is None):
        raise UsageError("--between and --within belong together", "resit power --from RUN… measures them")
    if plan.design == "paired" and plan.discordance is None and plan.between is None:
        raise UsageError(
            "a paired design needs --discordance, the share of questions that only one run gets right",
            "0.1 is common between different models, 0.02 between a model and its quantised self",
        )
    if (
        plan.between is None
        and plan.design == "paired"
        and abs(plan.effect or 0.0) > (plan.discordance or 0.0)
    ):
        raise UsageError(
            f"an effect of {plan.effect:g} cannot come from a discordance of {plan.discordance:g}: "
            "the runs differ in at least as many questions as their scores do",
            "raise --discordance to at least the effect",
        )
    return checked(lambda: _findings(plan))


def _findings(plan: Plan) -> Findings:
    factor = effect_factor(plan.alpha, plan.power, plan.sides)
    seen: dict[str, Any] = {}
    impossible: list[str] = []
    if plan.n is not None:
        error = _standard_error(plan, plan.n)
        if error == 0:
            raise ValueError("this design has no spread, so that nothing follows about what it sees")
        seen.update(
            standard_error=error,
            minimum_detectable_effect=min(1.0, max(factor * error, _fewest(plan) / plan.n)),
            half_width=normal_quantile(1 - plan.alpha) * error,
            confirmable_margin=confirmable_margin(error, plan.alpha, plan.power),
        )
    if plan.effect is not None:
        if plan.n is not None:
            seen["power_at_effect"] = power_of_test(plan.effect, error, plan.alpha, plan.sides)
        for name, needed in _needs(plan, plan.effect, factor):
            seen[name] = needed
            if needed is None:
                impossible.append(name)
    return Findings(plan.design, **seen, impossible=tuple(impossible))


def _fewest(plan: Plan) -> int:
    """Questions on which a pair must differ before any test can tell; 0 for other designs."""
    return (
        fewest_discordant(plan.alpha, plan.sides) if plan.design == "paired" and plan.between is None else 0
    )


def _standard_error(plan: Plan, n: int) -> float:
    if plan.between is not None and plan.within is not None:
        own = repeats_error(n, plan.between, plan.within, plan.repeats)
        if plan.design != "gap":
            return own
        fresh = repeats_error(plan.n_fresh or n, plan.between, plan.within, plan.repeats)
        return float((own**2 + fresh**2) ** 0.5)
    if plan.design == "paired":
        return paired_error(n, plan.discordance or 0.0)
    if plan.design == "gap":
        return gap_error(plan.p, n, plan.p if plan.p_fresh is None else plan.p_fresh, plan.n_fresh or n)
    return single_error(n, plan.p)


def _needs(plan: Plan, effect: float, factor: float) -> Iterator[tuple[str, Any]]:
    fewest = math.ceil(_fewest(plan) / abs(effect))
    yield "questions_needed", max(fewest, questions_needed(effect, _variance(plan, effect), factor))
    if plan.between is not None and plan.within is not None and plan.n is not None and plan.design != "gap":
        yield "repeats_needed", repeats_needed(effect, plan.n, plan.between, plan.within, factor)
    elif plan.design == "paired" and plan.n is not None:
        largest = largest_discordance(effect, plan.n, factor)
        yield "largest_discordance", largest if plan.n >= fewest and largest >= abs(effect) else None
    elif plan.design == "gap" and plan.n is not None:
        fresh = plan.p if plan.p_fresh is None else plan.p_fresh
        yield "fresh_questions_needed", fresh_questions_needed(effect, plan.p, plan.n, fresh, factor)


def _variance(plan: Plan, effect: float) -> float:
    """Per question, of what is estimated (`questions_needed` names the formulas)."""
    if plan.between is not None and plan.within is not None:
        return (plan.between + plan.within / plan.repeats) * (2 if plan.design == "gap" else 1)
    if plan.design == "paired":
        return (plan.discordance or 0.0) - effect * effect
    fresh = plan.p if plan.p_fresh is None else plan.p_fresh
    return plan.p * (1 - plan.p) + (fresh * (1 - fresh) if plan.design == "gap" else 0.0)


def measured(plan: Plan, runs: Sequence[Path], task: str | None = None, rule: str = "robust") -> Plan:
    """The plan with score, discordance and variances as they are in one run (of a pair: in two).

    The runs' number of questions fills --n when neither it nor an effect is given. UsageError for another
    number of runs, or runs that share no question.
    """
    wanted = 2 if plan.design == "paired" else 1
    if len(runs) != wanted:
        raise UsageError(f"a {plan.design} design is measured in {wanted} run(s), found {len(runs)} (--from)")
    sides = [read_task(run, task, rule) for run in runs]
    return _measured_pair(plan, *sides) if wanted == 2 else _measured_run(plan, sides[0])


def _measured_run(plan: Plan, scores: TaskScores) -> Plan:
    questions = [question.scores for question in scores.questions.values()]
    known = replace(plan, p=math.fsum(scores.means) / len(questions), n=_size(plan, len(questions)))
    if min(map(len, questions)) < 2:
        return known
    parts = checked(lambda: variance_parts(questions))
    return replace(known, between=parts.between_questions, within=parts.within_questions)


def _measured_pair(plan: Plan, first: TaskScores, second: TaskScores) -> Plan:
    pairs = [(q, second.questions[key]) for key, q in first.questions.items() if key in second.questions]
    if len(pairs) < 2:
        raise UsageError(f"{first.name} and {second.name} share no two measured questions of {first.task}")
    n = _size(plan, len(pairs))
    if min(len(side.verdicts) for pair in pairs for side in pair) < 2:
        differing = sum(a.mean != b.mean for a, b in pairs)
        return replace(plan, discordance=differing / len(pairs), n=n)
    within = [_sampling(side.scores) for pair in pairs for side in pair]
    per_mean = [_sampling(side.scores) / len(side.scores) for pair in pairs for side in pair]
    differences = [a.mean - b.mean for a, b in pairs]
    spread = standard_error(differences) ** 2 * len(pairs)
    between = max(0.0, spread - math.fsum(per_mean) / len(pairs))
    return replace(plan, between=between, within=math.fsum(within) / len(pairs), n=n)


def _sampling(scores: Sequence[float]) -> float:
    """Variance of one question's samples."""
    return standard_error(scores) ** 2 * len(scores)


def _size(plan: Plan, found: int) -> int | None:
    return found if plan.n is None and plan.effect is None else plan.n


_SENTENCES: dict[str, Callable[[Any], str]] = {
    "minimum_detectable_effect": lambda v: f"It sees effects above {points(v, signed=False)} points.",
    "half_width": lambda v: f"Its interval is {points(v, signed=False)} points wide to each side.",
    "confirmable_margin": lambda v: (
        f"It can confirm a true difference of 0 to within {points(v, signed=False)} points."
    ),
    "power_at_effect": lambda v: f"It finds the effect with probability {percent(v)}.",
    "questions_needed": lambda v: f"The effect needs {v} questions{{each}}.",
    "fresh_questions_needed": lambda v: f"Beside these seen questions it needs {v} fresh ones.",
    "repeats_needed": lambda v: f"With these questions it needs {v} samples of each.",
    "largest_discordance": lambda v: f"With these questions it is seen up to a discordance of {percent(v)}.",
}
_IMPOSSIBLE = {
    "fresh_questions_needed": "No number of fresh questions suffices: the seen set alone is too small.",
    "repeats_needed": "No number of samples suffices: the spread between questions alone is too large.",
    "largest_discordance": "These questions are too few to see it at any discordance.",
}


def power_lines(plan: Plan, found: Findings) -> Iterator[str]:
    """The findings in sentences."""
    yield f"{_described(plan)}; alpha {plan.alpha:g} ({plan.sides}-sided), power {plan.power:g}."
    for name, sentence in _SENTENCES.items():
        value = getattr(found, name)
        if value is not None:
            yield sentence(value).replace("{each}", " on each side" if plan.design == "gap" else "")
        elif name in found.impossible:
            yield _IMPOSSIBLE[name]


def _described(plan: Plan) -> str:
    sizes = [f"{plan.n} questions"] if plan.n else []
    if plan.design == "gap" and plan.n_fresh:
        sizes.append(f"{plan.n_fresh} fresh ones")
    if plan.between is not None:
        sizes.append(
            f"{plan.repeats} samples each, variance {plan.between:g} between and {plan.within:g} within"
        )
    elif plan.design == "paired":
        sizes.append(f"discordance {percent(plan.discordance or 0.0)}")
    else:
        fresh = "" if plan.p_fresh is None else f" and {percent(plan.p_fresh)}"
        sizes.append(f"score {percent(plan.p)}{fresh}")
    if plan.effect is not None:
        sizes.append(f"effect {points(plan.effect, signed=False)} points")
    return f"{plan.design.capitalize()} design: {', '.join(sizes)}"
