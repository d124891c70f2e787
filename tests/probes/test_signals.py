from __future__ import annotations

import math
import random
import zlib
from collections import defaultdict

import numpy as np
import pytest
from scipy.stats import binom

from resit.probes.order import order_test, shards
from resit.probes.signals import SIGNALS, Reading
from resit.records import TokenLikelihoods

TEXT = "ten chars!"
LOGPROBS = (-1.0, -4.0, -2.0, -0.5, -3.0, -0.25, -0.25, -1.0, -1.0, -2.0)
FOUND = TokenLikelihoods("k", tuple(TEXT), LOGPROBS, (False,) * 10, (-2.0,) * 10, (2.0,) * 10)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("per_character", -15 / 10),
        ("per_token", -1.5),
        ("min_k", (-4 - 3) / 2),
        ("min_k_plus_plus", ((-4 + 2) / 2 + (-3 + 2) / 2) / 2),
        ("zlib_ratio", -15 / len(zlib.compress(TEXT.encode()))),
        ("reference_ratio", (-15 + 20) / 10),
    ],
)
def test_signals_by_hand(name: str, value: float) -> None:
    reference = TokenLikelihoods("k", ("t",), (-20.0,), (False,))
    assert SIGNALS[name](Reading(TEXT, FOUND, reference)) == pytest.approx(value)


def test_what_cannot_be_computed_is_none() -> None:
    failed = Reading(TEXT, TokenLikelihoods("k", error="too long"))
    assert {name: signal(failed) for name, signal in SIGNALS.items()} == dict.fromkeys(SIGNALS)
    plain = Reading(TEXT, TokenLikelihoods("k", ("t",), (-1.0,), (True,)))
    assert SIGNALS["min_k_plus_plus"](plain) is None
    assert SIGNALS["reference_ratio"](plain) is None


def test_shards_are_neighbours_and_their_shuffles_never_the_published_order() -> None:
    made = shards([str(row) for row in range(11)], 3, 4, seed=5)
    assert [shard.published for shard in made] == ["0\n\n1\n\n2", "3\n\n4\n\n5", "6\n\n7\n\n8"]
    for shard in made:
        assert len(shard.shuffled) == 4
        assert all(sorted(text) == sorted(shard.published) for text in shard.shuffled)
        assert shard.published not in shard.shuffled
    assert made == shards([str(row) for row in range(11)], 3, 4, seed=5)
    with pytest.raises(ValueError, match="two rows"):
        shards(["a"], 1, 1, 0)
    with pytest.raises(ValueError, match="5 orders besides"):
        shards(["a", "b", "c"], 3, 6, 0)


@pytest.mark.parametrize(("rows", "shuffles"), [(2, 1), (3, 4), (3, 5), (5, 4)])
def test_a_model_without_preference_is_flagged_as_often_as_promised(rows: int, shuffles: int) -> None:
    models, groups = 200, 12
    flagged = 0
    for seed in range(models):
        rng = random.Random(seed)
        found: defaultdict[str, float] = defaultdict(lambda rng=rng: rng.gauss(0, 1))
        made = shards([f"row {row}" for row in range(rows * groups)], rows, shuffles, seed)
        published = [found[shard.published] for shard in made]
        orders = [[found[text] for text in shard.shuffled] for shard in made]
        assert all(len({shard.published, *shard.shuffled}) == shuffles + 1 for shard in made)
        flagged += order_test(published, orders, permutations=199, seed=seed).p_value <= 0.05
    assert flagged <= binom.ppf(0.999, models, 0.05)


def test_a_preferred_order_is_found_and_no_preference_is_not() -> None:
    rng = np.random.default_rng(3)
    shuffled = rng.normal(-100, 1, (40, 8))
    preferred = order_test(shuffled.mean(axis=1) + 1, shuffled)
    assert preferred.p_value < 0.001
    assert preferred.advantage == pytest.approx(1)
    indifferent = [
        order_test(rng.normal(-100, 1, 20), rng.normal(-100, 1, (20, 5)), permutations=999).p_value
        for _ in range(200)
    ]
    assert sum(p <= 0.05 for p in indifferent) <= 20, "5 % of 200 is 10"
    assert min(indifferent) >= 1 / 1000


def test_misshapen_orders_are_refused() -> None:
    with pytest.raises(ValueError, match="shards"):
        order_test([1.0], [1.0])
    with pytest.raises(ValueError, match="finite"):
        order_test([math.inf], [[1.0]])
