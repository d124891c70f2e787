"""The client against `transformers serve`, with a small random model: what it does differently is noticed."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from resit.errors import ResitError
from resit.models import Setup, create
from resit.models.doctor import Finding, examine
from resit.models.openai import OpenAIModel
from resit.records import Generation, Message, Request, Sampling

pytest.importorskip("fastapi", reason="needs transformers[serving]")
pytestmark = pytest.mark.slow

Ask = Callable[..., Request]

_spec = importlib.util.spec_from_file_location(
    "three_servers", Path(__file__).parents[1] / "reference" / "three_servers.py"
)
assert _spec is not None
assert _spec.loader is not None
three_servers = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(three_servers)


@pytest.fixture(scope="module")
def server(small_model: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The API root of a running `transformers serve`."""
    folder = small_model(tmp_path_factory.mktemp("model"), "llama", num_key_value_heads=2)
    command = [
        str(Path(sys.executable).with_name("transformers")), "serve", str(folder), "--host", "127.0.0.1",
        "--port", "PORT", "--dtype", "float32", "--device", "cpu",
    ]  # fmt: skip
    with three_servers.running(command, tmp_path_factory.mktemp("log") / "server.log") as root:
        yield root


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def generate(
    root: str, requests: list[Request], kind: str = "openai-completions", concurrency: int = 4
) -> tuple[list[Generation], list[str]]:
    notes: list[str] = []
    with create(kind, {"base_url": root}, Setup(concurrency, notes.append)) as model:
        return sorted(model.generate(requests), key=lambda a: (a.doc_id, a.repeat)), notes


@pytest.mark.parametrize("kind", ["openai-completions", "openai-chat"])
def test_greedy_texts_repeat_and_end_where_they_should(server: str, ask: Ask, kind: str) -> None:
    requests = [ask(f"Ana has {n} pens.", n, max_tokens=6) for n in range(5)]
    first, _ = generate(server, requests, kind)
    again, _ = generate(server, requests, kind)
    assert [a.error for a in first] == [None] * 5
    assert [a.text for a in first] == [a.text for a in again]
    assert len({a.text for a in first}) > 1
    assert all(a.completion_tokens == 6 and a.finish_reason == "length" for a in first)
    assert all(a.prompt_tokens for a in first)


def test_its_texts_are_those_of_the_weights_in_process(server: str, ask: Ask) -> None:
    requests = [ask(f"Ana buys {n} pens.", n, max_tokens=8) for n in range(4)]
    served, _ = generate(server, requests)
    with create("openai-completions", {"base_url": server}, Setup()) as named:
        folder = named.name
    with create("hf", {"pretrained": folder, "dtype": "float32"}, Setup(4)) as model:
        own = sorted(model.generate(requests), key=lambda answer: answer.doc_id)
    assert [a.text for a in served] == [a.text for a in own]
    assert [a.prompt_tokens for a in served] == [a.prompt_tokens for a in own]


def test_the_stop_string_that_it_leaves_at_the_end_is_cut(server: str, ask: Ask) -> None:
    (whole,), _ = generate(server, [ask("Ana has 12 pens.", max_tokens=12)])
    stop = re.findall(r"[!-~]{2,}", whole.text)[0]
    with create("openai-completions", {"base_url": server}, Setup()) as model:
        assert isinstance(model, OpenAIModel)
        asked = model.patients()[0].text("Ana has 12 pens.", Sampling(max_tokens=12, stop=(stop,)))
        assert model.run(asked).endswith(stop)
    (cut,), _ = generate(server, [ask("Ana has 12 pens.", max_tokens=12, stop=(stop,))])
    assert cut.text == whole.text[: whole.text.find(stop)]
    assert (cut.stop, cut.finish_reason) == (stop, "stop")


def test_a_temperature_that_it_ignores_is_noticed_and_can_be_forced(server: str, ask: Ask) -> None:
    """It samples only where the model's own generation config says so, whatever the temperature.

    A seed is set for the whole server when a request comes in, not when its turn to be answered comes: the
    seed of one question can become that of the next one too. One request at a time has its own.
    """

    def requests(**sampling: Any) -> list[Request]:
        return [
            ask(f"Ana has {d} pens.", d, repeat=r, seed=r, temperature=1.0, max_tokens=48, **sampling)
            for d in range(3)
            for r in range(4)
        ]

    answers, notes = generate(server, requests())
    assert len({a.text for a in answers if a.doc_id == 0}) == 1
    assert any("identical" in note and "temperature" in note for note in notes)
    asked = requests(extra={"generation_config": '{"do_sample": true}'})
    forced, notes = generate(server, asked, concurrency=1)
    assert len({a.text for a in forced if a.doc_id == 0}) == 4
    assert not any("identical although" in note for note in notes)


def test_a_field_that_it_does_not_know_stops_the_run_in_its_own_words(server: str, ask: Ask) -> None:
    with pytest.raises(ResitError, match=r"422: Unexpected fields.*top_k"):
        generate(server, [ask("Ana", n, top_k=5, max_tokens=2) for n in range(9)])


def test_a_begun_turn_which_it_cannot_continue_is_refused_not_answered(server: str, ask: Ask) -> None:
    begun = (Message("user", "How many?"), Message("assistant", "The answer is"))
    with pytest.raises(ResitError, match=r"422.*continue_final_message"):
        generate(server, [ask(begun, n, max_tokens=2) for n in range(9)], "openai-chat")


def test_a_prompt_beyond_the_models_context_is_answered_without_a_word(server: str, ask: Ask) -> None:
    """The model was made for 512 tokens; the server neither refuses nor cuts."""
    (long,), _ = generate(server, [ask("Ana has 12 pens. " * 200, max_tokens=4)])
    assert long.error is None
    assert long.prompt_tokens is not None
    assert long.prompt_tokens > 512


def test_the_doctors_findings(server: str) -> None:
    with create("openai-completions", {"base_url": server}, Setup()) as model:
        assert isinstance(model, OpenAIModel)
        found: dict[str, Finding] = {f.probe: f for f in examine(model.patients()[0], model.run, [])}
    assert (found["seed"].value, found["seed"].good) == ("no sampling", False)
    assert "temperature is ignored" in found["seed"].says
    assert found["n"].value is False
    assert found["logprobs"].value is False
    assert found["greedy"].good
    assert found["stop strings"].says.startswith("at least 32 taken")
    assert found["context"].says == "not told"
    assert os.path.isdir(str(found["answers"].value["model"]).partition("@")[0])  # type: ignore[index,call-overload]
