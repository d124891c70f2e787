"""Rows in, texts out: what the engine writes is what the model alone would write."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from resit.models.hf import score
from resit.models.hf.rows import Finished, Row, Scored, Settings
from resit.models.stops import cut
from resit.records import Sampling

pytest.importorskip("torch", reason="needs `pip install 'resit[hf]'`")

from resit.models.hf.cache import RowCache
from resit.models.hf.engine import AHEAD, Engine
from resit.models.hf.packed import PackedModel

PACKED = ["llama", "qwen2", "gemma2", "gpt_neox", "gpt2", "mistral"]
PADDED = ["bloom", "lfm2", "recurrent_gemma"]

Small = Callable[[str], Any]


def prompts(number: int = 7, seed: int = 0) -> list[tuple[int, ...]]:
    """A long beginning for all, a question for every second and third, and a prompt that shares nothing."""
    draw = random.Random(seed)

    def some(count: int) -> tuple[int, ...]:
        return tuple(draw.randrange(2, 320) for _ in range(count))

    task = some(150)
    questions = [task + some(20 + 3 * i) for i in range(max(1, number // 2))]
    return [questions[i % len(questions)] + (some(i % 3) or ()) for i in range(number - 1)] + [some(9)]


def engine(model: Any, tokenizer: Any, notes: list[str] | None = None, **settings: Any) -> Engine:
    told = settings.pop("end_token_ids", frozenset({-1}))
    given = Settings(context=512, end_token_ids=told, **settings)
    return Engine(model, tokenizer, given, (notes if notes is not None else []).append)


def run(engine: Engine, rows: list[Row]) -> dict[Any, Finished]:
    try:
        return {finished.key: finished for finished in engine.run(rows)}
    finally:
        engine.close()


@cache
def greedy(model: Any, prompt: tuple[int, ...], tokens: int) -> tuple[int, ...]:
    """What transformers' own `generate` says."""
    import torch

    ids = torch.tensor([prompt])
    out = model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, min_new_tokens=tokens,
        do_sample=False, eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    return tuple(out[0, len(prompt) :].tolist())


def rows_of(prompts: list[tuple[int, ...]], **sampling: Any) -> list[Row]:
    return [
        Row(number, prompt, Sampling(**{"max_tokens": 12 + 5 * (number % 3), **sampling}), seed=number)
        for number, prompt in enumerate(prompts)
    ]


@pytest.mark.parametrize("kind", PACKED + PADDED)
@pytest.mark.parametrize("most", [2, 16])
def test_greedy_texts_are_those_of_generate(kind: str, most: int, small_model: Small, tokenizer: Any) -> None:
    model, notes = small_model(kind), list[str]()
    rows = rows_of(prompts())
    found = run(engine(model, tokenizer, notes, rows=most, prefill_tokens=50), rows)
    for row in rows:
        assert found[row.key].token_ids == greedy(model, row.token_ids, row.sampling.max_tokens)
        assert found[row.key].finish_reason == "length"
    assert [note for note in notes if "padded batches" in note] == notes
    assert bool(notes) == (kind in PADDED)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_narrower_numbers(dtype: str, small_model: Small, tokenizer: Any) -> None:
    """Packed rows are used, and are as near to float64 as the model alone is in these numbers."""
    import copy

    import torch

    wide, notes, text = small_model("qwen2"), list[str](), prompts()[0]
    model = copy.deepcopy(wide).to(getattr(torch, dtype))
    made = engine(model, tokenizer, notes, rows=4)
    (found,) = made.score([Scored("a", text, 1)])
    assert all(len(f.token_ids) == 5 for f in run(made, rows_of(prompts(), max_tokens=5)).values())
    assert notes == []
    with torch.no_grad():
        index = torch.tensor(text[1:])[:, None]
        exact, plain = (
            m(torch.tensor([text])).logits[0, :-1].double().log_softmax(-1) for m in (wide, model)
        )
    exact, plain = exact.gather(1, index)[:, 0], plain.gather(1, index)[:, 0]
    deviation = (torch.tensor(found.logprobs) - exact).abs().mean()
    assert deviation < 1.5 * (plain - exact).abs().mean() + 1e-6


