"""The record of a difference between two scores, and how it is tested."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from resit.stats.clusters import standard_error
from resit.stats.intervals import Interval, normal_quantile, student_quantile
from resit.stats.power import effect_factor, fewest_discordant
from resit.stats.score_tests import (
    check_discordant,
    paired_score_interval,
    unpaired_score_interval,
    unpaired_score_statistic,
)

_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Difference:
    """First score less second, with its uncertainty.

    Differences and errors are fractions: 0.01 is one point.
    """

    difference: float
    standard_error: float
    ci_low: float
    ci_high: float
    confidence: float
    p_value: float
    """Two-sided, of no difference."""
    p_greater: float
    """One-sided: small when the data say that the first score is higher."""
    minimum_detectable_effect: float
    """At two-sided alpha = 1 - confidence and power .8."""
    n_first: int
    n_second: int
    test: str
    method: str
    """How the interval is made."""

    @property
    def interval(self) -> Interval:
        """Lower and upper limit together."""
        return Interval(self.ci_low, self.ci_high)

    @property
    def distinguishable(self) -> bool:
        """Whether the two-sided test rejects "no difference" at alpha = 1 - confidence."""
        return self.p_value < 1 - self.confidence


def mcnemar_exact(b: int, c: int) -> float:
    """Two-sided exact p-value that the two discordant counts differ by chance.

    min(1, 2 P(Bin(b+c, 1/2) <= min(b, c))), in whole numbers; 1 when b = c = 0. McNemar 1947, Psychometrika
    12:153-157; Fagerland, Lydersen and Laake 2013, BMC Medical Research Methodology 13:91. ValueError for a
    negative count.
    """
    tail, _ = _binomial_tail(b, c)
    return min(1.0, 2 * tail)


def mcnemar_midp(b: int, c: int) -> float:
    """Two-sided mid-p value that the two discordant counts differ by chance.

    The exact p less P(Bin(b+c, 1/2) = min(b, c)): 2 P(X < min) + P(X = min). Closer to its nominal size than
    the exact test, which is conservative. Fagerland, Lydersen and Laake 2013, BMC Medical Research
    Methodology 13:91, "the McNemar mid-p test". ValueError for a negative count.
    """
    tail, point = _binomial_tail(b, c)
    return min(1.0, 2 * tail - point)


def _binomial_tail(b: int, c: int) -> tuple[float, float]:
    """P(X <= min(b, c)) and P(X = min(b, c)) for X ~ Bin(b + c, 1/2)."""
    check_discordant(b, c)
    total, smaller = int(b) + int(c), int(min(b, c))  # numpy's integers would overflow in 2**total
    term = tail = 1
    for i in range(1, smaller + 1):
        term = term * (total - i + 1) // i
        tail += term
    return tail / 2**total, term / 2**total


def paired_counts(b: int, c: int, n: int, confidence: float = 0.95, *, exact: bool = False) -> Difference:
    """Difference of two runs on the same n questions: b right in the first only, c in the second only.

    (b-c)/n with SE = sqrt(((b+c)/n - d^2)/(n-1)), McNemar's mid-p (or exact) p-values and Tango's score
    interval. The detectable effect is (z + z) sqrt((b+c)/n^2), but no less than the fewest discordant
    questions that can reach significance, over n. ValueError for impossible counts.
    """
    check_discordant(b, c, n)
    low, high = paired_score_interval(b, c, n, confidence)
    difference, discordance = (b - c) / n, (b + c) / n
    tail, point = _binomial_tail(b, c)
    smaller_side = tail if exact else tail - point / 2
    other_side = 1 - tail + (point if exact else point / 2)
    detectable = effect_factor(1 - confidence) * math.sqrt(discordance / n)
    return Difference(
        difference=difference,
        standard_error=math.sqrt(max(0.0, discordance - difference**2) / max(1, n - 1)),
        ci_low=low,
        ci_high=high,
        confidence=confidence,
        p_value=min(1.0, 2 * smaller_side),
        p_greater=smaller_side if b > c else other_side,
        minimum_detectable_effect=min(1.0, max(detectable, fewest_discordant(1 - confidence) / n)),
        n_first=n,
        n_second=n,
        test="McNemar exact" if exact else "McNemar mid-p",
        method="Tango score interval, paired",
    )


def paired_difference(
    first: Sequence[float], second: Sequence[float], confidence: float = 0.95, *, exact: bool = False
) -> Difference:
    """Difference of two runs on the same questions, from one value a question and run, in the same order.

    Right-or-wrong values are counted (`paired_counts`). Others, such as shares of right samples, are compared
    by d_i = a_i - b_i: mean, SE = sd(d)/sqrt(n), Student's t on n-1 degrees. Miller 2024, arXiv 2411.00640
    (paired differences). Where all d_i are equal, by the score test of a share of questions of which none was
    drawn. ValueError for lengths that differ, no question, or a single one whose values are not counted.
    """
    if len(first) != len(second):
        raise ValueError(f"pairing needs as many values on both sides, not {len(first)} and {len(second)}")
    if _binary(first) and _binary(second):
        b = sum(x > y for x, y in zip(first, second, strict=True))
        c = sum(x < y for x, y in zip(first, second, strict=True))
        return paired_counts(b, c, len(first), confidence, exact=exact)
    differences = [x - y for x, y in zip(first, second, strict=True)]
    n = len(differences)
    error = standard_error(differences)
    if error < 1e-12:
        return _constant_difference(differences[0], n, confidence)
    mean = math.fsum(differences) / n
    return _student(mean, error, n - 1, (n, n), confidence, "paired t over questions")


def _constant_difference(value: float, n: int, confidence: float) -> Difference:
    """All n questions differ by v, so there is no spread: test and interval of those that were not drawn.

    A true difference d other than v needs a share e of questions that differ otherwise, and least of them
    where they differ by -1 (for d < v) or by 1. The score statistic of none drawn of n is z(d) = sqrt(n e /
    (1 - e)): with r = z^2/n the limits are (v -+ r)/(1 + r), and z(0) = sqrt(n |v|). Tango's interval where v
    is 0 or 1. Beyond -1..1 the largest difference is taken to be |v|.
    """
    most = max(1.0, abs(value))
    share, odds = value / most, normal_quantile(confidence) ** 2 / n
    z = math.copysign(math.sqrt(n * abs(share)), value)
    return Difference(
        difference=value,
        standard_error=0.0,
        ci_low=min(value, most * (share - odds) / (1 + odds)),  # rounding keeps the point inside
        ci_high=max(value, most * (share + odds) / (1 + odds)),
        confidence=confidence,
        p_value=2 * _NORMAL.cdf(-abs(z)),
        p_greater=_NORMAL.cdf(-z),
        minimum_detectable_effect=min(1.0, fewest_discordant(1 - confidence) / n),
        n_first=n,
        n_second=n,
        test="score test, all questions differing alike",
        method="score interval, all questions differing alike",
    )


def gap_test(
    k_seen: float, n_seen: float, k_fresh: float, n_fresh: float, confidence: float = 0.95
) -> Difference:
    """Difference of two proportions on different questions: the seen set's score less the fresh set's.

    p1 - p2 with the unpooled SE^2 = p1(1-p1)/n1 + p2(1-p2)/n2, p-values of the pooled z (the score test) and
    Mee's score interval, which holds 0 exactly when the two-sided p is at least 1 - confidence. `p_greater`
    speaks of memorisation. The counts may be fractional where a paper prints rounded rates. The detectable
    effect counts one right and one wrong answer more on a side whose answers are all alike. Newcombe 1998,
    Statistics in Medicine 17:873-890, method 5; Agresti and Caffo 2000, American Statistician 54:280-288.
    ValueError for impossible counts.
    """
    z = unpaired_score_statistic(k_seen, n_seen, k_fresh, n_fresh)
    low, high = unpaired_score_interval(k_seen, n_seen, k_fresh, n_fresh, confidence)
    error = math.hypot(_error(k_seen, n_seen), _error(k_fresh, n_fresh))
    planning = math.hypot(_planning_error(k_seen, n_seen), _planning_error(k_fresh, n_fresh))
    return Difference(
        difference=k_seen / n_seen - k_fresh / n_fresh,
        standard_error=error,
        ci_low=low,
        ci_high=high,
        confidence=confidence,
        p_value=2 * _NORMAL.cdf(-abs(z)),
        p_greater=_NORMAL.cdf(-z),
        minimum_detectable_effect=min(1.0, effect_factor(1 - confidence) * planning),
        n_first=round(n_seen),
        n_second=round(n_fresh),
        test="pooled z (score test), unpaired",
        method="Mee score interval, unpaired",
    )


def unpaired_difference(
    first: Sequence[float], second: Sequence[float], confidence: float = 0.95
) -> Difference:
    """Difference of mean scores on different questions, from one value a question.

    Right-or-wrong values are counted (`gap_test`); others use SE^2 = SE_1^2 + SE_2^2 and Student's t on
    Welch's degrees of freedom. Miller 2024, arXiv 2411.00640 (unpaired comparison); Welch 1947, Biometrika
    34:28-35. ValueError for no question on a side, or a single one where values are not counted, and where
    those of both sides are constant.
    """
    if _binary(first) and _binary(second):
        return gap_test(sum(first), len(first), sum(second), len(second), confidence)
    value, error, degrees = welch(first, second)
    sizes = len(first), len(second)
    return _student(value, error, degrees, sizes, confidence, "Welch t over questions, unpaired")


def welch(first: Sequence[float], second: Sequence[float]) -> tuple[float, float, float]:
    """Difference of two means, its standard error, and Welch's degrees of freedom.

    SE^4 / (SE_1^4/(n_1 - 1) + SE_2^4/(n_2 - 1)). Welch 1947, Biometrika 34:28-35. ValueError for fewer than
    two values on a side or where both are constant.
    """
    error_1, error_2 = standard_error(first), standard_error(second)
    error = math.hypot(error_1, error_2)
    if error < 1e-12:
        raise ValueError("both sides are constant: their spread says nothing about the difference")
    n1, n2 = len(first), len(second)
    degrees = error**4 / (error_1**4 / (n1 - 1) + error_2**4 / (n2 - 1))
    return math.fsum(first) / n1 - math.fsum(second) / n2, error, degrees


def difference_of(first: Difference, second: Difference, confidence: float = 0.95) -> Difference:
    """First difference less second, the two from different questions (two models' gaps, set by set).

    With d = paired difference on the seen set and d' on the fresh set, d - d' is the difference of the
    models' gaps; SE^2 = SE_seen^2 + SE_fresh^2. Independent sets make the variances add. ValueError if
    neither has any spread.
    """
    error = math.hypot(first.standard_error, second.standard_error)
    if error == 0:
        raise ValueError("neither difference has any spread, so theirs has no standard error")
    n1, n2 = first.n_first, second.n_first
    degrees = error**4 / (
        first.standard_error**4 / max(1, n1 - 1) + second.standard_error**4 / max(1, n2 - 1)
    )
    value = first.difference - second.difference
    return _student(value, error, degrees, (n1, n2), confidence, "t of independent differences")


def _student(
    value: float, error: float, degrees: float, sizes: tuple[int, int], confidence: float, test: str
) -> Difference:
    from scipy.special import stdtr

    half = student_quantile(confidence, degrees) * error
    ratio = value / error
    return Difference(
        difference=value,
        standard_error=error,
        ci_low=max(-2.0, value - half),
        ci_high=min(2.0, value + half),
        confidence=confidence,
        p_value=float(2 * stdtr(degrees, -abs(ratio))),
        p_greater=float(stdtr(degrees, -ratio)),
        minimum_detectable_effect=effect_factor(1 - confidence) * error,
        n_first=sizes[0],
        n_second=sizes[1],
        test=test,
        method="Student's t",
    )


def _error(successes: float, n: float) -> float:
    p = successes / n
    return math.sqrt(p * (1 - p) / n)


def _planning_error(successes: float, n: float) -> float:
    """The error of a proportion; where all answers are alike, with one right and one wrong answer more."""
    return _error(successes, n) or _error(successes + 1, n + 2)


def _binary(values: Sequence[float]) -> bool:
    return all(value in (0, 1) for value in values)
