from __future__ import annotations

from collections.abc import Callable

from resit.models.watch import Watch
from resit.records import Request

Ask = Callable[..., Request]


def test_prompts_of_different_length_with_one_count_are_cut_prompts() -> None:
    notes: list[str] = []
    watch = Watch(notes.append)
    for characters in (9000, 9500, 10_000, 10_500, 11_000, 12_000):
        watch.prompt_tokens(characters, 2050)
    assert len(notes) == 1
    assert "2050" in notes[0]


def test_ordinary_prompts_and_repeats_are_not() -> None:
    notes: list[str] = []
    watch = Watch(notes.append)
    for i in range(500):
        watch.prompt_tokens(2400 + i % 40 * 17, (2400 + i % 40 * 17) // 4)
        watch.prompt_tokens(2400, 600)
        watch.prompt_tokens(2400, None)
    assert notes == []


def test_a_count_below_our_own_is_a_cut_prompt() -> None:
    notes: list[str] = []
    watch = Watch(notes.append)
    watch.prompt_tokens(100, 30, own_tokens=31)
    assert notes == []
    watch.prompt_tokens(100, 2050, own_tokens=2600)
    assert "2600" in notes[0]


def test_identical_samples_with_different_seeds(ask: Ask) -> None:
    notes: list[str] = []
    watch = Watch(notes.append)
    for doc in range(5):
        for repeat in range(6):
            watch.sample(ask("q", doc, repeat=repeat, temperature=0.7), f"a text that is long enough {doc}")
    assert len(notes) == 1
    assert "identical" in notes[0]


def test_sampled_greedy_and_short_texts_are_not_suspicious(ask: Ask) -> None:
    notes: list[str] = []
    watch = Watch(notes.append)
    for doc in range(50):
        for repeat in range(6):
            watch.sample(
                ask("q", doc, repeat=repeat, temperature=0.7), f"a text that is long enough {repeat // 5}"
            )
            watch.sample(ask("g", doc, repeat=repeat, task="greedy"), "always the same long text")
            watch.sample(ask("s", doc, repeat=repeat, task="short", temperature=0.7), "18")
    assert notes == []


def test_a_changing_model() -> None:
    notes: list[str] = []
    watch = Watch(notes.append)
    for name in ("m", None, "m", "m-2", "m"):
        watch.model(name)
    assert notes == ["the server reported several models during the run: m, m-2"]
