"""How well one number tells two groups apart: the area under the ROC curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from resit.stats.bootstrap import Floats
from resit.stats.intervals import normal_quantile

_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Separation:
    """Probability that a value of the first group exceeds one of the second, ties counting half."""

    auc: float
    standard_error: float
    ci_low: float
    ci_high: float
    confidence: float
    p_value: float
    """Two-sided, of an AUC of one half."""
    n_first: int
    n_second: int


def separation(first: ArrayLike, second: ArrayLike, confidence: float = 0.95) -> Separation:
    """AUC of the first group's values against the second's, with its interval.

    Mann-Whitney's U over n m; variance by the placements of each value among the other group's (DeLong,
    DeLong and Clarke-Pearson 1988, Biometrics 44:837-845); interval on the logit scale, p from the variance
    under equality, (n + m + 1) / (12 n m) with the correction for ties (Lehmann 1975). Where the groups do
    not overlap the interval reaches to the rule of three, 3 / min(n, m). ValueError for fewer than two
    values in a group or one that is not finite.
    """
    one, two = _group(first), _group(second)
    above = _placements(one, two)
    below = 1 - _placements(two, one)
    auc, n, m = float(above.mean()), len(one), len(two)
    error = math.sqrt(float(above.var(ddof=1)) / n + float(below.var(ddof=1)) / m)
    low, high = _limits(auc, error, min(n, m), normal_quantile(confidence))
    spread = _null_error(one, two)
    p_value = 1.0 if spread == 0 else 2 * _NORMAL.cdf(-abs(auc - 0.5) / spread)
    return Separation(auc, error, low, high, confidence, p_value, n, m)


def _group(values: ArrayLike) -> Floats:
    group = np.asarray(values, dtype=np.float64)
    if group.ndim != 1 or len(group) < 2:
        raise ValueError("an AUC needs at least two values in each group")
    if not np.isfinite(group).all():
        raise ValueError("an AUC needs finite values")
    return group


def _placements(values: Floats, others: Floats) -> Floats:
    """Share of the others that each value exceeds, ties counting half."""
    ordered = np.sort(others)
    under = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return np.asarray(under / (2 * len(others)), dtype=np.float64)


def _limits(auc: float, error: float, smaller: int, z: float) -> tuple[float, float]:
    if auc in (0, 1):
        slack = min(1.0, 3 / smaller)
        return (1 - slack, 1.0) if auc == 1 else (0.0, slack)
    if error == 0:
        return auc, auc
    centre, width = math.log(auc / (1 - auc)), z * error / (auc * (1 - auc))
    return _logistic(centre - width), _logistic(centre + width)


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _null_error(one: Floats, two: Floats) -> float:
    """Standard error of the AUC when both groups have one distribution."""
    n, m = len(one), len(two)
    _, ties = np.unique(np.concatenate([one, two]), return_counts=True)
    total = n + m
    tied = float((ties.astype(np.float64) ** 3 - ties).sum()) / (total * (total - 1))
    return math.sqrt(max(0.0, total + 1 - tied) / (12 * n * m))
