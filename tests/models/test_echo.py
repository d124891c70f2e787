"""Log-probabilities of prompts, from servers that tell them in one way or another, or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from resit.errors import UsageError
from resit.models import LikelihoodModel, Setup, create
from resit.models.doctor import examine
from resit.models.echo import Entry, first_scored
from resit.models.openai import OpenAIModel
from resit.records import Passage, TokenLikelihoods

Serve = Callable[..., Any]
MakeReply = Callable[..., dict[str, Any]]

PASSAGES = [
    Passage("a", "One two three."),
    Passage("b", " four", "One two three"),
    Passage("c", "ree", "One th"),
]


def logprob(number: int) -> float:
    return -0.5 * number


def words(prompt: str) -> list[str]:
    return re.findall(r"<s>| ?[^ <]+", prompt)


def echoing(reply: MakeReply, bos: bool = False, offsets: bool = True) -> Callable[..., Any]:
    """Tokens are words; the n-th has the log-probability -n/2, and odd ones are the likeliest."""

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        assert body["max_tokens"] == 1
        if not body.get("echo"):
            return web.json_response(reply("x"))
        tokens = [*(["<s>"] if bos else []), *words(body["prompt"]), " x"]
        values = [None if n == 0 else logprob(n) for n in range(len(tokens))]
        tops = [
            None if n == 0 else {"other": logprob(n) + (0.1 if n % 2 == 0 else -1)}
            for n in range(len(tokens))
        ]
        told = {"tokens": tokens, "token_logprobs": values, "top_logprobs": tops}
        if offsets:
            told["text_offset"] = [len("".join(tokens[:n])) for n in range(len(tokens))]
        usage = {"prompt_tokens": len(tokens) - 1, "completion_tokens": 1}
        answer = reply(body["prompt"] + " x", usage=usage, finish_reason="length")
        answer["choices"][0]["logprobs"] = told
        return web.json_response(answer)

    return answer


def score(server: Any, passages: list[Passage], **args: Any) -> dict[str, TokenLikelihoods]:
    with create("openai-completions", {"base_url": server.url, "model": "m", **args}, Setup(4)) as model:
        assert isinstance(model, LikelihoodModel)
        return {found.key: found for found in model.loglikelihoods(passages)}


def test_a_server_that_echoes_and_begins_with_bos(serve: Serve, reply: MakeReply) -> None:
    found = score(serve(echoing(reply, bos=True)), PASSAGES)
    assert found["a"].pieces == ("One", " two", " three.")
    assert found["a"].logprobs == (-0.5, -1.0, -1.5)
    assert found["a"].greedy == (True, False, True)
    assert found["a"].total == -3.0
    assert (found["b"].pieces, found["b"].logprobs) == ((" four",), (-2.0,))
    assert found["c"].pieces == (" three",)  # the token in which the text begins


def test_bos_is_put_first_where_the_server_does_not(serve: Serve, reply: MakeReply, tmp_path: Path) -> None:
    server = serve(echoing(reply))
    found = score(server, PASSAGES, opening="<s>")
    assert found["a"].logprobs == (-0.5, -1.0, -1.5)
    assert found["b"].logprobs == (-1.5,)  # after its context alone, as the model would see it in a prompt
    assert {body["prompt"] for body in server.bodies} >= {"<s>One two three.", "One two three four"}
    (tmp_path / "tokenizer_config.json").write_text('{"bos_token": {"content": "<s>"}}', encoding="utf-8")
    assert score(server, PASSAGES, tokenizer=str(tmp_path))["a"] == found["a"]


def test_without_bos_the_first_token_cannot_be_scored(serve: Serve, reply: MakeReply) -> None:
    with pytest.raises(UsageError, match="puts no token before a text") as caught:
        score(serve(echoing(reply)), PASSAGES)
    assert "opening=TEXT" in caught.value.hint


def test_vllms_own_field_is_the_second_way(serve: Serve, reply: MakeReply) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        if body.get("echo"):
            return web.json_response({"error": {"message": "echo is not supported"}}, status=400)
        assert body["prompt_logprobs"] == 0
        tokens = ["<s>", *words(body["prompt"])]
        answer = reply("x", usage={"prompt_tokens": len(tokens), "completion_tokens": 1})
        answer["choices"][0]["prompt_logprobs"] = [
            {str(n): {"logprob": logprob(n), "rank": n, "decoded_token": token}} if n else None
            for n, token in enumerate(tokens)
        ]
        return web.json_response(answer)

    server = serve(answer)
    found = score(server, PASSAGES)
    assert (found["a"].logprobs, found["a"].greedy) == ((-0.5, -1.0, -1.5), (True, False, False))
    assert sum("echo" in body for body in server.bodies) == 1  # learnt once


def test_a_server_without_them_is_told_from_its_first_answer(serve: Serve, reply: MakeReply) -> None:
    async def ignores(request: web.Request, body: dict[str, Any]) -> web.Response:
        answer = reply(" x", usage={"prompt_tokens": 5, "completion_tokens": 1})
        answer["choices"][0]["logprobs"] = {"tokens": [" x"], "token_logprobs": [-1.0], "top_logprobs": [{}]}
        return web.json_response(answer)

    server = serve(ignores)
    with pytest.raises(UsageError, match="gives no log-probabilities of a prompt") as caught:
        score(server, [Passage(str(n), "One two") for n in range(50)])
    assert "--model hf, vllm or llamacpp" in caught.value.hint
    assert len(server.bodies) == 2


def test_what_fails_is_one_passages_error(serve: Serve, reply: MakeReply) -> None:
    healthy = echoing(reply, bos=True)

    async def answer(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if "long" in body["prompt"]:
            message = "maximum context length is 8 tokens, you requested 99 tokens"
            return web.json_response({"error": {"message": message}}, status=400)
        response: web.StreamResponse = await healthy(request, body)
        return response

    found = score(serve(answer), [Passage("a", "One"), Passage("l", "long " * 9), Passage("e", "")])
    assert found["a"].error is None
    assert found["l"].error == "prompt too long: 99 tokens, the context has 8"
    assert "empty" in str(found["e"].error)


def test_chat_endpoints_have_none(serve: Serve, reply: MakeReply) -> None:
    with create("openai-chat", {"base_url": serve(echoing(reply)).url, "model": "m"}) as model:
        assert isinstance(model, OpenAIModel)
        with pytest.raises(UsageError, match="completions endpoint"):
            list(model.loglikelihoods(PASSAGES))


def entries(*pieces: str, offsets: list[int] | None = None) -> list[Entry]:
    places = offsets or [None] * len(pieces)
    return [Entry(piece, -1.0, None, place) for piece, place in zip(pieces, places, strict=True)]


@pytest.mark.parametrize(
    ("told", "prompt", "begins", "place"),
    [
        (entries("a", " b", " c"), "a b c", 3, 2),
        (entries("<s>", "a", " b", " c"), "a b c", 3, 3),
        (entries("a", " bc"), "a bc", 3, 1),
        (entries("a", "bytes:\\xe2\\x80", "bytes:\\x99", "s"), "a’s", 1, 1),
        (entries("a", "bytes:\\xe2\\x80", "bytes:\\x99", "s"), "a’s", 2, 3),
        (entries("a", "", "’", "s"), "a’s", 1, 1),  # vLLM gives a character to its last token
        (entries("a", "", "’", "s"), "a’s", 2, 3),
        (entries("<s>", "a", "b", "c"), "a b c", 3, 3),  # SentencePiece: decoded one by one, spaces are lost
        (entries("a", "�", "�", "s", offsets=[0, 1, 1, 2]), "a’s", 2, 3),
        (entries("a", "�", "�", "s"), "a’s", 2, None),
        ([Entry("", None, None), *entries(" b", " c")], "a b c", 3, 2),  # a first token that is not told
        ([Entry("", None, None), *entries(" b", " c")], "a b c", 0, None),
    ],
)
def test_where_the_text_begins(told: list[Entry], prompt: str, begins: int, place: int | None) -> None:
    assert first_scored(told, prompt, begins) == place


@pytest.mark.parametrize(("bos", "value"), [(True, "echo"), (False, "echo"), (None, False)])
def test_doctor_says_whether_they_can_be_had(
    serve: Serve, reply: MakeReply, bos: bool | None, value: str | bool
) -> None:
    tells = echoing(reply, bos=bool(bos))

    async def answer(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if body.get("echo") and bos is not None:
            response: web.StreamResponse = await tells(request, body)
            return response
        return web.json_response(reply("a text"))

    with create("openai-completions", {"base_url": serve(answer).url}) as model:
        assert isinstance(model, OpenAIModel)
        found = {f.probe: f for f in examine(model.patients()[0], model.run, [])}
    assert found["prompt logprobs"].value == value
    json.dumps(found["prompt logprobs"].value)
