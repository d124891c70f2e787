"""Whole runs against servers and settings that nobody would wish for: no secret on file, no sample lost."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from typer.testing import CliRunner

from resit.cli import app
from resit.errors import ResitError
from resit.models import Setup, create
from resit.models.client import CHUNK
from resit.models.failures import Patience
from resit.records import Generation, Request

Ask = Callable[..., Request]
Serve = Callable[..., Any]
MakeReply = Callable[..., dict[str, Any]]

TASK = """\
task: sums
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
doc_to_text: "Question: {{{{question}}}}\\nAnswer:"
doc_to_target: "{{{{answer}}}}"
generation_kwargs: {{until: ["Question:"], max_gen_toks: 32}}
metric_list: [{{metric: exact_match}}]
"""


@pytest.fixture
def sums(tmp_path: Path) -> Callable[[int], str]:
    """Writes a task of so many questions and gives its path."""

    def write(questions: int) -> str:
        rows = [{"question": f"What is {i} + {i}?", "answer": str(2 * i)} for i in range(questions)]
        data = tmp_path / "sums.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        path = tmp_path / "sums.yaml"
        path.write_text(TASK.format(data=data), encoding="utf-8")
        return str(path)

    return write


def words(model_args: Any, task: str, folder: Path) -> list[str]:
    args = model_args if isinstance(model_args, str) else json.dumps(model_args)
    return ["run", "-M", "openai-completions", "-a", args, "-t", task, "-o", str(folder)]


def journal(folder: Path) -> list[dict[str, Any]]:
    path = folder / "generations.jsonl"
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def test_no_secret_is_in_any_file_or_message(
    serve: Serve,
    reply: MakeReply,
    sums: Callable[[int], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server repeats all it was sent, also where its words are cut to length."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment-1")

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        number = len(server.bodies)
        if number == 5:
            return web.json_response(reply("fine"))
        said = "x" * (377 if number % 2 else 0) + f"{dict(request.headers)} {request.query_string}"
        return web.json_response({"error": {"message": said}}, status=400 if number % 3 else 500)

    server = serve(answer)
    args = {
        "base_url": server.url.replace("http://", "http://joe:pass-word-9@") + "?token=query-secret",
        "model": "m",
        "header": {"X-Api-Key": "header-secret-1", "X-Other": "Basic another-secret"},
        "max_retries": 1,
        "num_concurrent": 1,
    }
    done = CliRunner().invoke(app, words(args, sums(12), tmp_path / "run"))
    texts = [done.output, str(done.exception), *(p.read_text() for p in (tmp_path / "run").iterdir())]
    assert any("***" in text for text in texts)
    for secret in ("sk-environment", "pass-word-9", "query-secret", "header-secret", "another-secret"):
        assert [text for text in texts if secret in text] == []
    assert server.headers[0]["X-Api-Key"] == "header-secret-1"


def test_no_login_of_addresses_without_a_scheme_is_in_any_file_or_message(
    serve: Serve,
    reply: MakeReply,
    sums: Callable[[int], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two servers, and passwords with an @ in them."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        return web.json_response(reply("fine"))

    servers = serve(answer), serve(answer)
    places = [server.url.removeprefix("http://") for server in servers]
    args = {"base_url": f"alice:pa@ss-word-1@{places[0]};bob:pa@ss-word-2@{places[1]}", "model": "m"}
    done = CliRunner().invoke(app, words(args, sums(8), tmp_path / "run"))
    assert done.exit_code == 0, done.output
    texts = [done.output, *(p.read_text() for p in (tmp_path / "run").iterdir())]
    for secret in ("alice", "bob", "pa@ss", "ss-word"):
        assert [text for text in texts if secret in text] == []
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["identity"]["model"]["server"] == servers[0].url
    assert record["model"]["args"]["base_url"] == ";".join(server.url for server in servers)
    sent = {headers["Authorization"] for server in servers for headers in server.headers}
    assert "Basic YWxpY2U6cGFAc3Mtd29yZC0x" in sent


def test_a_login_in_the_address_is_sent_as_a_header_and_a_key_goes_before_it(
    serve: Serve, reply: MakeReply, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    queries: list[str] = []

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        queries.append(request.query_string)
        return web.json_response(reply("x"))

    server = serve(answer)
    address = server.url.replace("http://", "http://joe:p%40ss@") + "/?api-version=3"
    for _ in range(2):
        with create("openai-completions", {"base_url": address}, Setup(1)) as model:
            assert [a.text for a in model.generate([ask("x")])] == ["x"]
        monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    sent = [headers["Authorization"] for headers in server.headers]
    assert sent == ["Basic am9lOnBAc3M=", "Bearer sk-1"]
    assert queries == ["api-version=3"] * 2


BODIES: dict[str, tuple[int, bytes]] = {
    "a page": (200, b"<html><body>hello"),
    "nothing": (200, b""),
    "null": (200, b"null"),
    "a list": (200, b"[]"),
    "deep": (200, b"[" * 100_000),
    "deep objects": (200, b'{"choices":' * 50_000),
    "a deep error": (400, b'{"error":' * 3000 + b"1" + b"}" * 3000),
    "no list of choices": (200, b'{"choices":5}'),
    "a choice without text": (200, b'{"choices":[{"finish_reason":"stop"}]}'),
    "odd choices": (200, b'{"choices":[5, null]}'),
    "a message of text": (200, b'{"choices":[{"message":"hi"}]}'),
    "numbers for text": (200, b'{"choices":[{"text":5,"finish_reason":7}]}'),
    "odd usage": (200, b'{"choices":[{"text":"x"}],"usage":{"prompt_tokens":-1,"completion_tokens":1e400}}'),
    "a huge index": (200, b'{"choices":[{"text":"x","index":' + b"9" * 5000 + b"}]}"),
    "surrogates and NUL": (200, b'{"choices":[{"text":"a\\ud800b\\u0000c"}]}'),
    "no UTF-8": (200, b'{"choices":[{"text":"a\xff\xfeb"}]}'),
    "a byte order mark": (200, b'\xef\xbb\xbf{"choices":[{"text":"x"}]}'),
    "UTF-16": (200, '{"choices":[{"text":"x"}]}'.encode("utf-16")),
    "error null beside choices": (200, b'{"error":null,"choices":[{"text":"x"}]}'),
    "a list of errors": (200, b'{"error":["x"]}'),
    "no content": (204, b""),
    "a teapot": (418, b"short and stout"),
    "no words": (599, b""),
    "odd bytes as words": (451, b"\xff\xfe"),
    "an event without data": (200, b"event: x\n\n"),
    "odd events": (200, b'data: [1]\n\ndata: {"choices":[{"delta":[1],"index":-1}]}\n\ndata: [DONE]\n\n'),
    "odd fields": (200, b'{"model":5,"choices":[{"text":"x","logprobs":3,"stop_reason":4}]}'),
}


@pytest.mark.parametrize("name", BODIES)
def test_whatever_comes_back_is_a_sample_or_an_error(
    serve: Serve, ask: Ask, sums: Callable[[int], str], tmp_path: Path, name: str
) -> None:
    status, raw = BODIES[name]

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        return web.Response(status=status, body=raw, content_type="application/json")

    args = {"base_url": serve(answer).url, "model": "m", "max_retries": 0, "num_concurrent": 1}
    done = CliRunner().invoke(app, words(args, sums(2), tmp_path / "run"))
    assert done.exception is None or isinstance(done.exception, SystemExit | ResitError), done.exc_info
    lines = journal(tmp_path / "run")
    assert len(lines) == 2
    assert all(("error" in line) == (line["text"] == "") for line in lines)


@pytest.mark.parametrize(
    "address",
    ["http://", "http://:8000/v1", "http://127.0.0.1:99999/v1", "ftp://x/v1", "http://[::1/v1", "", "/v1",
     ";", "http://127.0.0.1:1/v1", "http://no.such.host.invalid/v1"],
)  # fmt: skip
@pytest.mark.parametrize("model", ["", "m"])
def test_addresses_that_lead_nowhere(ask: Ask, address: str, model: str) -> None:
    args = {
        "base_url": address,
        "max_retries": 0,
        "retry_seconds": 0.2,
        **({"model": model} if model else {}),
    }
    began = time.monotonic()
    found: list[Generation] = []
    with suppress(ResitError), create("openai-completions", args, Setup(1)) as opened:
        opened.patience = Patience(1, 0.2, base=0.01)  # type: ignore[attr-defined]
        assert opened.name == model
        found += opened.generate([ask("x")])
    assert [answer for answer in found if answer.error is None] == []
    assert time.monotonic() - began < 120


class OneAtATime:
    """A server of the simplest kind: one thread, one connection, one answer, and almost no queue."""

    def __init__(self, half_closes: int = 0) -> None:
        self._half_closes = half_closes
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        self.answered: Counter[str] = Counter()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        head, _, body = connection.recv(65536).partition(b"\r\n\r\n")
        if not head:
            return
        if head.startswith(b"GET"):
            said = b'{"data":[{"id":"m"}]}'
        else:
            length = int(head.lower().split(b"content-length:")[1].split()[0])
            while len(body) < length:
                body += connection.recv(65536)
            if self._half_closes:
                self._half_closes -= 1
                connection.shutdown(socket.SHUT_WR)
                time.sleep(0.05)
                return
            prompt = json.loads(body)["prompt"]
            self.answered[prompt] += 1
            said = json.dumps({"choices": [{"text": prompt, "finish_reason": "stop"}]}).encode()
        connection.sendall(
            b"HTTP/1.0 200 OK\r\nContent-Length: " + str(len(said)).encode() + b"\r\n\r\n" + said
        )

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


@pytest.fixture
def one_at_a_time() -> Iterator[Callable[..., OneAtATime]]:
    running: list[OneAtATime] = []

    def start(**options: Any) -> OneAtATime:
        running.append(OneAtATime(**options))
        return running[-1]

    yield start
    for server in running:
        server.close()


@pytest.mark.parametrize("half_closes", [0, 3])
def test_a_server_with_one_thread_and_no_queue(
    one_at_a_time: Callable[..., OneAtATime], ask: Ask, half_closes: int
) -> None:
    server = one_at_a_time(half_closes=half_closes)
    with create("openai-completions", {"base_url": server.url, "model": "m"}, Setup(4)) as model:
        model.patience = Patience(8, 60, base=0.05, cap=0.5)  # type: ignore[attr-defined]
        answers: list[Generation] = list(model.generate(ask(f"p{i}", i) for i in range(20)))
    assert {a.doc_id: a.text for a in answers if not a.error} == {i: f"p{i}" for i in range(20)}
    assert len(answers) == 20


def test_a_proxy_is_used_unless_the_environment_says_not_to(
    serve: Serve, reply: MakeReply, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        return web.json_response(reply(f"through the proxy to {request.headers['Host']}"))

    proxy = serve(answer)
    monkeypatch.setenv("HTTP_PROXY", proxy.root)
    args = {"base_url": "http://models.example/v1", "model": "m", "max_retries": 0, "retry_seconds": 0.1}
    with create("openai-completions", args, Setup(1)) as model:
        assert [a.text for a in model.generate([ask("x")])] == ["through the proxy to models.example"]
    monkeypatch.setenv("NO_PROXY", "models.example")
    with create("openai-completions", args, Setup(1)) as model:
        model.patience = Patience(1, 0.2, base=0.01)  # type: ignore[attr-defined]
        assert [a.text for a in model.generate([ask("x")])] == [""]
    assert len(proxy.bodies) == 1


@pytest.mark.slow
def test_a_run_killed_in_a_storm_of_429_goes_on_where_it_was(
    serve: Serve, reply: MakeReply, sums: Callable[[int], str], tmp_path: Path
) -> None:
    """Every fourth request is refused; the process is killed three times, without warning."""
    answered: Counter[str] = Counter()
    asked = 0

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        nonlocal asked
        asked += 1
        if asked % 4 == 0:
            return web.json_response({"error": {"message": "slow down"}}, status=429)
        answered[body["prompt"]] += 1
        return web.json_response(reply(" " + body["prompt"].split()[3]))

    server = serve(answer)
    task = sums(400)
    args = {"base_url": server.url, "model": "m", "num_concurrent": 4}
    command = [sys.executable, "-m", "resit", *words(args, task, tmp_path / "run")]
    for goal in (30, 90, 150):
        before = journal(tmp_path / "run")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        while answered.total() < goal and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        torn = (tmp_path / "run" / "generations.jsonl").read_bytes()
        whole = [json.loads(line) for line in torn.splitlines() if line.endswith(b"}")]
        assert whole[: len(before)] == before, "what was finished stays as it was"
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    lines = journal(tmp_path / "run")
    assert Counter(line["doc_id"] for line in lines) == dict.fromkeys(range(400), 1)
    assert not [line for line in lines if "error" in line]
    assert answered.total() - 400 <= 3 * (4 + CHUNK), "a kill costs what was in flight or about to be written"
    results = json.loads((tmp_path / "run" / "results.json").read_bytes())
    assert results["resit"]["tasks"]["sums"]["samples"]["errored"] == 0
