"""Seeded bootstrap intervals of means, by resampling questions."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from resit.stats.intervals import Interval, normal_quantile

BootstrapMethod: TypeAlias = Literal["percentile", "bca"]
Floats: TypeAlias = NDArray[np.float64]

DRAWS = 10_000
SEED = 1234


def bootstrap_interval(
    values: ArrayLike,
    confidence: float = 0.95,
    *,
    draws: int = DRAWS,
    seed: int = SEED,
    method: BootstrapMethod = "bca",
) -> Interval:
    """Bootstrap interval of the mean of one value a question, in their unit; the same for the same seed.

    Questions are drawn with replacement, so a question's repeats stay together when `values` holds its mean;
    for a paired comparison pass the differences. `percentile`: quantiles of the resampled means; `bca`:
    corrected for bias and skew. Efron 1987, JASA 82:171-185; Efron and Tibshirani 1993, An Introduction to
    the Bootstrap, chapters 13-14. ValueError for fewer than two values, or where all are equal: resampling
    them would give a point, which is no interval.
    """
    data = _one_dimensional(values)
    _check_spread(data)
    means = np.concatenate(list(_resampled_means(data, draws, np.random.default_rng(seed))))
    tails = _bca_tails(data, means, confidence) if method == "bca" else _plain_tails(confidence)
    low, high = np.quantile(means, tails)
    return Interval(float(low), float(high))


def bootstrap_difference(
    first: ArrayLike,
    second: ArrayLike,
    confidence: float = 0.95,
    *,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Interval:
    """Percentile bootstrap interval of a difference of means over different questions.

    Each set is resampled by itself.
    Efron and Tibshirani 1993, An Introduction to the Bootstrap, section 8.3. ValueError for fewer than two
    values in a set, or where the values of each are equal.
    """
    rng = np.random.default_rng(seed)
    sets = [_one_dimensional(values) for values in (first, second)]
    _check_spread(*sets)
    means = [np.concatenate(list(_resampled_means(data, draws, rng))) for data in sets]
    low, high = np.quantile(means[0] - means[1], _plain_tails(confidence))
    return Interval(float(low), float(high))


def resampling_weights(n: int, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
    """How often each of n items is drawn, in blocks of shape (up to 512, n), `draws` rows in all."""
    for start in range(0, draws, 512):
        rows = min(512, draws - start)
        picks = rng.integers(0, n, size=(rows, n)) + n * np.arange(rows)[:, None]
        yield np.bincount(picks.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def _resampled_means(data: Floats, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
    for weights in resampling_weights(len(data), draws, rng):
        yield weights @ data / len(data)


def _one_dimensional(values: ArrayLike) -> Floats:
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or len(data) < 2:
        raise ValueError(f"a bootstrap needs at least 2 values, one a question, not shape {data.shape}")
    return data


def _check_spread(*sets: Floats) -> None:
    if all(float(np.ptp(data)) <= 1e-9 for data in sets):
        raise ValueError("a bootstrap needs values that differ: resampling equal ones gives a point")


def _plain_tails(confidence: float) -> tuple[float, float]:
    normal_quantile(confidence)
    return (1 - confidence) / 2, (1 + confidence) / 2


def _bca_tails(data: Floats, means: Floats, confidence: float) -> tuple[float, float]:
    """The quantiles to read off, shifted by the draws below the estimate and a sixth of the mean's skew."""
    centred = data - data.mean()
    spread = float(np.sum(centred**2))
    normal, z = NormalDist(), normal_quantile(confidence)
    tolerance = 1e-12 * max(1.0, float(np.abs(data).max()))
    below = float(
        np.mean(means < data.mean() - tolerance) + np.mean(np.abs(means - data.mean()) <= tolerance) / 2
    )
    bias = normal.inv_cdf(min(max(below, 1e-6), 1 - 1e-6))
    acceleration = float(np.sum(centred**3)) / (6 * spread**1.5)

    def shifted(quantile: float) -> float:
        step = bias + quantile
        return normal.cdf(bias + step / (1 - acceleration * step))

    return shifted(-z), shifted(z)
