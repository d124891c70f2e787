"""Score statistics of a difference of proportions: one function gives test, interval and margin test.

`z(delta)` is the standardised distance of the data from "the true difference is delta", with the nuisance
proportion at its most likely value under that hypothesis. z(0) is the usual test, the deltas with |z| <= 1.96
are the 95 % interval, and z(-margin) is the non-inferiority test, so that the three never contradict each
other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from resit.stats.intervals import Interval, check_counts, normal_quantile


def check_discordant(b: int, c: int, n: int | None = None) -> None:
    """Raise ValueError unless b and c are counts and together at most n."""
    if b < 0 or c < 0:
        raise ValueError(f"discordant counts cannot be negative: b = {b}, c = {c}")
    if n is not None and (n < 1 or b + c > n):
        raise ValueError(f"b + c = {b + c} discordant questions cannot come from n = {n}")


def paired_score_statistic(b: int, c: int, n: int, delta: float = 0.0) -> float:
    """z of a paired difference of proportions against `delta`; positive when the data lie above it.

    b questions are right in the first only, c in the second only, of n. (b - c - n d) / sqrt(n (2 q + d (1 -
    d))), q the restricted maximum-likelihood estimate of the second-only share, a root of a quadratic; at d =
    0 this is McNemar's (b - c)/sqrt(b + c). Tango 1998, Statistics in Medicine 17:891-908. ValueError for
    impossible counts.
    """
    check_discordant(b, c, n)
    linear = (2 * n - b + c) * delta - b - c
    constant = -c * delta * (1 - delta)
    share = (math.sqrt(max(0.0, linear * linear - 8 * n * constant)) - linear) / (4 * n)
    return _ratio(b - c - n * delta, n * (2 * share + delta * (1 - delta)))


def paired_score_interval(b: int, c: int, n: int, confidence: float = 0.95) -> Interval:
    """Interval of a paired difference of proportions, in -1..1: the deltas that its score test keeps.

    Tango 1998, Statistics in Medicine 17:891-908; recommended in Fagerland, Lydersen and Laake 2014,
    Statistics in Medicine 33:2850-2875. ValueError for impossible counts.
    """
    check_discordant(b, c, n)
    return _invert(partial(paired_score_statistic, b, c, n), (b - c) / n, normal_quantile(confidence))


def unpaired_score_statistic(k1: float, n1: float, k2: float, n2: float, delta: float = 0.0) -> float:
    """z of the difference k1/n1 - k2/n2 of independent proportions against `delta`.

    (p1 - p2 - d) / sqrt(q1 (1 - q1)/n1 + q2 (1 - q2)/n2), where q1, q2 are the most likely proportions with
    q1 - q2 = d; at d = 0 both are the pooled proportion. Mee 1984, Biometrics 40:1175-1176; closed form of q1
    in Farrington and Manning 1990, Statistics in Medicine 9:1447-1454, appendix. ValueError for impossible
    counts.
    """
    check_counts(k1, n1)
    check_counts(k2, n2)
    q1 = _restricted_proportion(k1 / n1, n1, k2 / n2, n2, delta)
    q2 = min(1.0, max(0.0, q1 - delta))
    return _ratio(k1 / n1 - k2 / n2 - delta, q1 * (1 - q1) / n1 + q2 * (1 - q2) / n2)


def unpaired_score_interval(k1: float, n1: float, k2: float, n2: float, confidence: float = 0.95) -> Interval:
    """Interval of the difference of independent proportions, in -1..1: the deltas that its score test keeps.

    Mee 1984, Biometrics 40:1175-1176; compared with ten others in Newcombe 1998, Statistics in Medicine
    17:873-890. ValueError for impossible counts.
    """
    check_counts(k1, n1)
    check_counts(k2, n2)
    statistic = partial(unpaired_score_statistic, k1, n1, k2, n2)
    return _invert(statistic, k1 / n1 - k2 / n2, normal_quantile(confidence))


def _restricted_proportion(p1: float, n1: float, p2: float, n2: float, delta: float) -> float:
    """The most likely first proportion among pairs that differ by `delta`: a root of a cubic."""
    ratio = n2 / n1
    a = 1 + ratio
    b = -(1 + ratio + p1 + ratio * p2 + delta * (ratio + 2))
    c = delta * delta + delta * (2 * p1 + ratio + 1) + p1 + ratio * p2
    d = -p1 * delta * (1 + delta)
    v = (b / (3 * a)) ** 3 - b * c / (6 * a * a) + d / (2 * a)
    u = math.copysign(math.sqrt(max(0.0, (b / (3 * a)) ** 2 - c / (3 * a))), v)
    angle = (math.pi + math.acos(min(1.0, max(-1.0, v / u**3 if u else 0.0)))) / 3
    return min(1.0, 1.0 + delta, max(0.0, delta, 2 * u * math.cos(angle) - b / (3 * a)))


def _ratio(distance: float, variance: float) -> float:
    if abs(distance) < 1e-15:
        return 0.0
    return distance / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, distance)


def _invert(statistic: Callable[[float], float], estimate: float, z: float) -> Interval:
    """The deltas with |statistic| <= z, by bisection: the statistic falls as delta rises."""
    return Interval(_crossing(statistic, -1.0, estimate, z), _crossing(statistic, estimate, 1.0, -z))


def _crossing(statistic: Callable[[float], float], low: float, high: float, level: float) -> float:
    for _ in range(60):
        middle = (low + high) / 2
        if statistic(middle) > level:
            low = middle
        else:
            high = middle
    return (low + high) / 2
