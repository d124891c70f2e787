"""The client against a real server: llama.cpp's own, with the real model. A few tokens each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from resit.errors import ResitError, UsageError
from resit.models import Setup, create
from resit.models.llama_server import Layout, LlamaServer
from resit.records import Generation, Message, Passage, Request

pytest.importorskip("xllamacpp", reason="needs resit[llamacpp]")
pytestmark = pytest.mark.slow

Ask = Callable[..., Request]

SHOTS = "Q: Ana has 3 pens and buys 4. How many has she?\nA: 3 + 4 = 7. The answer is 7.\n\n" * 3


@pytest.fixture(scope="module")
def server(smollm2: Path) -> Iterator[LlamaServer]:
    running = LlamaServer(Layout(smollm2, slots=4, context=512))
    yield running
    running.close()


@pytest.fixture(autouse=True)
def _key(server: LlamaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_KEY", server.key)


def open_client(server: LlamaServer, kind: str = "openai-completions", **args: Any) -> Any:
    base = {"base_url": server.address, "api_key_env": "LLAMA_KEY", **args}
    return create(kind, base, Setup(concurrency=4))


def generate(
    server: LlamaServer, requests: list[Request], kind: str = "openai-completions"
) -> list[Generation]:
    with open_client(server, kind) as model:
        return sorted(model.generate(requests), key=lambda answer: (answer.doc_id, answer.repeat))


def test_greedy_texts_equal_those_of_the_model_in_process(
    server: LlamaServer, smollm2: Path, ask: Ask
) -> None:
    requests = [
        ask(
            f"{SHOTS}Q: Tom has {n} nuts and eats two. How many are left?\nA:", n, max_tokens=24, stop=("Q:",)
        )
        for n in range(6)
    ]
    over_http = generate(server, requests)
    with create("llamacpp", {"pretrained": str(smollm2), "n_ctx": "512"}, Setup(concurrency=4)) as model:
        in_process = sorted(model.generate(requests), key=lambda answer: answer.doc_id)
    assert [a.text for a in over_http] == [a.text for a in in_process]
    assert [a.prompt_tokens for a in over_http] == [a.prompt_tokens for a in in_process]
    assert [a.finish_reason for a in over_http] == [a.finish_reason for a in in_process]


def test_sampled_repeats_come_in_one_request_and_differ(server: LlamaServer, ask: Ask) -> None:
    requests = [
        ask("My favourite animal is", repeat=r, seed=r, temperature=1.0, max_tokens=8) for r in range(4)
    ]
    with open_client(server) as model:
        texts = {answer.text for answer in model.generate(requests)}
        assert model.account.requests == 1
    assert len(texts) > 1


def test_too_long_a_prompt_fails_alone_with_its_counts(server: LlamaServer, ask: Ask) -> None:
    long, short = generate(server, [ask("word " * 600, 0), ask("One, two,", 1, max_tokens=2)])
    assert long.error == "prompt too long: 601 tokens, the context has 512"
    assert short.error is None


def test_chat_and_a_begun_turn(server: LlamaServer, ask: Ask) -> None:
    begun = (Message("user", "How many legs has a cat?"), Message("assistant", "A cat has"))
    (answer,) = generate(server, [ask(begun, max_tokens=6)], "openai-chat")
    assert answer.error is None
    assert not answer.text.startswith("A cat has")


def test_the_template_and_the_tokens_are_shown(server: LlamaServer) -> None:
    with open_client(server, "openai-chat") as model:
        encoding = model.encode((Message("user", "Hi"),))
    assert encoding.text.endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    assert encoding.pieces is not None
    assert "".join(encoding.pieces) == encoding.text
    with open_client(server) as model:
        assert model.encode("Hi there").pieces == ("Hi", " there")


def test_the_only_model_is_found_and_a_wrong_key_is_refused(
    server: LlamaServer, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_client(server) as model:
        assert model.name.endswith("SmolLM2-135M-Instruct.Q4_1.gguf")
    monkeypatch.setenv("LLAMA_KEY", "wrong")
    with pytest.raises(ResitError, match="401: Invalid API Key"), open_client(server, model="m") as model:
        list(model.generate([ask()]))


def test_llama_cpps_server_gives_no_log_probabilities_of_prompts(server: LlamaServer) -> None:
    with open_client(server) as model, pytest.raises(UsageError, match="neither echoes the prompt"):
        list(model.loglikelihoods([Passage("k", "One two three.")]))
