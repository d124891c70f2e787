"""Tests that a difference is small: equivalence (both sides) and non-inferiority (one side)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist

from resit.stats.difference import welch
from resit.stats.score_tests import paired_score_statistic, unpaired_score_statistic

_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Two one-sided tests that a true difference lies inside -margin..margin."""

    margin: float
    p_above_minus_margin: float
    """Of "difference <= -margin": small when the data say it lies above."""
    p_below_margin: float
    """Of "difference >= margin": small when the data say it lies below."""
    alpha: float

    @property
    def p_value(self) -> float:
        """The larger of the two: equivalence needs both."""
        return max(self.p_above_minus_margin, self.p_below_margin)

    @property
    def equivalent(self) -> bool:
        """Whether both tests reject at `alpha`: the 1 - 2 alpha interval lies inside the margin."""
        return self.p_value < self.alpha


def tost(
    difference: float, standard_error: float, margin: float, degrees: float | None = None, alpha: float = 0.05
) -> Equivalence:
    """Two one-sided tests of an estimated difference, normal or (with `degrees`) Student's t.

    p = max(P(T > (d + margin)/SE), P(T < (d - margin)/SE)). Schuirmann 1987, Journal of Pharmacokinetics and
    Biopharmaceutics 15:657-680. ValueError for a margin or a standard error that is not positive.
    """
    if standard_error <= 0:
        raise ValueError(f"an equivalence test needs a standard error above 0, not {standard_error}")
    return _two_sides(lambda delta: (difference - delta) / standard_error, margin, alpha, degrees)


def gap_tost(
    k_seen: float, n_seen: float, k_fresh: float, n_fresh: float, margin: float, alpha: float = 0.05
) -> Equivalence:
    """Two one-sided score tests of a difference of independent proportions.

    z(-margin) and z(+margin) of `unpaired_score_statistic`. Farrington and Manning 1990, Statistics in
    Medicine 9:1447-1454. ValueError for impossible counts or margin.
    """
    return _two_sides(partial(unpaired_score_statistic, k_seen, n_seen, k_fresh, n_fresh), margin, alpha)


def unpaired_tost(
    first: Sequence[float], second: Sequence[float], margin: float, alpha: float = 0.05
) -> Equivalence:
    """Two one-sided tests of a difference of means over different questions, one value a question.

    Right-or-wrong values are counted (`gap_tost`); others use Student's t on Welch's degrees of freedom.
    Schuirmann 1987, as `tost`. ValueError as `unpaired_difference`, or for an impossible margin.
    """
    if all(value in (0, 1) for value in (*first, *second)):
        return gap_tost(sum(first), len(first), sum(second), len(second), margin, alpha)
    value, error, degrees = welch(first, second)
    return tost(value, error, margin, degrees, alpha)


def paired_tost(b: int, c: int, n: int, margin: float, alpha: float = 0.05) -> Equivalence:
    """Two one-sided score tests of a paired difference of proportions.

    z(-margin) and z(+margin) of `paired_score_statistic`. Tango 1998, Statistics in Medicine 17:891-908.
    ValueError for impossible counts or margin.
    """
    return _two_sides(partial(paired_score_statistic, b, c, n), margin, alpha)


def _two_sides(
    statistic: Callable[[float], float], margin: float, alpha: float, degrees: float | None = None
) -> Equivalence:
    if not 0 < margin < 1:
        raise ValueError(f"a margin is a fraction between 0 and 1 (0.01 is one point), not {margin}")
    return Equivalence(
        margin=margin,
        p_above_minus_margin=_upper_tail(statistic(-margin), degrees),
        p_below_margin=_upper_tail(-statistic(margin), degrees),
        alpha=alpha,
    )


def _upper_tail(value: float, degrees: float | None) -> float:
    if degrees is None or math.isinf(value):
        return _NORMAL.cdf(-value)
    from scipy.special import stdtr

    return float(stdtr(degrees, -value))
