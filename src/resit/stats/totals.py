"""Prediction of a total over many units from a few of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from resit.stats.clusters import standard_error
from resit.stats.intervals import Interval, student_quantile


def predicted_total(
    samples: Sequence[Sequence[float]], sizes: Sequence[int], confidence: float = 0.95
) -> tuple[float, Interval | None]:
    """The expected sum over all units of several strata, and the interval in which the sum will lie.

    `samples` holds the values of the units drawn from each stratum, `sizes` how many units it has. Estimate
    sum N_i m_i; the variance of what will be, sum N_i^2 s_i^2 / n_i (1 + n_i/N_i), has the spread of the mean
    and that of the units to come (no unit is taken to be among those drawn); Student's t with Satterthwaite's
    degrees over the strata that have units. Cochran 1977, Sampling Techniques, sections 5.3 and 5.4. The
    lower limit is at least 0 where no value is negative; the interval is None where a stratum has fewer than
    two values. ValueError for an empty one.
    """
    if len(samples) != len(sizes) or not all(samples) or not sizes:
        raise ValueError("a total needs at least one value, and a size, of every stratum")
    means = [math.fsum(values) / len(values) for values in samples]
    total = math.fsum(size * mean for size, mean in zip(sizes, means, strict=True))
    if any(len(values) < 2 for values in samples):
        return total, None
    parts = [
        ((size * standard_error(values)) ** 2 * (1 + len(values) / size), len(values) - 1)
        for values, size in zip(samples, sizes, strict=True)
        if size
    ]
    variance = math.fsum(part for part, _ in parts)
    if not variance:
        return total, Interval(total, total)
    degrees = variance**2 / math.fsum(part**2 / own for part, own in parts)
    half = student_quantile(confidence, degrees) * math.sqrt(variance)
    floor = 0.0 if all(value >= 0 for values in samples for value in values) else -math.inf
    return total, Interval(max(floor, total - half), total + half)
