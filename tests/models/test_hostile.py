"""The client against servers that misbehave: no sample is lost, none is wrong for the server's sake."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from threading import Thread
from typing import Any

import pytest
from aiohttp import web

from resit.errors import ResitError
from resit.models import Setup, create
from resit.models.failures import Patience
from resit.models.limiter import START, Limiter
from resit.records import Generation, Request

Ask = Callable[..., Request]
Serve = Callable[..., Any]
MakeReply = Callable[..., dict[str, Any]]

QUICK = Patience(attempts=6, seconds=20, base=0.01, cap=0.2)


def generate(
    server: Any,
    requests: Iterable[Request],
    kind: str = "openai-completions",
    patience: Patience = QUICK,
    **args: Any,
) -> tuple[list[Generation], Any]:
    setup = Setup(args.pop("concurrency", 8), args.pop("notes", []).append)
    with create(kind, {"base_url": server.url, "model": "m", **args}, setup) as model:
        model.patience = patience  # type: ignore[attr-defined]
        return list(model.generate(requests)), model


def complete(answers: list[Generation], count: int) -> None:
    """Every request has one answer, its own, without error."""
    assert Counter(a.doc_id for a in answers) == dict.fromkeys(range(count), 1)
    assert [a.error for a in answers if a.error] == []
    assert all(a.text == f"p{a.doc_id}" for a in answers)


def prompts(ask: Ask, count: int) -> list[Request]:
    return [ask(f"p{i}", i) for i in range(count)]


@pytest.mark.slow
def test_one_in_a_hundred_fails_at_random(serve: Serve, reply: MakeReply, ask: Ask) -> None:
    chance = random.Random(5)

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        fate = chance.random()
        if fate < 0.01:
            return web.json_response({"error": {"message": "worker died"}}, status=500)
        if fate < 0.012:
            request.transport.close()  # type: ignore[union-attr]
        return web.json_response(reply(body["prompt"]))

    answers, model = generate(serve(answer), (ask(f"p{i}", i) for i in range(10_000)), concurrency=64)
    complete(answers, 10_000)
    assert 60 < model.account.retries < 250


def test_a_storm_of_429_halves_the_concurrency_and_is_waited_out(
    serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    calm_since: list[int] = []

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        if len(server.bodies) <= START:
            return web.json_response(
                {"error": {"message": "Rate limit"}}, status=429, headers={"Retry-After": "1"}
            )
        await asyncio.sleep(0.01)
        calm_since.append(server.in_flight)
        return web.json_response(reply(body["prompt"]))

    server = serve(answer)
    answers, model = generate(server, prompts(ask, 300), concurrency=None)
    complete(answers, 300)
    assert model.account.retries == START
    assert max(calm_since[: START // 2]) <= START // 2, "halved"


def test_a_pause_that_ends_between_two_looks_is_no_end(
    serve: Serve, reply: MakeReply, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Timers fire a little early: whoever looks then sees the pause, and a moment later none."""
    honest, seen = Limiter.pause, set[float]()

    def early(limiter: Limiter) -> float:
        pause = honest(limiter)
        if pause or not limiter.refusals or limiter._resume_at in seen:
            return pause
        seen.add(limiter._resume_at)
        return 1e-4

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        if len(server.bodies) == 1:
            refusal = {"error": {"message": "Rate limit"}}
            return web.json_response(refusal, status=429, headers={"Retry-After": "1"})
        return web.json_response(reply(body["prompt"]))

    monkeypatch.setattr(Limiter, "pause", early)
    server = serve(answer)
    answers: list[Generation] = []
    asking = Thread(target=lambda: answers.extend(generate(server, prompts(ask, 1))[0]), daemon=True)
    asking.start()
    asking.join(20)
    complete(answers, 1)


def test_ten_requests_a_window(serve: Serve, reply: MakeReply, ask: Ask) -> None:
    """A tight rate limit without Retry-After delays the run and loses nothing."""
    windows: Counter[int] = Counter()

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        window = int(time.monotonic() / 0.5)
        windows[window] += 1
        if windows[window] > 10:
            return web.json_response({"error": {"message": "10 requests per window"}}, status=429)
        return web.json_response(reply(body["prompt"]))

    answers, _ = generate(serve(answer), prompts(ask, 50), concurrency=16)
    complete(answers, 50)


def test_a_rate_limit_that_never_ends_is_an_error_not_an_answer(serve: Serve, ask: Ask) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        return web.json_response({"error": {"message": "quota exhausted"}}, status=429)

    patience = Patience(seconds=0.3, base=0.02, cap=0.05)
    answers, _ = generate(serve(answer), prompts(ask, 4), patience=patience)
    assert {(a.finish_reason, a.text, a.error) for a in answers} == {("error", "", "429: quota exhausted")}
    with pytest.raises(ResitError, match="quota exhausted") as caught:
        generate(serve(answer), prompts(ask, 100), patience=patience)
    assert "kept" in caught.value.hint


