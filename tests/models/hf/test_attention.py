"""Attention in parts is attention over all keys at once."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="needs `pip install 'resit[hf]'`")

import torch

from resit.models.hf import attention
from resit.models.hf.attention import PackedAttention, Rule, attend
from resit.models.hf.cache import LayerShape, RowCache, SharedStore
from resit.models.hf.layout import Group, Pass, Span, bands, window_mask

HEADS, KEY_HEADS, WIDTH = 4, 2, 8


def numbers(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(*shape, dtype=dtype)


def whole(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, rule: Rule, seen: torch.Tensor
) -> Any:
    """Outputs (queries, heads, width) by the definition."""
    sharing = query.shape[1] // keys.shape[0]
    keys, values = keys.repeat_interleave(sharing, 0), values.repeat_interleave(sharing, 0)
    scores = torch.einsum("qhd,hkd->hqk", query, keys) * rule.scaling
    if rule.softcap is not None:
        scores = torch.tanh(scores / rule.softcap) * rule.softcap
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
    return torch.einsum("hqk,hkd->qhd", weights, values)


RULES = [Rule(0.3), Rule(0.3, softcap=2.0), Rule(0.3, window=5), Rule(0.3, softcap=2.0, window=11)]


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("scores", [2**26, 40])
@pytest.mark.parametrize("value_width", [WIDTH, 6])
def test_attend(rule: Rule, scores: int, value_width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "SCORES", scores)
    query, keys, values = (
        numbers(9, HEADS, WIDTH),
        numbers(KEY_HEADS, 9, WIDTH),
        numbers(KEY_HEADS, 9, value_width),
    )
    everything = torch.ones(9, 9, dtype=torch.bool)
    near = window_mask(torch.arange(9), 0, 9, 3)
    for mask, seen in (
        (None, everything),
        ("causal", everything.tril()),
        (near, near),
    ):
        out, _ = attend(query, keys, values, rule, mask)
        assert torch.allclose(out, whole(query, keys, values, rule, seen))


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("places", [[0, 1, 2], [0, 2, 5], [3]])
def test_rows_runs_and_shared_keys_together(rule: Rule, places: list[int]) -> None:
    """Three texts with 12 common tokens: some decode behind own tokens, one computes four at once."""
    torch.manual_seed(0)
    shared, own = 12, [2, 8, 4][: len(places)]
    keys, values = numbers(KEY_HEADS, shared, WIDTH), numbers(KEY_HEADS, shared, WIDTH)
    shape = LayerShape(KEY_HEADS, WIDTH, WIDTH, torch.float64, torch.device("cpu"))
    function, cache = PackedAttention(), RowCache([shape])
    module = torch.nn.Identity()
    function.layers, function.cache = {module: 0}, cache
    cache.reserve(8, 64)
    store = SharedStore([keys.clone()], [values.clone()])
    rows = [(numbers(KEY_HEADS, length, WIDTH), numbers(KEY_HEADS, length, WIDTH)) for length in own]
    for place, (row_k, row_v) in zip(places, rows, strict=True):
        cache.keys[0][place, :, : row_k.shape[1] - 1] = row_k[:, :-1]
        cache.values[0][place, :, : row_v.shape[1] - 1] = row_v[:, :-1]
    new_k, new_v = numbers(KEY_HEADS, 4, WIDTH), numbers(KEY_HEADS, 4, WIDTH)
    tokens = len(places) + 4
    pass_ = Pass([0] * tokens, [shared + n - 1 for n in own] + list(range(shared, shared + 4)), places, own)
    pass_.spans.append(Span(len(places), tokens, 0, place=7))
    pass_.groups.append(Group(store, 0, shared, [(0, tokens)]))
    pass_.finish()
    function.pass_ = pass_
    query = numbers(tokens, HEADS, WIDTH)
    given_k = torch.cat([*(k[:, -1:] for k, _ in rows), new_k], 1)
    given_v = torch.cat([*(v[:, -1:] for _, v in rows), new_v], 1)
    out, _ = function(
        module, query.transpose(0, 1)[None], given_k[None], given_v[None], None,
        scaling=rule.scaling, softcap=rule.softcap, sliding_window=rule.window,
    )  # fmt: skip
    for number, (row_k, row_v) in enumerate(rows):
        all_k, all_v = torch.cat([keys, row_k], 1), torch.cat([values, row_v], 1)
        last = torch.tensor([shared + own[number] - 1])
        seen = window_mask(last, 0, shared + own[number], rule.window)
        assert torch.allclose(
            out[0, number : number + 1], whole(query[number : number + 1], all_k, all_v, rule, seen)
        )
    seen = window_mask(torch.arange(shared, shared + 4), 0, shared + 4, rule.window)
    expected = whole(query[-4:], torch.cat([keys, new_k], 1), torch.cat([values, new_v], 1), rule, seen)
    assert torch.allclose(out[0, -4:], expected)


@given(st.dictionaries(st.integers(0, 70), st.integers(1, 900), min_size=1))
def test_bands_hold_every_row_and_no_two_overlap(rows: dict[int, int]) -> None:
    places = sorted(rows)
    lengths = [rows[place] for place in places]
    found = bands(places, lengths)
    assert found[0].first == 0
    assert found[-1].last == places[-1] + 1
    assert all(left.last == right.first for left, right in pairwise(found))
    for band in found:
        inside = [place for place in places if band.first <= place < band.last]
        assert places[band.queries] == inside
        assert band.length == max((rows[place] for place in inside), default=1)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 9)), min_size=1, max_size=6))
def test_a_group_finds_its_queries(runs: list[tuple[int, int]]) -> None:
    starts, position = [], 0
    for gap, count in runs:
        starts.append((position + gap, position + gap + count))
        position += gap + count
    store = SharedStore([], [])
    which = Group(store, 0, 3, starts[::-1]).on(torch.device("cpu"))
    found = torch.arange(position)[which].tolist()
    assert found == [place for begin, end in starts for place in range(begin, end)]
    assert isinstance(which, slice) == (found == list(range(found[0], found[-1] + 1)))


def test_places_that_no_memory_holds_are_what_the_engine_retreats_from() -> None:
    cache = RowCache([LayerShape(1, 2, 2, torch.float32, torch.device("cpu"))])
    for places in (2**44, 2**60):
        with pytest.raises(MemoryError, match="no room"):
            cache.reserve(places, 64)
    assert (cache.places, cache.keys) == (0, [])


def test_places_move_grow_and_are_cleared() -> None:
    shape = LayerShape(1, 2, 2, torch.float32, torch.device("cpu"))
    cache = RowCache([shape])
    cache.reserve(3, 10)
    assert not cache.keys[0][:, :, :10].any()
    cache.keys[0][:, :, :10] = torch.arange(3.0)[:, None, None, None]
    cache.move([2, 0], [0, 1], [10, 4])
    assert cache.keys[0][:, 0, 0, 0].tolist() == [2.0, 0.0, 2.0]
    assert cache.keys[0][1, 0, :10, 0].tolist() == [0.0] * 4 + [1.0] * 6, "only as far as the row reaches"
    cache.reserve(4, 100)
    assert (cache.places, cache.capacity) == (4, 128)
    assert cache.keys[0][:, 0, 9, 0].tolist() == [2.0, 1.0, 2.0, 0.0]
    assert not cache.values[0][:, :, :128].any()
