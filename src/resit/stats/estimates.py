"""A score with its error bar, from every question's samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from resit.stats.clusters import standard_error
from resit.stats.intervals import (
    Interval,
    bounded_mean_interval,
    clopper_pearson_interval,
    jeffreys_interval,
    student_quantile,
    wilson_interval,
)

IntervalMethod: TypeAlias = Literal["auto", "wilson", "clopper-pearson", "jeffreys", "clustered", "bootstrap"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean score over questions.

    Error and limits are None where the data define none (a single question with repeats, scores outside 0..1
    that are all alike).
    """

    value: float
    standard_error: float | None
    ci_low: float | None
    ci_high: float | None
    confidence: float
    questions: int
    samples: int
    method: str
    """How the interval is made, and from which unit."""


def estimate(
    scores: Sequence[Sequence[float]], confidence: float = 0.95, method: IntervalMethod = "auto"
) -> Estimate:
    """Mean over questions of each question's mean score, with its error over questions and its interval.

    `scores` holds one sequence a question, one score a sample. `auto`: Wilson for one right-or-wrong sample a
    question, otherwise `bounded_mean_interval` over question means (equal to the CR1 clustered error when all
    have as many samples), or Student's t where scores leave 0..1. `bootstrap` resamples questions; where all
    have one mean their spread says nothing, and the interval is that of `auto`. Questions without a sample
    are left out. Miller 2024, arXiv 2411.00640. ValueError when no question has a sample, or the method does
    not fit the scores.
    """
    groups = [question for question in scores if question]
    if not groups:
        raise ValueError("undefined: no question has a measured sample")
    means = [math.fsum(question) / len(question) for question in groups]
    single = all(len(question) == 1 for question in groups) and all(mean in (0, 1) for mean in means)
    interval, name = _interval(means, single, confidence, method)
    return Estimate(
        value=math.fsum(means) / len(means),
        standard_error=standard_error(means) if len(means) > 1 else None,
        ci_low=interval.low if interval else None,
        ci_high=interval.high if interval else None,
        confidence=confidence,
        questions=len(groups),
        samples=sum(len(question) for question in groups),
        method=name,
    )


def _interval(
    means: Sequence[float], single: bool, confidence: float, method: IntervalMethod
) -> tuple[Interval | None, str]:
    fitting: IntervalMethod = "wilson" if single else "clustered"
    spread = len(means) > 1 and standard_error(means) > 1e-9
    chosen = fitting if method == "auto" or (method == "bootstrap" and not spread) else method
    if chosen in ("wilson", "clopper-pearson", "jeffreys"):
        if not single:
            raise ValueError(
                f"the {chosen} interval needs one right-or-wrong sample a question; use clustered"
            )
        return _counted(round(math.fsum(means)), len(means), confidence, chosen)
    if len(means) < 2:
        return None, "none: a single question has no spread"
    if chosen == "bootstrap":
        from resit.stats.bootstrap import bootstrap_interval

        return bootstrap_interval(means, confidence), "BCa bootstrap over questions"
    if all(0 <= mean <= 1 for mean in means):
        return bounded_mean_interval(means, confidence), "Wilson at effective size, over questions"
    if not spread:
        return None, "none: questions that all score alike have no spread"
    half = student_quantile(confidence, len(means) - 1) * standard_error(means)
    centre = math.fsum(means) / len(means)
    return Interval(centre - half, centre + half), "Student's t over questions"


def _counted(successes: int, n: int, confidence: float, method: IntervalMethod) -> tuple[Interval, str]:
    if method == "clopper-pearson":
        return clopper_pearson_interval(successes, n, confidence), "Clopper-Pearson"
    if method == "jeffreys":
        return jeffreys_interval(successes, n, confidence), "Jeffreys"
    return wilson_interval(successes, n, confidence), "Wilson"
