from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web
from typer.testing import CliRunner

from resit.cli import app
from resit.models import Setup, create
from resit.models.doctor import Finding, examine
from resit.models.openai import OpenAIModel
from resit.models.stops import cut

Serve = Callable[..., Any]
MakeReply = Callable[..., dict[str, Any]]


def findings(url: str, kind: str = "openai-completions") -> dict[str, Finding]:
    with create(kind, {"base_url": url}, Setup()) as model:
        assert isinstance(model, OpenAIModel)
        return {found.probe: found for found in examine(model.patients()[0], model.run, [2])}


def healthy(reply: MakeReply) -> Callable[..., Any]:
    """Samples by seed, takes any stop string, counts tokens."""
    unseeded = itertools.count()

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        seed = body.get("seed", f"none {next(unseeded)}") if body["temperature"] else "greedy"
        texts = [cut(f"a text {seed} {i}", body.get("stop", ()))[0] for i in range(body.get("n", 1))]
        return web.json_response(reply(*texts, usage={"prompt_tokens": 9, "completion_tokens": 20}))

    return answer


def test_a_healthy_server(serve: Serve, reply: MakeReply) -> None:
    found = findings(serve(healthy(reply)).url)
    assert found["models"].value == ["m"]
    assert found["seed"].value == "honoured"
    assert found["greedy"].value is True
    assert found["n"].value is True
    assert found["stop strings"].says == "at least 32 taken and heeded, not named in the reply"
    assert found["logprobs"].value is False
    assert found["context"].says == "not told"
    assert all(finding.good for finding in found.values())
    assert found["speed at 2"].says.endswith("tokens/s")


def test_what_a_run_would_suffer_from(serve: Serve, reply: MakeReply) -> None:
    drifting = itertools.count()

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        if len(body.get("stop", ())) > 4:
            return web.json_response({"error": {"message": "too many stops"}}, status=400)
        text = "the same" if body["temperature"] else f"the text {next(drifting)}"
        return web.json_response(reply(text))

    found = findings(serve(answer).url)
    assert found["stop strings"].says == "4 taken but ignored; all are cut on our side"
    assert (found["seed"].good, found["greedy"].good, found["n"].good) == (False, False, True)
    assert "temperature is ignored" in found["seed"].says
    assert found["n"].value is False
    assert "tokens are not counted" in found["speed at 2"].says


def test_seeds_that_are_ignored_and_seeds_that_switch_sampling_off(serve: Serve, reply: MakeReply) -> None:
    numbers = itertools.count()

    async def ignores(request: web.Request, body: dict[str, Any]) -> web.Response:
        return web.json_response(reply(f"text {next(numbers)}" if body["temperature"] else "g"))

    async def switches_off(request: web.Request, body: dict[str, Any]) -> web.Response:
        return web.json_response(reply("fixed" if "seed" in body else f"text {next(numbers)}"))

    assert findings(serve(ignores).url)["seed"].value == "ignored"
    found = findings(serve(switches_off).url)["seed"]
    assert found.value == "no sampling"
    assert (found.value, found.says) == (
        "no sampling",
        "with a seed every text is the same: repeats would be copies",
    )


def test_stop_strings_that_are_left_at_the_end(serve: Serve, reply: MakeReply) -> None:
    """As of `transformers serve`, whose last token may also hold more than the stop string."""

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        text = " one two three four five six seven eight nine ten"
        found = [text.find(stop) + len(stop) for stop in body.get("stop", ()) if stop in text]
        return web.json_response(reply(text[: min(found) + 1] if found else text))

    found = findings(serve(answer).url)["stop strings"]
    assert found.says == "at least 32 taken and heeded, left at the end, cut on our side"
    assert found.value == 32


def test_a_seed_that_others_disturb(serve: Serve, reply: MakeReply) -> None:
    """As of `transformers serve`: one generator for all requests, seeded by whichever came last."""

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        await asyncio.sleep(0.05)
        company = f" beside {server.in_flight}" if body["temperature"] and server.in_flight > 1 else ""
        return web.json_response(reply(f"text {body['seed'] if body['temperature'] else 0}{company}"))

    server = serve(answer)
    found = findings(server.url)["seed"]
    assert (found.value, found.good) == ("alone", False)


def test_a_server_that_gives_few_texts_a_request(serve: Serve, reply: MakeReply) -> None:
    usual = healthy(reply)

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        if body.get("n", 1) > 2:
            words = f"Field 'n': Value must be between 1 <= value <= 2, but got {body['n']}"
            return web.json_response({"error": {"message": words}}, status=400)
        return await usual(request, body)

    found = findings(serve(answer).url)["n"]
    assert (found.value, found.says) == (True, "supported, at most 2")


def test_every_server_is_examined(serve: Serve, reply: MakeReply) -> None:
    one, two = serve(healthy(reply)), serve(healthy(reply))
    urls = f"base_url={one.url};{two.url}"
    done = CliRunner().invoke(app, ["doctor", "-a", urls, "--concurrency", "1", "--json"])
    assert done.exit_code == 0, done.output
    servers = json.loads(done.stdout)["servers"]
    assert list(servers) == [one.url, two.url]
    assert all(findings["seed"]["value"] == "honoured" for findings in servers.values())


def test_a_probe_that_is_refused_does_not_end_the_examination(serve: Serve, reply: MakeReply) -> None:
    usual = healthy(reply)

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        if "n" in body or "logprobs" in body:
            return web.json_response({"error": {"message": "not supported"}}, status=400)
        return await usual(request, body)

    found = findings(serve(answer).url)
    assert found["n"].says == "refused (400: not supported); every sample is asked for by itself"
    assert found["speed at 2"].good


def test_the_command(serve: Serve, reply: MakeReply) -> None:
    server = serve(healthy(reply))
    server.models = ["modèle"]
    done = CliRunner().invoke(app, ["doctor", "-a", f"base_url={server.url}", "--concurrency", "1", "--json"])
    assert done.exit_code == 0, done.output
    assert done.stdout.isascii(), "whatever the terminal's encoding is"
    report = json.loads(done.stdout)
    assert report["model"] == "modèle"
    assert report["findings"]["seed"]["value"] == "honoured"
    assert "speed at 1" in done.stderr
    plain = CliRunner().invoke(app, ["doctor", "-a", f"base_url={server.url}", "--concurrency", "1"])
    assert "honoured" in plain.stdout


@pytest.mark.parametrize("arguments", [["-M", "scripted"], ["--concurrency", "many"]])
def test_usage(arguments: list[str]) -> None:
    done = CliRunner().invoke(app, ["doctor", *arguments])
    assert type(done.exception).__name__ == "UsageError"


def test_trouble_that_passes_is_no_finding(serve: Serve, reply: MakeReply) -> None:
    usual, calls = healthy(reply), itertools.count()

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        if next(calls) == 0:
            request.transport.abort()  # type: ignore[union-attr]
        return await usual(request, body)

    assert all(found.good for found in findings(serve(answer).url).values())
