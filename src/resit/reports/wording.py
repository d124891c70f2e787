"""Numbers and verdicts in words. Differences are fractions inside and points (hundredths) on paper."""

from __future__ import annotations

import math

from resit.stats import Difference


def points(value: float, signed: bool = True) -> str:
    """A difference in points, with one decimal, or two where it is below a tenth."""
    hundredths = 100 * value
    digits = 1 if abs(hundredths) >= 0.095 else 2
    text = f"{hundredths:{'+' if signed else ''}.{digits}f}"
    return text.replace("-", "\N{MINUS SIGN}") if float(text) else "0.0"


def percent(value: float) -> str:
    """A score in per cent."""
    return f"{100 * value:.1f} %"


def p_text(p: float) -> str:
    """A p-value as it stands in a sentence: `p = 0.020`, `p < 0.0001`."""
    if p < 1e-4:
        return "p < 0.0001"
    return f"p = {p:.{3 if p >= 1e-3 else 4}f}" if p < 0.9995 else "p = 1"


def p_cell(p: float) -> str:
    """A p-value in a table."""
    return "<0.0001" if p < 1e-4 else f"{p:.4f}"


def span(low: float, high: float, confidence: float) -> str:
    """An interval of differences in points."""
    return f"{100 * confidence:g} % interval {points(low)} to {points(high)} points"


def seen_from(effect: float) -> str:
    """A detectable effect in points, rounded up, so that a design is never promised too much."""
    return points(math.ceil(round(1000 * effect, 6)) / 1000, signed=False)


def sight(result: Difference) -> str:
    """What the design can see, in one phrase."""
    return f"this design can see gaps above {seen_from(result.minimum_detectable_effect)} points"


def verdict(result: Difference, first: str, second: str) -> str:
    """Whether two scores can be told apart, in one sentence that claims no more than the test."""
    low, high = result.ci_low, result.ci_high
    if result.distinguishable and result.difference < 0:  # told as the second's lead over the first
        low, high = -high, -low
    found = f"{span(low, high, result.confidence)}, {p_text(result.p_value)}, {result.test}"
    if not result.distinguishable:
        return f"Not distinguishable ({points(result.difference)} points; {found}): {sight(result)}."
    above, below = (first, second) if result.difference > 0 else (second, first)
    size = points(abs(result.difference), signed=False)
    return f"{above} scores {size} points above {below} ({found})."
