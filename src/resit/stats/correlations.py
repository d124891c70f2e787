"""Rank and linear correlations with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from resit.stats.bootstrap import DRAWS, SEED, Floats, resampling_weights
from resit.stats.intervals import normal_quantile

Coefficient: TypeAlias = Literal["spearman", "pearson", "kendall"]


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation of n pairs, with its two-sided p-value and its bootstrap interval."""

    coefficient: Coefficient
    value: float
    p_value: float
    ci_low: float
    ci_high: float
    confidence: float
    n: int


def correlation(
    x: ArrayLike,
    y: ArrayLike,
    coefficient: Coefficient = "spearman",
    confidence: float = 0.95,
    *,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Correlation:
    """Correlation of paired values with a seeded percentile bootstrap interval over pairs.

    Pearson's r; Spearman's rho, which is r of mid-ranks; Kendall's tau-b, sum of sgn(dx) sgn(dy) over the
    root of (sum of sgn(dx)^2)(sum of sgn(dy)^2). p: Student's t on n-2 degrees for r and rho, normal with
    tie-corrected variance for tau. Kendall and Gibbons 1990, Rank Correlation Methods, chapters 3-4; Efron
    and Tibshirani 1993, chapter 13. Resamples in which a side is constant have no correlation and are left
    out. ValueError for fewer than four pairs, a number that is not finite, or a constant side.
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n = len(first)
    if first.shape != second.shape or first.ndim != 1 or n < 4:
        raise ValueError("a correlation needs two lists of the same length, at least 4")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise ValueError("a correlation needs finite numbers")
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        raise ValueError("a constant list has no correlation")
    normal_quantile(confidence)
    weighted = _STATISTICS[coefficient](first, second)
    value = float(weighted(np.ones((1, n)))[0])
    rng = np.random.default_rng(seed)
    resampled = np.concatenate([weighted(weights) for weights in resampling_weights(n, draws, rng)])
    tails = ((1 - confidence) / 2, (1 + confidence) / 2)
    low, high = np.quantile(resampled[np.isfinite(resampled)], tails)
    p_value = _kendall_p(first, second) if coefficient == "kendall" else _student_p(value, n)
    return Correlation(coefficient, value, p_value, float(low), float(high), confidence, n)


_Weighted: TypeAlias = Callable[[Floats], Floats]
"""From how often each pair was drawn, shape (draws, n), to the correlation of each draw, shape (draws,)."""


def _pearson(x: Floats, y: Floats) -> _Weighted:
    x, y = _unit_range(x), _unit_range(y)
    return lambda weights: _weighted_pearson(
        np.broadcast_to(x, weights.shape), np.broadcast_to(y, weights.shape), weights
    )


def _unit_range(values: Floats) -> Floats:
    """Shifted and scaled to a range of 1: no r changes by it, and no square of a small number vanishes."""
    scaled = values / np.abs(values).max()
    result: Floats = (scaled - scaled.mean()) / np.ptp(scaled)
    return result


def _spearman(x: Floats, y: Floats) -> _Weighted:
    below_x, below_y = _below(x), _below(y)
    return lambda weights: _weighted_pearson(weights @ below_x, weights @ below_y, weights)


def _kendall(x: Floats, y: Floats) -> _Weighted:
    sign_x, sign_y = _signs(x), _signs(y)
    products = sign_x * sign_y, sign_x**2, sign_y**2

    def tau(weights: Floats) -> Floats:
        both, only_x, only_y = (np.einsum("bi,bi->b", weights @ matrix, weights) for matrix in products)
        with np.errstate(invalid="ignore", divide="ignore"):
            result: Floats = both / np.sqrt(only_x * only_y)
        return result

    return tau


_STATISTICS: dict[Coefficient, Callable[[Floats, Floats], _Weighted]] = {
    "pearson": _pearson,
    "spearman": _spearman,
    "kendall": _kendall,
}


def _weighted_pearson(x: Floats, y: Floats, weights: Floats) -> Floats:
    total = weights.sum(axis=1, keepdims=True)
    dx = x - (weights * x).sum(axis=1, keepdims=True) / total
    dy = y - (weights * y).sum(axis=1, keepdims=True) / total
    covariance = (weights * dx * dy).sum(axis=1)
    variance_x, variance_y = (weights * dx**2).sum(axis=1), (weights * dy**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        constant = (variance_x < 1e-18) | (variance_y < 1e-18)
        result: Floats = np.where(constant, np.nan, covariance / np.sqrt(variance_x * variance_y))
    return result


def _below(values: Floats) -> Floats:
    """Entry [j, i]: what a copy of item j adds to item i's mid-rank."""
    result: Floats = (values[:, None] < values) + 0.5 * (values[:, None] == values)
    return result


def _signs(values: Floats) -> Floats:
    result: Floats = np.sign(values[:, None] - values)
    return result


def _student_p(r: float, n: int) -> float:
    from scipy.special import stdtr

    if abs(r) >= 1:
        return 0.0
    return float(2 * stdtr(n - 2, -abs(r) * np.sqrt((n - 2) / (1 - r * r))))


def _kendall_p(x: Floats, y: Floats) -> float:
    from scipy.special import ndtr

    n = len(x)
    score = float((_signs(x) * _signs(y)).sum()) / 2
    ties_x, ties_y = (np.unique(side, return_counts=True)[1].astype(float) for side in (x, y))

    def summed(counts: Floats, kind: int) -> float:
        steps = {
            2: counts * (counts - 1),
            3: counts * (counts - 1) * (counts - 2),
            5: counts * (counts - 1) * (2 * counts + 5),
        }
        return float(steps[kind].sum())

    variance = (n * (n - 1) * (2 * n + 5) - summed(ties_x, 5) - summed(ties_y, 5)) / 18
    variance += summed(ties_x, 2) * summed(ties_y, 2) / (2 * n * (n - 1))
    variance += summed(ties_x, 3) * summed(ties_y, 3) / (9 * n * (n - 1) * (n - 2))
    return float(2 * ndtr(-abs(score) / np.sqrt(variance)))
