"""Several servers as one model: who is asked, what becomes of one that dies, fails or is another model."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import pytest
from aiohttp import web

from resit.errors import ResitError, UsageError
from resit.models import Setup, create
from resit.models.failures import Patience
from resit.records import Generation, Request

Ask = Callable[..., Request]
Serve = Callable[..., Any]
MakeReply = Callable[..., dict[str, Any]]

QUICK = Patience(attempts=6, seconds=20, base=0.01, cap=0.1)


class Phoenix:
    """A server that can be killed, its connections with it, and started again at the same address."""

    def __init__(self, seconds: float = 0.02, port: int = 0) -> None:
        self.seconds, self.port = seconds, port
        self.told: dict[str, Any] = {"id": "m"}
        self.asked: list[str] = []
        self.answered: list[str] = []
        self.status = 200
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"data": [self.told]})

    async def _complete(self, request: web.Request) -> web.Response:
        prompt = (await request.json())["prompt"]
        self.asked.append(prompt)
        await asyncio.sleep(self.seconds)
        if self.status != 200:
            return web.json_response({"error": {"message": "not today"}}, status=self.status)
        self.answered.append(prompt)
        return web.json_response({"choices": [{"text": prompt, "finish_reason": "stop"}], "model": "m"})

    async def _start(self) -> None:
        app = web.Application()
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/completions", self._complete)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        self.port = int(self._runner.addresses[0][1])

    def start(self) -> None:
        self._run(self._start())

    async def _kill(self) -> None:
        server = self._runner.server
        for connection in list(server.connections) if server is not None else ():
            if connection.transport is not None:
                connection.transport.abort()
        await self._runner.cleanup()

    def kill(self) -> None:
        self._run(self._kill())

    def close(self) -> None:
        with suppress(Exception):
            self.kill()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture
def phoenix() -> Iterator[Callable[..., Phoenix]]:
    running: list[Phoenix] = []

    def start(**options: Any) -> Phoenix:
        running.append(Phoenix(**options))
        return running[-1]

    yield start
    for server in running:
        server.close()


def opened(*servers: Phoenix, notes: list[str] | None = None, concurrency: int = 4, **args: Any) -> Any:
    setup = Setup(concurrency, (notes if notes is not None else []).append)
    urls = ";".join(server.url for server in servers)
    model = create("openai-completions", {"base_url": urls, "model": "m", **args}, setup)
    model.patience = QUICK  # type: ignore[attr-defined]
    return model


def prompts(ask: Ask, count: int) -> list[Request]:
    return [ask(f"p{i}", i) for i in range(count)]


def complete(answers: list[Generation], count: int) -> None:
    assert Counter(a.doc_id for a in answers) == dict.fromkeys(range(count), 1)
    assert [a.error for a in answers if a.error] == []
    assert all(a.text == f"p{a.doc_id}" for a in answers)


def test_the_quicker_server_is_asked_more(phoenix: Callable[..., Phoenix], ask: Ask) -> None:
    quick, slow = phoenix(seconds=0.01), phoenix(seconds=0.1)
    with opened(quick, slow) as model:
        answers = list(model.generate(prompts(ask, 120)))
    complete(answers, 120)
    assert len(quick.asked) + len(slow.asked) == 120
    assert len(quick.asked) > 3 * len(slow.asked) > 0


def test_a_server_dies_and_comes_back_and_nothing_is_lost_or_asked_in_vain(
    phoenix: Callable[..., Phoenix], ask: Ask
) -> None:
    steady, mortal = phoenix(), phoenix()
    notes: list[str] = []
    done: list[Generation] = []
    in_flight = 4
    with opened(steady, mortal, notes=notes, concurrency=in_flight) as model:
        for answer in model.generate(prompts(ask, 600)):
            done.append(answer)
            if len(done) == 150:
                mortal.kill()
                before = len(mortal.asked)
            if len(done) == 300:
                mortal.start()
    complete(done, 600)
    assert len(mortal.asked) > before + 20, "it is asked again when it is back"
    repeated = len(steady.asked) + len(mortal.asked) - 600
    assert repeated <= in_flight, "no more than what was in flight"
    assert any("is gone" in note and "other servers" in note for note in notes)
    assert any("answers again" in note for note in notes)


def test_the_only_server_dies_and_is_waited_for(phoenix: Callable[..., Phoenix], ask: Ask) -> None:
    mortal = phoenix()
    notes: list[str] = []
    done: list[Generation] = []
    with opened(mortal, notes=notes) as model:
        for answer in model.generate(prompts(ask, 100)):
            done.append(answer)
            if len(done) == 40:
                mortal.kill()
                threading.Timer(1.5, mortal.start).start()
    complete(done, 100)
    assert len(mortal.asked) <= 104
    assert any("waiting for it" in note for note in notes)


def test_servers_that_stay_away_stop_the_run_and_what_was_finished_is_kept(
    phoenix: Callable[..., Phoenix], ask: Ask
) -> None:
    one, two = phoenix(), phoenix()
    done: list[Generation] = []
    with opened(one, two) as model:
        model.patience = Patience(attempts=6, seconds=0.5, base=0.01, cap=0.1)
        answers = model.generate(prompts(ask, 400))
        done += islice(answers, 64)
        one.kill()
        two.kill()
        with pytest.raises(ResitError, match="does not answer any more") as caught:
            done += answers
    assert "kept" in caught.value.hint
    assert len(done) >= 64
    assert not [answer for answer in done if answer.error]


def test_a_server_that_is_not_there_at_first_joins_later(phoenix: Callable[..., Phoenix], ask: Ask) -> None:
    steady, late = phoenix(), phoenix()
    late.kill()
    notes: list[str] = []
    done = 0
    with opened(steady, late, notes=notes) as model:
        for _ in model.generate(prompts(ask, 300)):
            done += 1
            if done == 40:
                late.start()
    assert done == 300
    assert len(late.asked) > 20


def test_a_server_that_only_fails_rests_while_the_other_works(
    phoenix: Callable[..., Phoenix], ask: Ask
) -> None:
    steady, ill = phoenix(), phoenix(seconds=0.0)
    ill.status = 500
    notes: list[str] = []
    with opened(steady, ill, notes=notes) as model:
        answers = list(model.generate(prompts(ask, 200)))
    complete(answers, 200)
    assert len(ill.asked) < 40
    assert any("fails (500" in note for note in notes)


@pytest.mark.parametrize("status", [401, 404, 400])
def test_a_server_that_refuses_everything_does_not_swallow_the_run(
    phoenix: Callable[..., Phoenix], ask: Ask, status: int
) -> None:
    """Refusing is quick: the least loaded server would get most of the requests, and answer none."""
    steady, refusing = phoenix(), phoenix(seconds=0.2)
    refusing.status = status
    notes: list[str] = []
    with opened(steady, refusing, notes=notes) as model:
        answers = list(model.generate(prompts(ask, 200)))
    assert len(answers) == 200
    assert sum(answer.error is not None for answer in answers) <= (3 if status == 400 else 0)
    assert len(refusing.asked) <= 8
    assert any(f"refuses ({status}" in note for note in notes)


def test_when_all_refuse_the_run_stops_in_the_servers_words(
    phoenix: Callable[..., Phoenix], ask: Ask
) -> None:
    one, two = phoenix(), phoenix()
    one.status = two.status = 401
    with opened(one, two) as model, pytest.raises(ResitError, match=r"refuses.*401: not today"):
        list(model.generate(prompts(ask, 100)))
    assert len(one.asked) + len(two.asked) <= 16


@pytest.mark.parametrize(
    ("other", "what"),
    [({"id": "m", "max_model_len": 2048}, "context is 4096 at .* and 2048 at"),
     ({"id": "m", "meta": {"n_ctx": 8192}}, "context is 4096 at .* and 8192 at"),
     ({"id": "m", "max_model_len": 4096, "meta": {"n_params": 7}}, "")],
)  # fmt: skip
def test_servers_that_differ_are_refused(
    phoenix: Callable[..., Phoenix], ask: Ask, other: dict[str, Any], what: str
) -> None:
    one, two = phoenix(), phoenix()
    one.told, two.told = {"id": "m", "max_model_len": 4096}, other
    with opened(one, two) as model:
        if not what:
            complete(list(model.generate(prompts(ask, 8))), 8)
            return
        with pytest.raises(UsageError, match=what):
            list(model.generate(prompts(ask, 8)))
    assert one.asked == two.asked == []


def test_names_are_looked_up_at_every_server(phoenix: Callable[..., Phoenix]) -> None:
    one, two = phoenix(), phoenix()
    urls = [one.url, two.url]
    with create("openai-completions", {"base_url": urls}, Setup()) as model:
        assert model.name == "m"
    two.told = {"id": "another"}
    with (
        create("openai-completions", {"base_url": urls}, Setup()) as model,
        pytest.raises(UsageError, match=r"model is 'm' at .* and 'another' at"),
    ):
        assert model.name
    two.kill()
    with create("openai-completions", {"base_url": urls}, Setup()) as model:
        assert model.name == "m"


def test_a_server_that_comes_back_as_another_model_is_asked_no_more(
    phoenix: Callable[..., Phoenix], ask: Ask
) -> None:
    steady, changed = phoenix(), phoenix()
    steady.told = changed.told = {"id": "m", "max_model_len": 4096}
    notes: list[str] = []
    done = 0
    with opened(steady, changed, notes=notes) as model:
        for _ in model.generate(prompts(ask, 300)):
            done += 1
            if done == 64:
                changed.kill()
                changed.told = {"id": "m", "max_model_len": 1024}
                before = len(changed.asked)
                changed.start()
    assert done == 300
    assert len(changed.asked) <= before + 4
    assert [note for note in notes if "another context: 1024 instead of 4096" in note]


def test_the_identity_is_the_first_servers_however_many_there_are(phoenix: Callable[..., Phoenix]) -> None:
    one, two = phoenix(), phoenix()
    alone = opened(one).identity()
    assert opened(one, two).identity() == alone
    assert alone["server"] == one.url
    assert opened(two, one).identity() != alone
    named = opened(two, one, server_name="cluster").identity()
    assert named == opened(one, server_name="cluster").identity()


@pytest.mark.parametrize(
    "written", ["http://a/v1;http://b/v1", "http://a/v1 http://b/v1", " http://a/v1 ; http://b/v1;",
                ["http://a/v1", "http://b/v1"], "http://a/v1;http://b/v1;http://a/v1"],
)  # fmt: skip
def test_ways_of_writing_the_list(written: str | list[str]) -> None:
    model = create("openai-completions", {"base_url": written, "model": "m"}, Setup())
    assert [server.place for server in model._servers] == ["http://a/v1", "http://b/v1"]  # type: ignore[attr-defined]


def test_a_prompt_that_takes_its_server_down_every_time_is_given_up(
    phoenix: Callable[..., Phoenix], ask: Ask
) -> None:
    mortal = phoenix(seconds=0.0)
    original = mortal._complete

    async def deadly(request: web.Request) -> web.Response:
        if (await request.json())["prompt"] == "p3":
            request.transport.abort()  # type: ignore[union-attr]
            mortal._loop.create_task(reborn())
        return await original(request)

    async def reborn() -> None:
        await mortal._kill()
        await asyncio.sleep(0.15)
        await mortal._start()

    mortal._complete = deadly  # type: ignore[method-assign]
    mortal.kill()
    mortal.start()
    began = time.monotonic()
    with opened(mortal, concurrency=1) as model:
        answers = list(model.generate(prompts(ask, 8)))
    assert {a.doc_id for a in answers if a.error} == {3}
    assert len(answers) == 8
    assert time.monotonic() - began < 120
