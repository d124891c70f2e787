"""What k samples a question would score, for every k that all questions allow."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from resit.stats.clusters import standard_error
from resit.stats.estimates import Estimate
from resit.stats.intervals import bounded_mean_interval
from resit.stats.samples import pass_at_k, pass_pow_k
from resit.stats.votes import maj_curve

CurveKind: TypeAlias = Literal["pass", "pass_pow", "maj"]


@dataclass(frozen=True, slots=True)
class QuestionVotes:
    """A question's samples, counted: right ones, votes for each wrong answer, and samples that give none."""

    right: int
    wrong: tuple[int, ...] = ()
    abstentions: int = 0

    @property
    def samples(self) -> int:
        """How many samples the question has."""
        return self.right + sum(self.wrong) + self.abstentions

    @property
    def counts(self) -> tuple[int, ...]:
        """Votes by answer, the right answer's first."""
        return (self.right, *self.wrong)


def count_votes(answers: Sequence[str | None], correct: Sequence[bool]) -> QuestionVotes:
    """The votes of one question's samples: right answers are one class however written, None abstains.

    ValueError for lengths that differ or for an answer that is right in one sample and wrong in another.
    """
    if len(answers) != len(correct):
        raise ValueError(f"{len(answers)} answers but {len(correct)} verdicts")
    right = {answer for answer, is_right in zip(answers, correct, strict=True) if is_right}
    wrong = Counter(
        answer for answer, ok in zip(answers, correct, strict=True) if not ok and answer is not None
    )
    if right & wrong.keys():
        raise ValueError(f"the same answer is both right and wrong: {sorted(map(str, right & wrong.keys()))}")
    abstentions = sum(answer is None and not ok for answer, ok in zip(answers, correct, strict=True))
    return QuestionVotes(sum(correct), tuple(sorted(wrong.values(), reverse=True)), abstentions)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The expected score of k samples a question, with its error over questions."""

    k: int
    estimate: Estimate


def sampling_curve(
    questions: Sequence[QuestionVotes],
    kind: CurveKind,
    ks: Sequence[int] | None = None,
    confidence: float = 0.95,
) -> list[CurvePoint]:
    """pass@k, pass^k or maj@k over questions, with standard error and interval, for each k.

    Each question contributes its average over all k-subsets of its samples (`pass_at_k`, `pass_pow_k`,
    `maj_at_k`), and the error is that of their mean over questions. k runs from 1 to the smallest number of
    samples any question has, or over those of `ks`; a larger k is undefined and left out. ValueError for no
    question.
    """
    if not questions:
        raise ValueError("undefined: no question")
    most = min(question.samples for question in questions)
    chosen = range(1, most + 1) if ks is None else [k for k in ks if 1 <= k <= most]
    values = [_CURVES[kind](question) for question in questions]
    samples = sum(question.samples for question in questions)
    return [
        CurvePoint(k, _over_questions([curve[k - 1] for curve in values], samples, confidence))
        for k in chosen
    ]


def _over_questions(values: Sequence[float], samples: int, confidence: float) -> Estimate:
    limits = bounded_mean_interval(values, confidence) if len(values) > 1 else (None, None)
    return Estimate(
        value=math.fsum(values) / len(values),
        standard_error=standard_error(values) if len(values) > 1 else None,
        ci_low=limits[0],
        ci_high=limits[1],
        confidence=confidence,
        questions=len(values),
        samples=samples,
        method="Wilson at effective size, over questions" if len(values) > 1 else "none: a single question",
    )


@lru_cache(maxsize=65536)
def _pass_curve(n: int, c: int) -> tuple[float, ...]:
    return tuple(pass_at_k(n, c, k) for k in range(1, n + 1))


@lru_cache(maxsize=65536)
def _pass_pow_curve(n: int, c: int) -> tuple[float, ...]:
    return tuple(pass_pow_k(n, c, k) for k in range(1, n + 1))


_CURVES: dict[CurveKind, Callable[[QuestionVotes], tuple[float, ...]]] = {
    "pass": lambda question: _pass_curve(question.samples, question.right),
    "pass_pow": lambda question: _pass_pow_curve(question.samples, question.right),
    "maj": lambda question: maj_curve(question.counts, 0, question.abstentions),
}
