"""Standard errors of a mean when several samples belong to one question."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass


def standard_error(values: Sequence[float]) -> float:
    """Standard error of the mean of independent values, in their unit.

    sqrt(sum (x - m)^2 / (n-1) / n). Miller 2024, arXiv 2411.00640 (central limit theorem). ValueError for
    fewer than two.
    """
    n = len(values)
    if n < 2:
        raise ValueError(f"a standard error needs at least 2 values, not {n}")
    mean = math.fsum(values) / n
    return math.sqrt(math.fsum([(off := value - mean) * off for value in values]) / (n - 1) / n)


def clustered_standard_error(
    scores: Sequence[float] | Sequence[Sequence[float]], clusters: Sequence[Hashable] | None = None
) -> float:
    """Standard error of the mean over all scores when scores of one question depend on each other.

    `scores` is one sequence a question, or flat with the question of each score in `clusters`. With residuals
    e = s - m: sqrt(C/(C-1) sum_c (sum_i e_ci)^2) / n, over C questions and n scores. Miller 2024, arXiv
    2411.00640 (clustered standard errors), as a sum of squares, which cannot turn negative, with the
    small-sample factor CR1 of Cameron and Miller 2015, Journal of Human Resources 50:317-372. ValueError for
    fewer than two questions.
    """
    groups = _nested(scores) if clusters is None else _grouped(scores, clusters)
    count = len(groups)
    n = sum(len(group) for group in groups)
    if count < 2:
        raise ValueError(f"a clustered standard error needs at least 2 questions, not {count}")
    mean = math.fsum(score for group in groups for score in group) / n
    squares = math.fsum(math.fsum(score - mean for score in group) ** 2 for group in groups)
    return math.sqrt(count / (count - 1) * squares) / n


def _nested(scores: Sequence[float] | Sequence[Sequence[float]]) -> list[list[float]]:
    groups: list[list[float]] = []
    for group in scores:
        if isinstance(group, int | float) or not hasattr(group, "__iter__"):
            raise ValueError("flat scores need `clusters`, the question that each score belongs to")
        groups.append([float(score) for score in group])
    return [group for group in groups if group]


def _grouped(scores: Iterable[object], clusters: Sequence[Hashable]) -> list[list[float]]:
    flat = [float(score) for score in scores]  # type: ignore[arg-type]
    if len(flat) != len(clusters):
        raise ValueError(f"{len(flat)} scores but {len(clusters)} cluster labels")
    groups: defaultdict[Hashable, list[float]] = defaultdict(list)
    for score, cluster in zip(flat, clusters, strict=True):
        groups[cluster].append(score)
    return list(groups.values())


@dataclass(frozen=True, slots=True)
class VarianceParts:
    """Where the variance of a mean over questions comes from, in squared score units."""

    between_questions: float
    """Variance of the questions' true values, omega^2."""
    within_questions: float
    """Mean variance of a sample around its question's true value, sigma^2."""


def variance_parts(scores: Sequence[Sequence[float]]) -> VarianceParts:
    """The spread of questions and the spread of samples within a question, for planning repeats.

    sigma^2 is the mean within-question sample variance, omega^2 the variance of question means less the mean
    of sigma^2/K, at least 0. Miller 2024, arXiv 2411.00640 (variance reduction). ValueError for fewer than
    two questions or a question with fewer than two samples.
    """
    if len(scores) < 2 or any(len(question) < 2 for question in scores):
        raise ValueError("the variance splits only with at least 2 questions of at least 2 samples each")
    variances = [standard_error(question) ** 2 * len(question) for question in scores]
    means = [math.fsum(question) / len(question) for question in scores]
    sampling = math.fsum(v / len(q) for v, q in zip(variances, scores, strict=True)) / len(scores)
    between = standard_error(means) ** 2 * len(means)
    return VarianceParts(max(0.0, between - sampling), math.fsum(variances) / len(variances))


def pooled_mean(
    means: Sequence[float], standard_errors: Sequence[float | None], sizes: Sequence[int]
) -> tuple[float, float | None]:
    """Mean over all questions of several sets, and its standard error; None where any of theirs is missing.

    m = sum n_i m_i / N and SE = sqrt(sum (n_i/N)^2 SE_i^2), for sets that share no question (Cochran 1977,
    Sampling Techniques, section 5.3). ValueError for no set, an empty set, or lengths that differ.
    """
    if not means or not len(means) == len(standard_errors) == len(sizes) or min(sizes) < 1:
        raise ValueError("pooling needs one mean, one standard error (or None) and one size >= 1 a set")
    total = sum(sizes)
    mean = math.fsum(size * value for size, value in zip(sizes, means, strict=True)) / total
    if any(error is None for error in standard_errors):
        return mean, None
    parts = ((size / total * (error or 0.0)) ** 2 for size, error in zip(sizes, standard_errors, strict=True))
    return mean, math.sqrt(math.fsum(parts))
