"""Intervals for one proportion, and for a mean of values between 0 and 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple


class Interval(NamedTuple):
    """Lower and upper limit, in the unit of what is estimated."""

    low: float
    high: float


def normal_quantile(confidence: float) -> float:
    """The z with `confidence` of the standard normal between -z and z; 1.96 for 0.95.

    Raises ValueError unless 0 < confidence < 1.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def student_quantile(confidence: float, degrees: float) -> float:
    """The t with `confidence` of Student's distribution between -t and t; ValueError for degrees <= 0."""
    from scipy.special import stdtrit

    normal_quantile(confidence)
    if degrees <= 0:
        raise ValueError(f"degrees of freedom must be positive, not {degrees}")
    return float(stdtrit(degrees, (1 + confidence) / 2))


def check_counts(successes: float, n: float) -> None:
    """Raise ValueError unless 0 <= successes <= n and n > 0."""
    if not n > 0:
        raise ValueError(f"a proportion needs at least one trial, not n = {n}")
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie between 0 and n = {n}, not {successes}")


def wilson_interval(successes: float, n: float, confidence: float = 0.95) -> Interval:
    """Score interval of a proportion, in 0..1.

    With p = successes/n: (p + z^2/2n +- z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n), the values that the score
    test does not reject. Wilson 1927, JASA 22:209-212; recommended for evaluations in Bowyer et al. 2025,
    arXiv 2503.01747. ValueError for impossible counts.
    """
    check_counts(successes, n)
    return _wilson(successes / n, n, normal_quantile(confidence))


def _wilson(p: float, n: float, z: float) -> Interval:
    scale = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / scale
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / scale
    return Interval(0.0 if p == 0 else max(0.0, centre - half), 1.0 if p == 1 else min(1.0, centre + half))


def clopper_pearson_interval(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """Exact interval of a proportion, in 0..1: never covers less than `confidence`, usually more.

    Beta quantiles B(a/2; k, n-k+1) and B(1-a/2; k+1, n-k) with a = 1 - confidence. Clopper and Pearson 1934,
    Biometrika 26:404-413. ValueError for impossible counts.
    """
    check_counts(successes, n)
    tail = _tail(confidence)
    return Interval(
        _beta_quantile(successes, n - successes + 1, tail) if successes > 0 else 0.0,
        _beta_quantile(successes + 1, n - successes, 1 - tail) if successes < n else 1.0,
    )


def jeffreys_interval(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """Equal-tailed Bayes interval of a proportion under the Beta(1/2, 1/2) prior, in 0..1.

    The lower limit is 0 for no success and the upper 1 for no failure. Brown, Cai and DasGupta 2001,
    Statistical Science 16:101-133, section 3.1.3. ValueError for impossible counts.
    """
    low, high = beta_interval(successes, n, (0.5, 0.5), confidence)
    return Interval(0.0 if successes == 0 else low, 1.0 if successes == n else high)


def beta_interval(
    successes: int, n: int, prior: tuple[float, float] = (1.0, 1.0), confidence: float = 0.95
) -> Interval:
    """Equal-tailed Bayes interval of a proportion under a Beta prior (uniform by default), in 0..1.

    Quantiles of Beta(a + k, b + n - k). Bowyer et al. 2025, arXiv 2503.01747. ValueError for
    impossible counts.
    """
    check_counts(successes, n)
    a, b = prior[0] + successes, prior[1] + n - successes
    tail = _tail(confidence)
    return Interval(_beta_quantile(a, b, tail), _beta_quantile(a, b, 1 - tail))


def bounded_mean_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Interval of the mean of values in 0..1, one a question (a share of right samples, a pass@k, …).

    Wilson's interval at the effective size n_eff = n m(1-m) n/(n-1) / s^2, the number of right-or-wrong
    answers that would vary as much as these n values, with Student's t on n-1 degrees in place of z. Stays
    inside 0..1 and keeps its coverage near the ends, where m +- t s/sqrt(n) does not. Franco, Little, Louis
    and Slud 2019, Journal of Survey Statistics and Methodology 7:334-364, section 2.2. Where all values are
    equal s says nothing, and n itself is taken. ValueError for fewer than two values or a value outside 0..1.
    """
    n = len(values)
    if n < 2:
        raise ValueError(f"an interval from the spread of questions needs at least 2 of them, not {n}")
    total = math.fsum(values)
    if not 0 <= min(values) <= max(values) <= 1 or math.isnan(total):
        raise ValueError("values must lie between 0 and 1")
    mean = min(1.0, total / n)
    variance = math.fsum([(off := value - mean) * off for value in values]) / (n - 1)
    ceiling = mean * (1 - mean) * n / (n - 1)
    effective = n * ceiling / variance if variance > 1e-18 else float(n)
    return _wilson(mean, effective, student_quantile(confidence, n - 1))


def _tail(confidence: float) -> float:
    normal_quantile(confidence)
    return (1 - confidence) / 2


def _beta_quantile(a: float, b: float, probability: float) -> float:
    from scipy.special import betaincinv

    return float(betaincinv(a, b, probability))
