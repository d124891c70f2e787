"""A client that is told to end, by its user or by a server that wants to be left alone for a day."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from aiohttp import web

from resit.errors import ResitError
from resit.models import InterruptibleModel, Setup, create
from resit.models.failures import Patience
from resit.records import Generation, Request

Ask = Callable[..., Request]
Serve = Callable[..., Any]
MakeReply = Callable[..., dict[str, Any]]

SLOW = Patience(attempts=8, seconds=600, base=120, cap=120)
"""What is asked again waits for longer than any test."""


def opened(*servers: Any, notes: list[str] | None = None, **args: Any) -> Any:
    setup = Setup(args.pop("concurrency", 4), (notes if notes is not None else []).append)
    urls = ";".join(server.url for server in servers)
    return create("openai-completions", {"base_url": urls, "model": "m", **args}, setup)


@contextmanager
def interrupted_once(model: Any, happened: Callable[[], bool]) -> Iterator[None]:
    """Interrupts the model, from another thread, as soon as something has happened."""

    def wait() -> None:
        deadline = time.monotonic() + 60
        while not happened() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1)
        model.interrupt()

    thread = threading.Thread(target=wait)
    thread.start()
    yield
    thread.join()


def test_what_is_in_flight_finishes_and_nothing_else_is_sent(
    serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        await asyncio.sleep(0.3)
        return web.json_response(reply(body["prompt"]))

    server = serve(answer)
    finished: list[Generation] = []
    with opened(server) as model:
        assert isinstance(model, InterruptibleModel)
        for generation in model.generate(ask(f"p{i}", i) for i in range(1000)):
            if not finished:
                sent = len(server.bodies)
                model.interrupt()
            finished.append(generation)
        assert sent <= 8
        assert len(server.bodies) == len(finished) <= sent + 4, "what had been sent"
        assert all(answered.error is None for answered in finished)
        assert list(model.generate([ask("more")])) == [], "until it is closed"
    assert [a.text for a in model.generate([ask("more")])] == ["more"]
    model.close()


def limited(request: web.Request) -> web.Response:
    return web.json_response({"error": {"message": "slowly"}}, status=429, headers={"Retry-After": "300"})


def failing(request: web.Request) -> web.Response:
    return web.json_response({"error": {"message": "broken"}}, status=500)


def cut_off(request: web.Request) -> web.Response:
    request.transport.abort()  # type: ignore[union-attr]
    return web.Response()


@pytest.mark.parametrize("trouble", [limited, failing, cut_off])
def test_what_waits_to_be_asked_again_is_left_without_an_error(
    serve: Serve, ask: Ask, trouble: Callable[[web.Request], web.Response]
) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        return trouble(request)

    server = serve(answer)
    with opened(server) as model:
        model.patience = SLOW
        with interrupted_once(model, lambda: len(server.bodies) >= 4):
            began = time.monotonic()
            assert list(model.generate(ask(f"p{i}", i) for i in range(4))) == []
            assert time.monotonic() - began < 60
    assert len(server.bodies) == 4


def test_a_server_that_is_gone_is_not_waited_for(serve: Serve, reply: MakeReply, ask: Ask) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        return web.json_response(reply(body["prompt"]))

    notes: list[str] = []
    server, other = serve(answer), serve(answer)
    away = other.url.replace("127.0.0.1", "127.0.0.2")  # nobody listens there
    model = create("openai-completions", {"base_url": away, "model": "m"}, Setup(4, notes.append))
    with model:
        model.patience = SLOW  # type: ignore[attr-defined]
        with interrupted_once(model, lambda: any("waiting for it" in note for note in notes)):
            assert list(model.generate(ask(f"p{i}", i) for i in range(100))) == []
    assert server.bodies == []


def test_what_fails_on_its_way_after_the_interrupt_is_left_too(serve: Serve, ask: Ask) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        await asyncio.sleep(0.5)
        return web.json_response({"error": {"message": "broken"}}, status=500)

    server = serve(answer)
    with opened(server) as model:
        model.patience = Patience(attempts=1, seconds=600)
        with interrupted_once(model, lambda: len(server.bodies) >= 4):
            assert list(model.generate(ask(f"p{i}", i) for i in range(100))) == []
    assert len(server.bodies) == 4


def test_servers_that_are_still_being_compared_are_not_waited_for(
    serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    asked = threading.Event()

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        return web.json_response(reply(body["prompt"]))

    async def list_nothing(request: web.Request) -> web.Response:
        asked.set()
        await asyncio.sleep(120)
        return web.Response()

    one, other = serve(answer), serve(answer)
    other._list = list_nothing
    other._runner.app.router._resources[0]._routes["GET"]._handler = list_nothing
    with opened(one, other) as model, interrupted_once(model, asked.is_set):
        assert list(model.generate(ask(f"p{i}", i) for i in range(100))) == []
    assert one.bodies == []


def test_a_pause_beyond_all_patience_ends_the_run_at_once_and_keeps_what_was_under_way(
    serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        if body["prompt"] != "p1":
            await asyncio.sleep(0.5)
            return web.json_response(reply(body["prompt"]))
        words = {"error": {"message": "daily quota reached"}}
        return web.json_response(words, status=429, headers={"Retry-After": "86400"})

    server = serve(answer)
    finished: list[Generation] = []
    with opened(server) as model, pytest.raises(ResitError) as raised:
        deque(map(finished.append, model.generate(ask(f"p{i}", i) for i in range(100))), maxlen=0)
    assert len(server.bodies) == 4
    assert sorted(answered.doc_id for answered in finished) == [0, 2, 3]
    assert all(answered.error is None for answered in finished)
    for part in ("no requests for 86400 s", "daily quota reached", "retry_seconds=600"):
        assert part in str(raised.value)


def test_pauses_that_add_up_to_more_than_all_patience_end_the_run(serve: Serve, ask: Ask) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        return web.json_response({}, status=429, headers={"Retry-After": "0.4"})

    began = time.monotonic()
    with (
        opened(serve(answer), retry_seconds=1, concurrency=1) as model,
        pytest.raises(ResitError, match="no requests for"),
    ):
        list(model.generate(ask(f"p{i}", i) for i in range(100)))
    assert time.monotonic() - began < 30


def test_a_long_pause_is_told_once(serve: Serve, ask: Ask) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        return limited(request)

    notes: list[str] = []
    server = serve(answer)
    with opened(server, notes=notes) as model, interrupted_once(model, lambda: len(server.bodies) >= 4):
        list(model.generate(ask(f"p{i}", i) for i in range(100)))
    assert [note for note in notes if "wants no requests for 300 s (429: slowly)" in note] == notes
    assert len(notes) == 1


def test_of_several_servers_the_one_that_wants_to_be_left_alone_for_a_day_is(
    serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        return web.json_response(reply(body["prompt"]))

    async def refuse(request: web.Request, body: dict[str, Any]) -> web.Response:
        return web.json_response({}, status=429, headers={"Retry-After": "86400"})

    notes: list[str] = []
    good, tired = serve(answer), serve(refuse)
    with opened(good, tired, notes=notes) as model:
        model.patience = Patience(attempts=8, seconds=600, base=0.01)
        answers = list(model.generate(ask(f"p{i}", i) for i in range(100)))
    assert sorted(answered.doc_id for answered in answers if answered.error is None) == [*range(100)]
    assert any("the other servers are asked instead" in note for note in notes)


def test_credit_that_runs_out_ends_the_run(serve: Serve, reply: MakeReply, ask: Ask) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        if len(server.bodies) <= 20:
            return web.json_response(reply(body["prompt"]))
        return web.json_response({"error": {"message": "Insufficient Balance"}}, status=402)

    server = serve(answer)
    with opened(server) as model, pytest.raises(ResitError, match="refuses now: 402: Insuff") as caught:
        list(model.generate(ask(f"p{i}", i) for i in range(1000)))
    assert "the same command again asks for the rest" in caught.value.hint
    assert len(server.bodies) < 20 + 10 + 8
