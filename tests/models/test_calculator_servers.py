"""Stop-and-continue against servers: what is sent, several texts of one request, chats, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from resit.errors import UsageError
from resit.models import Model, Setup, create
from resit.models.calculating import continuation_seed, generations
from resit.records import Generation, Message, Request

Ask = Callable[..., Request]
Serve = Callable[..., Any]
MakeReply = Callable[..., dict[str, Any]]

SAID = {"Q": " <<48/2=23>>23,", "24>>": " 24 + 1 = <<24+1=25>>25 and <<25*2=49>>", "50>>": " done"}
"""What the servers' model says after texts that end so."""


def says(text: str) -> str:
    return next((said for end, said in SAID.items() if text.endswith(end)), "?")


@pytest.fixture
def completions(serve: Serve, reply: MakeReply) -> Any:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        said = says(body["prompt"])
        texts = [f"{said} v{i}" if said == " done" else said for i in range(body.get("n", 1))]
        return web.json_response(
            reply(*texts, usage={"prompt_tokens": 9, "completion_tokens": len(said) * len(texts)})
        )

    return serve(answer)


def opened(server: Any, kind: str = "openai-completions", **args: Any) -> Model:
    notes: list[str] = []
    return create(kind, {"base_url": server.url, "model": "m", **args}, Setup(8, notes.append))


def calculated(model: Model, requests: list[Request]) -> list[Generation]:
    with model:
        return sorted(generations(model, requests), key=lambda sample: (sample.doc_id, sample.repeat))


def test_completions_are_continued_in_their_own_words(completions: Any, ask: Ask) -> None:
    asked = [ask("1 Q", 1, max_tokens=500, calculator=True), ask("2 Q", 2, max_tokens=500, calculator=True)]
    samples = calculated(opened(completions), asked)
    text = " <<48/2=24>> 24 + 1 = <<24+1=25>>25 and <<25*2=50>> done v0"
    assert [sample.text for sample in samples] == [text, text]
    assert sorted(body["prompt"] for body in completions.bodies)[:3] == [
        "1 Q",
        "1 Q <<48/2=24>>",
        "1 Q <<48/2=24>> 24 + 1 = <<24+1=25>>25 and <<25*2=50>>",
    ]
    limits = {body["prompt"]: body["max_tokens"] for body in completions.bodies}
    assert limits["1 Q"] == 500 > limits["1 Q <<48/2=24>>"] > 400


def test_repeats_that_share_a_request_are_continued_each_for_itself(completions: Any, ask: Ask) -> None:
    """Their continuations have prompts of their own, so they may share no request with another prompt."""
    asked = [
        ask("Q", 1, repeat, seed=repeat, temperature=1.0, max_tokens=500, calculator=True)
        for repeat in range(4)
    ]
    samples = calculated(opened(completions, n="1"), asked)
    assert len(samples) == 4
    assert all(
        sample.text.startswith(" <<48/2=24>> 24 + 1 = <<24+1=25>>25 and <<25*2=50>> done")
        for sample in samples
    )
    assert [sample.seed for sample in samples] == [0, 1, 2, 3]
    seeds = {body["seed"] for body in completions.bodies}
    assert {continuation_seed(seed, number) for seed in range(4) for number in (1, 2)} <= seeds


def test_continuations_of_different_texts_never_share_a_request(
    serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        if body["prompt"] == "Q":
            return web.json_response(reply(*(f" {i}: <<{i}+1=0>>" for i in range(body["n"]))))
        return web.json_response(reply(*(f" after {body['prompt'][-4:]}" for _ in range(body.get("n", 1)))))

    server = serve(answer)
    asked = [ask("Q", 1, r, seed=r, temperature=1.0, max_tokens=99, calculator=True) for r in range(3)]
    samples = calculated(opened(server), asked)
    assert [sample.text for sample in samples] == [
        " 0: <<0+1=1>> after =1>>",
        " 1: <<1+1=2>> after =2>>",
        " 2: <<2+1=3>> after =3>>",
    ]
    assert all("n" not in body for body in server.bodies[1:])


def turns(text: str) -> tuple[Message, ...]:
    return (Message("user", text),)


def chat_server(serve: Serve, reply: MakeReply, continues: bool) -> Any:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        last = body["messages"][-1]
        begun = last["role"] == "assistant"
        if begun and not continues:
            said = "Sure! Here is the answer."
        else:
            said = " 6, 7" if last["content"].endswith("5,") else says(last["content"])
        choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        return web.json_response({"model": "m", "choices": [choice]})

    return serve(answer)


def test_a_chat_is_continued_as_a_begun_turn(serve: Serve, reply: MakeReply, ask: Ask) -> None:
    server = chat_server(serve, reply, continues=True)
    (sample,) = calculated(opened(server, "openai-chat"), [ask(turns("Q"), max_tokens=500, calculator=True)])
    assert sample.text == " <<48/2=24>> 24 + 1 = <<24+1=25>>25 and <<25*2=50>> done"
    last = server.bodies[-1]
    assert last["messages"][-1]["role"] == "assistant"
    assert last["continue_final_message"] is True
    assert last["add_generation_prompt"] is False


def test_a_chat_that_begins_anew_is_refused(serve: Serve, reply: MakeReply, ask: Ask) -> None:
    server = chat_server(serve, reply, continues=False)
    with pytest.raises(UsageError, match="continues a begun answer"):
        calculated(opened(server, "openai-chat"), [ask(turns("Q"), calculator=True)])
    assert len(server.bodies) == 1, "nothing was generated that would have been lost"
