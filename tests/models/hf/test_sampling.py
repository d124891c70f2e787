"""Drawing tokens: the same distributions as transformers' chain, from one number a row."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="needs `pip install 'resit[hf]'`")

import torch

from resit.models.hf.sampling import Draw, choose
from resit.records import Sampling

VOCABULARY = 3000
GRID = 4000

CHAINS: list[dict[str, Any]] = [
    {"temperature": 1.0},
    {"temperature": 0.4},
    {"temperature": 1.0, "min_p": 0.05},
    {"temperature": 1.0, "top_k": 7},
    {"temperature": 0.8, "top_p": 0.6},
    {"temperature": 3.0, "top_p": 0.95},
    {"temperature": 9.0, "top_p": 0.999},
    {"temperature": 1.2, "top_k": 200, "top_p": 0.9, "min_p": 0.01},
    {"temperature": 1.0, "top_p": 0.0},
    {"temperature": 0.7, "repetition_penalty": 1.4},
]


class Fixed:
    """Random numbers that are known beforehand."""

    def __init__(self, number: float) -> None:
        self.number = number

    def random(self) -> float:
        return self.number


def logits(rows: int = 1, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, VOCABULARY, generator=torch.Generator().manual_seed(seed)) * 2.5


def theirs(chain: dict[str, Any], scores: torch.Tensor, seen: list[int]) -> torch.Tensor:
    """Probabilities (vocabulary) after transformers' processors, in the order of its `generate`."""
    from transformers import generation as g

    ids = torch.tensor([seen])
    if "repetition_penalty" in chain:
        scores = g.RepetitionPenaltyLogitsProcessor(chain["repetition_penalty"])(ids, scores)
    scores = g.TemperatureLogitsWarper(chain["temperature"])(ids, scores)
    if "top_k" in chain:
        scores = g.TopKLogitsWarper(chain["top_k"])(ids, scores)
    if "top_p" in chain:
        scores = g.TopPLogitsWarper(chain["top_p"])(ids, scores)
    if "min_p" in chain:
        scores = g.MinPLogitsWarper(chain["min_p"])(ids, scores)
    return scores.double().softmax(-1)[0]


@pytest.mark.parametrize("chain", CHAINS, ids=str)
def test_even_numbers_give_each_token_its_share(chain: dict[str, Any]) -> None:
    scores, seen = logits(), [1, 5, 9, 11]
    draws = []
    for number in range(GRID):
        draw = Draw(Sampling(**chain), 0)
        draw.numbers = Fixed((number + 0.5) / GRID)  # type: ignore[assignment]
        draw.see(seen, VOCABULARY, scores.device)
        draws.append(draw)
    counts = torch.bincount(torch.tensor(choose(scores.expand(GRID, -1), draws)), minlength=VOCABULARY)
    expected = theirs(chain, scores, seen)
    assert not counts[expected == 0].any(), "a token that transformers excludes"
    assert (counts - expected * GRID).abs().max() < 1.01


@given(st.lists(st.sampled_from([*CHAINS, {"temperature": 0.0}]), min_size=1, max_size=6))
def test_rows_with_different_settings_do_not_disturb_each_other(chains: list[dict[str, Any]]) -> None:
    scores = logits(len(chains))

    def drawn(index: int) -> Draw:
        draw = Draw(Sampling(**chains[index]), seed=index)
        draw.see([3, 4], VOCABULARY, scores.device)
        return draw

    together = choose(scores, [drawn(index) for index in range(len(chains))])
    alone = [choose(scores[index : index + 1], [drawn(index)])[0] for index in range(len(chains))]
    assert together == alone


def test_greedy_takes_the_likeliest_whatever_else_is_set() -> None:
    scores = logits(3)
    settings = [Sampling(), Sampling(top_p=0.3, top_k=2), Sampling(min_p=0.9)]
    assert choose(scores, [Draw(sampling, 1) for sampling in settings]) == scores.argmax(-1).tolist()


@pytest.mark.parametrize("number", [0.0, 0.5, 1.0 - 2**-53])
@pytest.mark.parametrize("chain", CHAINS[:9], ids=str)
def test_no_number_leads_to_a_token_without_probability(chain: dict[str, Any], number: float) -> None:
    scores = logits()
    scores[0, -700:] = -torch.inf
    scores[0, :3] = -torch.inf
    draw = Draw(Sampling(**chain), 0)
    draw.numbers = Fixed(number)  # type: ignore[assignment]
    assert scores[0, choose(scores, [draw])[0]] > -torch.inf


def test_repeats_with_seeds_of_their_own_follow_the_distribution() -> None:
    scores = logits()[:, :6]
    draws = [Draw(Sampling(temperature=2.0), seed) for seed in range(4000)]
    counts = torch.bincount(torch.tensor(choose(scores.expand(4000, -1), draws)), minlength=6)
    expected = (scores / 2).double().softmax(-1)[0] * 4000
    assert ((counts - expected) ** 2 / expected).sum() < 20.5  # chi-square, 5 degrees of freedom: p = 0.001
