"""What effect a design can see, and how large a design an effect needs.

Effects are fractions: 0.01 is one point.
"""

from __future__ import annotations

import math
from statistics import NormalDist

_NORMAL = NormalDist()


def effect_factor(alpha: float = 0.05, power: float = 0.8, sides: int = 2) -> float:
    """Detectable effect in standard errors, z_(1-alpha/sides) + z_power; 2.80 by default.

    Miller 2024, arXiv 2411.00640 (power analysis). ValueError unless 0 < alpha < 1, 0 < power < 1, sides 1 or
    2.
    """
    if not (0 < alpha < 1 and 0 < power < 1 and sides in (1, 2)):
        raise ValueError(f"need 0 < alpha < 1, 0 < power < 1, sides 1 or 2, not {alpha}, {power}, {sides}")
    return _NORMAL.inv_cdf(1 - alpha / sides) + _NORMAL.inv_cdf(power)


def minimum_detectable_effect(
    n: int | None = None,
    discordance: float | None = None,
    *,
    p: float | None = None,
    n_fresh: int | None = None,
    p_fresh: float | None = None,
    standard_error: float | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    sides: int = 2,
) -> float:
    """Smallest true effect that a test at level `alpha` finds with probability `power`, as a fraction of 1.

    (z_(1-alpha/2) + z_power) SE, for one of four designs: `standard_error` itself; paired, n questions of
    which a share `discordance` is right in one run only, SE = sqrt(discordance/n); gap, proportion p on n
    seen and p_fresh (p by default) on n_fresh questions, SE^2 = p(1-p)/n + p_fresh(1-p_fresh)/n_fresh;
    single, p on n against a fixed value, SE^2 = p(1-p)/n. Miller 2024, arXiv 2411.00640 (power analysis);
    Connor 1987, Biometrics 43:207-211 for pairs. ValueError where no design or more than one is described.
    """
    factor = effect_factor(alpha, power, sides)
    if standard_error is not None:
        if n is not None or standard_error < 0:
            raise ValueError("give a standard error >= 0, or the n of a design, not both")
        return factor * standard_error
    if n is None or (discordance is None) == (p is None):
        raise ValueError("give n with either discordance (paired) or p (single, gap), or a standard error")
    if discordance is not None:
        return factor * paired_error(n, discordance)
    assert p is not None
    if n_fresh is None:
        return factor * single_error(n, p)
    return factor * gap_error(p, n, p if p_fresh is None else p_fresh, n_fresh)


def single_error(n: int, p: float) -> float:
    """Standard error of a proportion p on n questions, sqrt(p(1-p)/n)."""
    _check_size(n)
    return math.sqrt(_variance(p) / n)


def paired_error(n: int, discordance: float, delta: float = 0.0) -> float:
    """Standard error of a paired difference of proportions, sqrt((discordance - delta^2)/n)."""
    _check_size(n)
    if not abs(delta) <= discordance <= 1:
        raise ValueError(f"discordance must lie between the effect {abs(delta)} and 1, not {discordance}")
    return math.sqrt((discordance - delta * delta) / n)


def gap_error(p_seen: float, n_seen: int, p_fresh: float, n_fresh: int) -> float:
    """Standard error of a difference of independent proportions, sqrt(p1(1-p1)/n1 + p2(1-p2)/n2)."""
    return math.hypot(single_error(n_seen, p_seen), single_error(n_fresh, p_fresh))


def repeats_error(n: int, between: float, within: float, repeats: int) -> float:
    """Standard error of a mean over n questions with K samples each, sqrt((omega^2 + sigma^2/K)/n).

    `between` is omega^2, `within` sigma^2, as `clusters.variance_parts` measures them; for a paired
    difference, those of the differences, with sigma_A^2 + sigma_B^2 as `within`. Miller 2024, arXiv
    2411.00640 (variance reduction, power analysis).
    """
    _check_size(n)
    if repeats < 1 or between < 0 or within < 0:
        raise ValueError("need repeats >= 1 and variances >= 0")
    return math.sqrt((between + within / repeats) / n)