def test_padded_batches_can_be_asked_for(small_model: Small, tokenizer: Any) -> None:
    model = small_model("llama")
    rows = rows_of(prompts())
    found = run(engine(model, tokenizer, rows=3, shared_prefixes=False), rows)
    assert all(found[r.key].token_ids == greedy(model, r.token_ids, r.sampling.max_tokens) for r in rows)


@pytest.mark.parametrize("shared_prefixes", [True, False])
@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": 0.7},
        {"temperature": 1.0, "top_p": 0.8},
        {"temperature": 1.3, "top_k": 9, "min_p": 0.02},
        {"temperature": 0.0, "repetition_penalty": 1.3},
    ],
)
def test_what_a_row_draws_depends_on_its_seed_alone(
    settings: dict[str, float], shared_prefixes: bool, small_model: Small, tokenizer: Any
) -> None:
    model = small_model("llama")
    rows = rows_of([*prompts(5)] * 2, **settings)
    ways = [rows, rows[::-1], rows[3:4]]
    found = [
        run(engine(model, tokenizer, rows=most, shared_prefixes=shared_prefixes), way)
        for way, most in zip(ways, (16, 3, 1), strict=True)
    ]
    for row in rows:
        assert found[0][row.key].token_ids == found[1][row.key].token_ids
    assert found[0][3].token_ids == found[2][3].token_ids
    if settings["temperature"]:
        assert found[0][0].token_ids != found[0][5].token_ids, "another seed, another text"


