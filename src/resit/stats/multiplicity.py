"""p-values adjusted for having looked many times."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values, in the given order, that bound the chance of any false rejection.

    In ascending order, max over j <= i of (m - j + 1) p_(j), at most 1. For a few comparisons planned
    beforehand. Holm 1979, Scandinavian Journal of Statistics 6:65-70. ValueError for a p-value outside 0..1.
    """
    m = len(p_values)
    adjusted, running = [0.0] * m, 0.0
    for rank, index in enumerate(_ascending(p_values)):
        running = max(running, (m - rank) * p_values[index])
        adjusted[index] = min(1.0, running)
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values, in the given order, that bound the expected share of false rejections.

    In ascending order, min over j >= i of m p_(j) / j, at most 1. For a league table. Benjamini and Hochberg
    1995, Journal of the Royal Statistical Society B 57:289-300. ValueError for a p-value outside 0..1.
    """
    m = len(p_values)
    adjusted, running = [0.0] * m, 1.0
    for rank, index in reversed(list(enumerate(_ascending(p_values), 1))):
        running = min(running, m * p_values[index] / rank)
        adjusted[index] = running
    return adjusted


def _ascending(p_values: Sequence[float]) -> list[int]:
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError("p-values must lie between 0 and 1")
    return sorted(range(len(p_values)), key=p_values.__getitem__)