def test_a_request_that_is_asked_again_is_the_same(serve: Serve, reply: MakeReply, ask: Ask) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        if len(server.raw) == 1:
            return web.json_response({"error": "overloaded"}, status=503)
        return web.json_response(reply("p0"))

    server = serve(answer)
    answers, _ = generate(server, [ask("p0", max_tokens=900, temperature=0.7, seed=5, stop=("Q:",))])
    complete(answers, 1)
    assert len(server.raw) == 2
    assert server.raw[0] == server.raw[1]
    assert server.headers[0].get("Authorization") == server.headers[1].get("Authorization")


def broken(kind: str, good: bytes) -> Callable[[web.Request], Any]:
    """A response that breaks in the given way."""

    async def respond(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        if kind == "reset in the body":
            response.content_length = len(good)
            await response.prepare(request)
            await response.write(good[: len(good) // 2])
            request.transport.abort()  # type: ignore[union-attr]
        elif kind == "reset before the status":
            request.transport.abort()  # type: ignore[union-attr]
        elif kind == "slow loris":
            await response.prepare(request)
            for _ in range(6000):
                await response.write(b" ")
                await asyncio.sleep(0.1)
        elif kind == "silence":
            await asyncio.sleep(600)
        elif kind == "broken gzip":
            response.headers["Content-Encoding"] = "gzip"
            await response.prepare(request)
            await response.write(gzip.compress(good)[:-9] + b"garbage!!")
        elif kind == "half a stream":
            await response.prepare(request)
            await response.write(b'data: {"choices":[{"delta":{"content":"5 times 8 "}}]}\n\n')
        else:
            return web.Response(body=good[:-3], content_type="application/json")
        return response

    return respond


@pytest.mark.parametrize(
    "kind",
    [
        "reset in the body",
        "reset before the status",
        "slow loris",
        "silence",
        "broken gzip",
        "half a stream",
        "cut json",
    ],
)
def test_answers_that_do_not_arrive_whole_are_asked_again(
    serve: Serve, reply: MakeReply, ask: Ask, kind: str
) -> None:
    seen: set[str] = set()

    async def answer(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        good = json.dumps(reply(body["prompt"])).encode()
        if body["prompt"] in seen:
            return web.Response(body=good, content_type="application/json")
        seen.add(body["prompt"])
        return await broken(kind, good)(request)  # type: ignore[no-any-return]

    answers, model = generate(serve(answer), prompts(ask, 6), timeout=5)
    complete(answers, 6)
    assert model.account.retries == 6


def test_one_prompt_that_never_gets_an_answer_is_an_error_and_the_others_are_answered(
    serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        if body["prompt"] == "p3":
            return web.json_response({"error": "cannot"}, status=500)
        return web.json_response(reply(body["prompt"]))

    server = serve(answer)
    answers, _ = generate(server, prompts(ask, 40))
    errors = {a.doc_id: a.error for a in answers if a.error}
    assert errors == {3: "500: cannot"}
    assert len(answers) == 40
    assert sum(body["prompt"] == "p3" for body in server.bodies) == QUICK.attempts


def test_gzip_streams_nobody_asked_for_and_odd_bytes_are_answers(
    serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        good = json.dumps(reply(body["prompt"])).encode()
        which = int(body["prompt"][1:]) % 3
        if which == 0:
            headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
            return web.Response(body=gzip.compress(good), headers=headers)
        if which == 1:
            event = {"choices": [{"text": body["prompt"], "finish_reason": "stop"}]}
            return web.Response(
                body=f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n", content_type="text/event-stream"
            )
        return web.Response(body=good, content_type="text/plain", charset="latin-1")

    answers, model = generate(serve(answer), prompts(ask, 9))
    complete(answers, 9)
    assert model.account.retries == 0


def test_a_huge_body_is_refused_without_filling_the_memory(
    serve: Serve, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resit.models.http.MAX_BODY", 1 << 20)
    sent = 0

    async def answer(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(64):
            await response.write(b"x" * (1 << 20))
            sent += 1
        return response

    answers, _ = generate(serve(answer), [ask("p0")])
    assert answers[0].error is not None
    assert "more than 1 MiB" in answers[0].error
    assert sent < 30


def test_one_bad_request_never_ends_the_run(serve: Serve, reply: MakeReply, ask: Ask) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        if int(body["prompt"][1:]) % 10 == 4:
            return web.json_response({"error": {"message": "invalid character"}}, status=400)
        return web.json_response(reply(body["prompt"]))

    server = serve(answer)
    answers, _ = generate(server, prompts(ask, 100))
    assert sorted(a.doc_id for a in answers if a.error) == list(range(4, 100, 10))
    assert len(server.bodies) == 100, "a refused request is not asked again"


@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "Incorrect API key provided"), (403, "not allowed"), (404, "The model `m` does not exist."),
     (400, "temperature must be 1"), (422, "messages: field required")],
)  # fmt: skip
def test_what_concerns_every_request_stops_the_run_in_the_servers_words(
    serve: Serve, ask: Ask, status: int, words: str
) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        return web.json_response({"error": {"message": words}}, status=status)

    server = serve(answer)
    with pytest.raises(ResitError, match=words.replace("`", ".")):
        generate(server, prompts(ask, 1000))
    assert len(server.bodies) < 40


def test_a_redirect_is_not_followed_with_the_key(
    serve: Serve, reply: MakeReply, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def catch(request: web.Request, body: dict[str, Any]) -> web.Response:
        return web.json_response(reply("x"))

    async def redirect(request: web.Request, body: dict[str, Any]) -> web.Response:
        return web.Response(status=307, headers={"Location": elsewhere.url + "/completions"})

    elsewhere = serve(catch)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with pytest.raises(ResitError, match="redirects to"):
        generate(serve(redirect), [ask("x")])
    assert elsewhere.bodies == []


def test_a_server_that_dies_leaves_what_was_finished(serve: Serve, reply: MakeReply, ask: Ask) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        if len(server.bodies) > 30:
            request.transport.abort()  # type: ignore[union-attr]
        return web.json_response(reply(body["prompt"]))

    server = serve(answer)
    finished = []
    setup = Setup(4, [].append)
    with create("openai-completions", {"base_url": server.url, "model": "m"}, setup) as model:
        model.patience = Patience(attempts=2, seconds=5, base=0.01)  # type: ignore[attr-defined]
        with pytest.raises(ResitError, match="does not answer any more"):
            deque(map(finished.append, model.generate(prompts(ask, 500))), maxlen=0)
    assert sum(a.error is None for a in finished) == 30
    assert len(finished) < 60


def test_time_in_our_own_queue_is_not_waiting_for_the_server(
    serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    """Sixteen rounds of 0.4 s take longer than the time-out, and no request does."""

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        await asyncio.sleep(0.4)
        return web.json_response(reply(body["prompt"]))

    answers, model = generate(serve(answer), prompts(ask, 32), concurrency=2, timeout=5)
    complete(answers, 32)
    assert model.account.retries == 0


def test_a_window_that_cuts_prompts_is_noticed(serve: Serve, reply: MakeReply, ask: Ask) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        tokens = min(len(body["prompt"]) // 4, 2050)
        return web.json_response(reply("x", usage={"prompt_tokens": tokens, "completion_tokens": 1}))

    notes: list[str] = []
    requests = [ask("word " * (1700 + 90 * i), i) for i in range(12)]
    generate(serve(answer), requests, notes=notes, concurrency=1)
    assert [note for note in notes if "cut prompts" in note and "2050" in note]


def test_a_seed_that_switches_sampling_off_is_noticed(serve: Serve, reply: MakeReply, ask: Ask) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        return web.json_response(reply("always the same long answer to " + body["prompt"]))

    notes: list[str] = []
    requests = [ask(f"p{d}", d, repeat=r, seed=r, temperature=0.7) for d in range(5) for r in range(6)]
    generate(serve(answer), requests, notes=notes)
    assert [note for note in notes if "identical" in note and "send_seed=false" in note]


def test_a_text_lost_by_the_server_is_an_error_not_a_wrong_answer(serve: Serve, ask: Ask) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        message = {"content": None, "reasoning": None}
        choices = [{"message": message, "finish_reason": "stop"}]
        return web.json_response({"choices": choices, "usage": {"completion_tokens": 310}})

    server = serve(answer)
    answers, _ = generate(server, [ask("p0")], "openai-chat")
    assert answers[0].error is not None
    assert "310 tokens" in answers[0].error
    assert len(server.bodies) == QUICK.attempts


@pytest.mark.parametrize(
    ("finish", "fallback", "expected"),
    [("stop", "true", ("Sum it up. Final: 26", None)), ("stop", "false", ("", "Sum it up. Final: 26")),
     ("length", "true", ("", "Sum it up. Final: 26"))],
)  # fmt: skip
def test_an_answer_in_the_reasoning_field_is_taken_only_when_asked_for_and_finished(
    serve: Serve, ask: Ask, finish: str, fallback: str, expected: tuple[str, str | None]
) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        message = {"content": None, "reasoning_content": "Sum it up. Final: 26"}
        return web.json_response({"choices": [{"message": message, "finish_reason": finish}]})

    server = serve(answer)
    answers, _ = generate(server, [ask("p0")], "openai-chat", reasoning_as_answer=fallback)
    assert (answers[0].text, answers[0].reasoning) == expected
    assert (answers[0].finish_reason, answers[0].error) == (finish, None)
    assert len(server.bodies) == 1


def test_a_stop_string_inside_the_reasoning_does_not_end_the_answer(
    serve: Serve, ask: Ask, reply: MakeReply
) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        assert "stop" not in body
        return web.json_response(reply("<think>Question: 6*7?\n\n</think>\n\nIt is 42.\n\nQuestion: next"))

    answers, _ = generate(serve(answer), [ask("p0", stop=("\n\n", "Question:"))], think_end_token="</think>")
    assert (answers[0].text, answers[0].stop) == ("It is 42.", "\n\n")
    assert answers[0].reasoning == "<think>Question: 6*7?\n\n</think>"