def questions_needed(effect: float, variance: float, factor: float) -> int:
    """Questions with which an estimate of per-question `variance` sees `effect`.

    ceil(factor^2 variance/effect^2), `factor` from `effect_factor`. Variances: single p(1-p); paired
    discordance - effect^2; gap, as many questions on each side, p1(1-p1) + p2(1-p2); repeats omega^2 +
    sigma^2/K. Miller 2024, arXiv 2411.00640 (power analysis).
    """
    if effect == 0 or variance < 0:
        raise ValueError("need an effect other than 0 and a variance >= 0")
    return max(2, math.ceil(factor * factor * variance / (effect * effect)))


def fresh_questions_needed(
    effect: float, p_seen: float, n_seen: int, p_fresh: float, factor: float
) -> int | None:
    """Fresh questions that a gap of `effect` needs beside a fixed seen set; None if no number suffices.

    p2(1-p2) / (effect^2/factor^2 - p1(1-p1)/n1).
    """
    room = (effect / factor) ** 2 - _variance(p_seen) / n_seen
    return max(2, math.ceil(_variance(p_fresh) / room)) if room > 0 else None


def repeats_needed(effect: float, n: int, between: float, within: float, factor: float) -> int | None:
    """Samples a question with which n questions see `effect`; None when no number suffices.

    sigma^2 / (n effect^2/factor^2 - omega^2). Miller 2024, arXiv 2411.00640 (power analysis, solved for K).
    """
    _check_size(n)
    room = n * (effect / factor) ** 2 - between
    return max(1, math.ceil(within / room)) if room > 0 else None


def largest_discordance(effect: float, n: int, factor: float) -> float:
    """The share of discordant questions up to which n paired questions still see `effect`, at most 1.

    n effect^2/factor^2 + effect^2, `paired_error` solved for the discordance.
    """
    _check_size(n)
    return min(1.0, n * (effect / factor) ** 2 + effect * effect)


def power_of_test(effect: float, standard_error: float, alpha: float = 0.05, sides: int = 2) -> float:
    """Probability that a z-test finds a true `effect`.

    Phi(|d|/SE - z) + Phi(-|d|/SE - z), the second term only for a two-sided test.
    """
    if standard_error <= 0:
        raise ValueError("the power of a test needs a standard error above 0")
    z = _NORMAL.inv_cdf(1 - alpha / sides)
    ratio = abs(effect) / standard_error
    return _NORMAL.cdf(ratio - z) + (_NORMAL.cdf(-ratio - z) if sides == 2 else 0.0)


def confirmable_margin(standard_error: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Smallest margin within which a design confirms a true difference of 0, with probability `power`.

    (z_(1-alpha) + z_((1+power)/2)) SE, for two one-sided tests at `alpha` each. Chow, Shao and Wang 2008,
    Sample Size Calculations in Clinical Research, section 4.2.
    """
    effect_factor(alpha, power)
    return (_NORMAL.inv_cdf(1 - alpha) + _NORMAL.inv_cdf((1 + power) / 2)) * standard_error


def fewest_discordant(alpha: float = 0.05, sides: int = 2) -> int:
    """Fewest discordant questions with which McNemar's mid-p can reach `alpha`, all in one direction.

    The smallest m with sides 2^-m / 2 <= alpha: 5 for two-sided .05, 4 for one-sided. An effect below m/n is
    out of sight of n paired questions whatever the discordance.
    """
    effect_factor(alpha, 0.5, sides)
    return max(1, math.ceil(math.log2(sides / (2 * alpha))))


def _variance(p: float) -> float:
    if not 0 <= p <= 1:
        raise ValueError(f"a proportion must lie between 0 and 1, not {p}")
    return p * (1 - p)


def _check_size(n: int) -> None:
    if n < 1:
        raise ValueError(f"n must be at least 1, not {n}")