def test_a_shared_prefix_is_computed_once(
    small_model: Small, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = []
    plain = PackedModel.logits

    def counted(self: PackedModel, pass_: Any, keep: Any) -> Any:
        computed.extend(zip(pass_.token_ids, pass_.positions, strict=True))
        return plain(self, pass_, keep)

    monkeypatch.setattr(PackedModel, "logits", counted)
    made = engine(small_model("llama"), tokenizer, rows=4)
    computed.clear()
    task, *questions = [tuple(range(10 * i, 10 * i + 80)) for i in range(4)]
    alike = [(*task, *question, 200 + n) for question in questions for n in range(5)]
    found = run(made, rows_of(alike, max_tokens=3))
    # the task, each question, and in each row its last token and the first two drawn
    assert len(computed) == 80 + 3 * 80 + 15 * 3
    assert sum(f.prompt_tokens - f.cached_tokens for f in found.values()) == 80 + 3 * 80 + 15
    assert found[0].cached_tokens == 0


def test_rows_are_pulled_as_places_become_free(small_model: Small, tokenizer: Any) -> None:
    pulled, ended = 0, 0

    def stream() -> Iterator[Row]:
        nonlocal pulled
        for row in rows_of(prompts(40)):
            pulled += 1
            assert pulled <= ended + (AHEAD + 1) * 4 + 4
            yield row

    for _ in engine(small_model("llama"), tokenizer, rows=4).run(stream()):
        ended += 1
    assert ended == 40


def test_rows_fly_together_as_far_as_their_caches_pay(
    small_model: Small, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long places first, few of them; when only short ones are asked for, many."""
    together, plain, draw = list[int](), PackedModel.logits, random.Random(3)

    def counted(self: PackedModel, pass_: Any, keep: Any) -> Any:
        together.append(len(pass_.places))
        return plain(self, pass_, keep)

    model = small_model("llama")
    made = engine(model, tokenizer)
    weights = sum(parameter.nbytes for parameter in model.parameters())
    token = 3 * 2 * 2 * 8 * 8  # layers, keys and values, key heads, width, bytes
    monkeypatch.setattr(PackedModel, "logits", counted)
    long = [tuple(draw.randrange(2, 320) for _ in range(380)) for _ in range(12)]
    short = [tuple(draw.randrange(2, 320) for _ in range(10)) for _ in range(60)]
    rows = rows_of(long + short, max_tokens=4)
    found = run(made, rows)
    assert max(together[:13]) <= 2 * weights // (384 * token) < 5
    assert max(together) > 10
    assert all(found[row.key].token_ids == greedy(model, row.token_ids, 4) for row in rows)


def test_a_stop_string_ends_a_row_wherever_it_stands_in_the_tokens(
    small_model: Small, tokenizer: Any
) -> None:
    model = small_model("llama")
    prompt = prompts()[0]
    text = tokenizer.decode(greedy(model, prompt, 40), skip_special_tokens=True)
    draw = random.Random(1)
    pieces = [text[place : place + draw.randrange(1, 7)] for place in range(3, len(text) - 1)]
    stops = [piece for piece in pieces if piece[-1].isascii()]  # the model babbles halves of characters
    assert len(stops) > 3
    rows = [Row(i, prompt, Sampling(max_tokens=40, stop=(stop, "absent"))) for i, stop in enumerate(stops)]
    found = run(engine(model, tokenizer, rows=5), rows)
    for number, stop in enumerate(stops):
        assert (found[number].text, found[number].stop) == cut(text, [stop])
        assert found[number].finish_reason == "stop"
        least = len(found[number].text) + len(stop)
        assert len(tokenizer.decode(found[number].token_ids[:-1])) < least, "it ended as soon as it could"


def test_the_end_token_and_a_special_stop_end_a_row(small_model: Small, tokenizer: Any) -> None:
    model = small_model("llama")
    prompt = prompts()[0]
    said = greedy(model, prompt, 12)
    found = run(
        engine(model, tokenizer, end_token_ids=frozenset({said[5]})), [Row("a", prompt, Sampling(stop=()))]
    )
    assert found["a"].token_ids == said[: said.index(said[5]) + 1]
    assert (found["a"].finish_reason, found["a"].stop) == ("stop", None)


@pytest.mark.parametrize("shared_prefixes", [True, False])
def test_what_is_put_into_a_row_goes_on_from_there(
    shared_prefixes: bool, small_model: Small, tokenizer: Any
) -> None:
    model, asked = small_model("llama"), list[str]()
    prompt = tuple(tokenizer.encode("the sum of one and two apples is " * 8))

    def intervene(text: str) -> str | None:
        asked.append(text)
        return " seven apples" if len(asked) == 3 else None

    made = engine(model, tokenizer, shared_prefixes=shared_prefixes, rows=2)
    rows = [
        Row("plain", prompt, Sampling(max_tokens=30)),
        Row("a", prompt, Sampling(max_tokens=30), 0, intervene),
    ]
    found = run(made, rows)
    assert found["plain"].token_ids == greedy(model, prompt, 30)
    (insertion,) = found["a"].insertions
    assert insertion.text == " seven apples"
    assert insertion.offset == len(asked[2])
    assert found["a"].text.startswith(asked[2] + insertion.text)
    begun = tuple(tokenizer.encode(asked[2] + insertion.text))
    assert found["a"].token_ids == begun + greedy(model, prompt + begun, 30 - len(begun))
    assert asked[3].startswith(asked[2] + insertion.text)


@pytest.mark.parametrize("shared_prefixes", [True, False])
def test_rows_that_cannot_begin(shared_prefixes: bool, small_model: Small, tokenizer: Any) -> None:
    rows = [
        Row("long", (5,) * 512, Sampling()),
        Row("empty", (), Sampling()),
        Row("mute", (5, 6), Sampling(max_tokens=0)),
        Row("near", (7,) * 510, Sampling(max_tokens=50)),
    ]
    found = run(engine(small_model("llama"), tokenizer, shared_prefixes=shared_prefixes), rows)
    assert (found["long"].finish_reason, found["empty"].finish_reason) == ("error", "error")
    assert "512 tokens" in (found["long"].error or "")
    assert (found["mute"].finish_reason, found["mute"].token_ids) == ("length", ())
    assert (found["near"].finish_reason, len(found["near"].token_ids)) == ("length", 2)


def test_texts_can_be_scored_while_rows_are_under_way(small_model: Small, tokenizer: Any) -> None:
    model, rows = small_model("llama"), rows_of(prompts())
    made = engine(model, tokenizer, rows=2)
    found = {}
    for finished in made.run(rows):
        found[finished.key] = finished
        next(iter(made.score([Scored("x", rows[0].token_ids, 1)])))
    made.close()
    assert all(found[r.key].token_ids == greedy(model, r.token_ids, r.sampling.max_tokens) for r in rows)


@pytest.mark.parametrize("failing", [{1}, {4}, {2, 5}])
def test_running_out_of_memory_halves_the_rows_and_changes_no_text(
    failing: set[int], small_model: Small, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    plain, calls = PackedModel.logits, 0

    def scarce(self: PackedModel, pass_: Any, keep: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls in failing:
            raise torch.OutOfMemoryError("out of memory")
        return plain(self, pass_, keep)

    model, notes = small_model("qwen2"), list[str]()
    made = engine(model, tokenizer, notes, rows=6)
    monkeypatch.setattr(PackedModel, "logits", scarce)
    rows = rows_of(prompts(9), temperature=0.8)
    found = run(made, rows)
    monkeypatch.undo()
    assert found.keys() == {row.key for row in rows}
    assert len(notes) == len(failing)
    quiet = run(engine(model, tokenizer, rows=6), rows)
    assert all(found[row.key].token_ids == quiet[row.key].token_ids for row in rows)


@pytest.mark.parametrize("most", [1, 3])
def test_places_that_do_not_fit_are_made_for_fewer_rows(
    most: int, small_model: Small, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, allowed = RowCache.reserve, [most]

    def scarce(self: RowCache, places: int, capacity: int) -> None:
        if places > allowed[0]:
            raise MemoryError
        plain(self, places, capacity)

    made, rows = engine(small_model("llama"), tokenizer, rows=8), rows_of(prompts())
    monkeypatch.setattr(RowCache, "reserve", scarce)
    found = run(made, rows)
    assert [f.finish_reason for f in found.values()] == ["length"] * len(rows)
    allowed[0] = 8  # the trial of a new engine needs two places
    made = engine(small_model("llama"), tokenizer, rows=8)
    allowed[0] = 0
    found = run(made, rows)
    assert [f.finish_reason for f in found.values()] == ["error"] * len(rows)


def test_a_row_that_alone_needs_too_much_is_an_error(
    small_model: Small, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = engine(small_model("llama"), tokenizer, rows=2)

    def never(self: PackedModel, pass_: Any, keep: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(PackedModel, "logits", never)
    found = run(made, rows_of(prompts(3)))
    assert [f.finish_reason for f in found.values()] == ["error"] * 3


@pytest.mark.parametrize("kind", ["llama", "mistral", "gemma2", "bloom"])
@pytest.mark.parametrize("moments", [True, False])
def test_scores_are_those_of_a_plain_forward_pass(
    kind: str, moments: bool, small_model: Small, tokenizer: Any
) -> None:
    import torch

    model, texts = small_model(kind), prompts(9)
    starts = [1, 60, 150, 171, 3, 150, 40, 120, 1]
    wanted = [Scored(i, text, start) for i, (text, start) in enumerate(zip(texts, starts, strict=True))]
    wanted.append(Scored("prefix", texts[0][:100], 50))
    made = engine(model, tokenizer)
    scores = {found.key: found for found in made.score(iter(wanted), moments)}
    made.close()
    for text in wanted:
        with torch.no_grad():
            rows = model(torch.tensor([text.token_ids])).logits[0, text.start - 1 : -1].log_softmax(-1)
        found = scores[text.key]
        own = rows.gather(1, torch.tensor(text.token_ids[text.start :])[:, None])[:, 0]
        assert found.logprobs == pytest.approx(own.tolist(), abs=1e-5)
        assert found.greedy == tuple((rows.argmax(-1) == torch.tensor(text.token_ids[text.start :])).tolist())
        assert (found.mean is not None) == moments
        if found.mean is not None and found.deviation is not None:
            mean = (rows.exp() * rows).sum(-1)
            spread = ((rows.exp() * rows**2).sum(-1) - mean**2).sqrt()
            assert found.mean == pytest.approx(mean.tolist(), abs=1e-5)
            assert found.deviation == pytest.approx(spread.tolist(), abs=1e-5)


@pytest.mark.parametrize("positions", [7, 30, 64])
def test_a_text_that_is_scored_in_several_passes(
    positions: int, small_model: Small, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So few predictions fit into a pass that a long context and its text need several."""
    model = small_model("llama")
    text = prompts(9)[0]
    wanted = [Scored(start, text, start) for start in (1, 40, len(text) - 20)]
    made = engine(model, tokenizer)
    whole = {found.key: found.logprobs for found in made.score(wanted)}
    monkeypatch.setattr(score, "LOGITS", positions * model.config.vocab_size)
    for each in wanted:
        (found,) = made.score([each])
        assert found.logprobs == pytest.approx(whole[each.key], abs=1e-5)


def test_the_model_is_left_as_it_was(small_model: Small, tokenizer: Any) -> None:
    model = small_model("llama")
    before = model.config._attn_implementation
    stream = engine(model, tokenizer, rows=2).run(rows_of(prompts()))
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert model.config._attn_implementation == before
