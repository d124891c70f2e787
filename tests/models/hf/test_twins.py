"""Rows that have said the same are computed once, and end as if each had been alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from resit.models.hf.rows import Finished, Row, Settings
from resit.records import Sampling

pytest.importorskip("torch", reason="needs `pip install 'resit[hf]'`")

from resit.models.hf.engine import Decoding, Engine
from resit.models.hf.packed import PackedModel

Small = Callable[[str], Any]
PROMPT = tuple(range(2, 80))


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows that decoded in each pass."""
    seen: list[int] = []
    plan = Decoding._plan

    def counted(self: Decoding) -> Any:
        work = plan(self)
        seen.extend([len(work.pass_.places)] if work.pass_.places else [])
        return work

    monkeypatch.setattr(Decoding, "_plan", counted)
    return seen


def run(model: Any, tokenizer: Any, rows: list[Row], most: int) -> dict[Any, Finished]:
    engine = Engine(model, tokenizer, Settings(rows=most, end_token_ids=frozenset({0})), [].append)
    try:
        return {finished.key: finished for finished in engine.run(rows)}
    finally:
        engine.close()


def repeats(number: int, prompt: tuple[int, ...] = PROMPT, first: int = 0, **sampling: Any) -> list[Row]:
    return [
        Row(first + n, prompt, Sampling(**{"max_tokens": 20, **sampling}), seed=100 + n)
        for n in range(number)
    ]


def test_greedy_repeats_are_one_row(small_model: Small, tokenizer: Any, computed: list[int]) -> None:
    found = run(small_model("llama"), tokenizer, repeats(9), 16)
    assert len(found) == 9
    assert len({row.token_ids for row in found.values()}) == 1
    assert set(computed) == {1}
    assert sorted(row.cached_tokens for row in found.values())[1:] == [len(PROMPT)] * 8


@pytest.mark.parametrize("kind", ["llama", "gemma2", "gpt_neox"])
@pytest.mark.parametrize("temperature", [0.05, 0.2, 1.0])
@pytest.mark.parametrize("most", [3, 40])
def test_repeats_end_as_if_each_had_been_alone(
    kind: str, temperature: float, most: int, small_model: Small, tokenizer: Any, computed: list[int]
) -> None:
    other = (*PROMPT[:40], *range(120, 150))
    rows = [*repeats(12, temperature=temperature), *repeats(12, other, 12, temperature=temperature)]
    found = run(small_model(kind), tokenizer, rows, most)
    together = sum(computed)
    computed.clear()
    alone = run(small_model(kind), tokenizer, rows, 1)
    for row in rows:
        assert found[row.key].token_ids == alone[row.key].token_ids
        assert found[row.key].text == alone[row.key].text
        assert found[row.key].finish_reason == alone[row.key].finish_reason
    assert together <= sum(computed)
    if temperature < 0.1 and most > 3:
        assert together < 0.7 * sum(computed)


def test_twins_may_end_at_different_lengths_and_by_different_means(
    small_model: Small, tokenizer: Any
) -> None:
    whole = run(small_model("llama"), tokenizer, repeats(1, max_tokens=30), 1)[0]
    stop = whole.text[5:8]
    rows = [
        Row(0, PROMPT, Sampling(max_tokens=30)),
        Row(1, PROMPT, Sampling(max_tokens=30, stop=(stop,))),
        *(Row(2 + n, PROMPT, Sampling(max_tokens=n + 1)) for n in range(12)),
    ]
    for order in (rows, rows[::-1]):
        found = run(small_model("llama"), tokenizer, order, 20)
        assert found[0].token_ids == whole.token_ids
        assert (found[1].text, found[1].stop) == (whole.text[: whole.text.index(stop)], stop)
        for n in range(12):
            assert found[2 + n].token_ids == whole.token_ids[: n + 1]


def test_followers_survive_when_memory_runs_out(
    small_model: Small, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = repeats(10, temperature=0.3)
    expected = run(small_model("llama"), tokenizer, rows, 10)
    logits, calls = PackedModel.logits, [0]

    def failing(self: PackedModel, pass_: Any, keep: Any) -> Any:
        calls[0] += 1
        if calls[0] in (6, 9):
            raise MemoryError
        return logits(self, pass_, keep)

    monkeypatch.setattr(PackedModel, "logits", failing)
    found = run(small_model("llama"), tokenizer, rows, 10)
    assert {key: row.token_ids for key, row in found.items()} == {
        key: row.token_ids for key, row in expected.items()
    }


def test_what_is_put_into_a_row_is_put_into_its_twins(small_model: Small, tokenizer: Any) -> None:
    def intervene(text: str) -> str | None:
        return " apples" if len(text) > 6 and " apples" not in text else None

    rows = [Row(n, PROMPT, Sampling(max_tokens=16), intervene=intervene) for n in range(4)]
    plain = Row(9, PROMPT, Sampling(max_tokens=16))
    found = run(small_model("llama"), tokenizer, [*rows, plain], 8)
    (alone,) = run(small_model("llama"), tokenizer, rows[:1], 1).values()
    assert {found[n].text for n in range(4)} == {alone.text}
    assert " apples" in alone.text
    assert " apples" not in found[9].text
