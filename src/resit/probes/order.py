"""Whether a model prefers the order in which a data set was published.

A model that never saw the data set has no reason to: its rows are exchangeable, any order is as likely as the
published one. Oren et al. 2023, arXiv 2310.17623.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class Shard:
    """Neighbouring rows, as published and shuffled: texts to be scored as one document each."""

    published: str
    shuffled: tuple[str, ...]


def shards(rows: Sequence[str], size: int, shuffles: int, seed: int, separator: str = "\n\n") -> list[Shard]:
    """The rows in groups of `size` neighbours, each with seeded shuffles.

    No two orders of a group are the same, or the published one, which cannot come twice, would differ from
    the others in that and be no draw among them. A last group of fewer rows is left out. ValueError for a
    size below 2, no shuffles, or more than `size` rows have.
    """
    if size < 2 or shuffles < 1:
        raise ValueError("an order needs at least two rows and one shuffle")
    if shuffles > most_shuffles(size):
        raise ValueError(f"{size} rows have {most_shuffles(size)} orders besides the published one")
    return [
        _shard(rows[start : start + size], shuffles, random.Random(f"{seed} {start}"), separator)
        for start in range(0, len(rows) - size + 1, size)
    ]


def most_shuffles(size: int) -> int:
    """How many orders `size` rows have besides the published one."""
    return math.factorial(size) - 1


def _shard(rows: Sequence[str], shuffles: int, chance: random.Random, separator: str) -> Shard:
    published = tuple(range(len(rows)))
    orders = {published: None}  # in the order in which they were drawn
    while len(orders) <= shuffles:
        order = list(published)
        chance.shuffle(order)
        orders[tuple(order)] = None
    texts = [separator.join(rows[at] for at in order) for order in orders]
    return Shard(texts[0], tuple(texts[1:]))


@dataclass(frozen=True, slots=True)
class OrderTest:
    """How much likelier the published order is, and how sure that is."""

    advantage: float
    """Mean over shards of log p(published) less the mean over its shuffles, in nats."""
    p_value: float
    """One-sided, by permutation."""
    shards: int
    shuffles: int
    permutations: int


def order_test(
    published: ArrayLike, shuffled: ArrayLike, *, permutations: int = 10_000, seed: int = 1234
) -> OrderTest:
    """Whether the published order is likelier than its shuffles, from log-probabilities.

    `published` (shards,), `shuffled` (shards, shuffles). Were the rows exchangeable, which of a shard's
    1 + shuffles orders is the published one would be a draw: the advantage is compared with what such draws
    give; p = (1 + draws at least as large) / (1 + permutations), so it is valid for any number of them.
    ValueError for misshapen or infinite input.
    """
    one, many = np.asarray(published, dtype=np.float64), np.asarray(shuffled, dtype=np.float64)
    if one.ndim != 1 or many.ndim != 2 or len(one) != len(many) or not many.size:
        raise ValueError("expected (shards,) and (shards, shuffles) log-probabilities")
    values = np.concatenate([one[:, None], many], axis=1)
    if not np.isfinite(values).all():
        raise ValueError("expected finite log-probabilities")
    count, orders = values.shape
    lead = (orders * values - values.sum(axis=1, keepdims=True)) / (orders - 1)
    observed = float(lead[:, 0].sum())
    rng = np.random.default_rng(seed)
    larger = 0
    for start in range(0, permutations, 1000):
        draws = rng.integers(orders, size=(min(1000, permutations - start), count))
        totals = lead[np.arange(count), draws].sum(axis=1)
        larger += int((totals >= observed - 1e-9 * abs(observed)).sum())
    return OrderTest(observed / count, (1 + larger) / (1 + permutations), count, orders - 1, permutations)
