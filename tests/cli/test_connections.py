"""However a command ends, no connection of its model stays open."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from resit.models import openai
from resit.models.client import Loop

TASK = """\
task: NAME
dataset_path: json
dataset_kwargs: {data_files: {test: DATA}}
test_split: test
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
resit: {rules: [robust], options: {gold: whole}}
"""


class Adder(BaseHTTPRequestHandler):
    """Lists one model, which says two."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer({"data": [{"id": "adder"}]})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer({"choices": [{"text": "2", "finish_reason": "stop"}]})

    def _answer(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def adder() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Adder) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> list[Loop]:
    """Every loop that a model opens."""
    opened: list[Loop] = []

    class Kept(Loop):
        def __init__(self) -> None:
            super().__init__()
            opened.append(self)

    monkeypatch.setattr(openai, "Loop", Kept)
    return opened


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    """The tasks `seen` and `fresh`."""
    for name in ("seen", "fresh"):
        data = tmp_path / f"{name}.jsonl"
        rows = [{"question": f"{name} {i}: 1 + 1?", "answer": "2"} for i in range(4)]
        data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        text = TASK.replace("NAME", name).replace("DATA", str(data))
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def closed(loops: list[Loop]) -> bool:
    return bool(loops) and all(loop.loop.is_closed() for loop in loops)


def test_a_run_that_owes_nothing_and_one_of_another_identity(
    command: Callable[..., Any], adder: str, sums: Path, loops: list[Loop]
) -> None:
    words = ("run", "-M", "openai-completions", "-a", f"base_url={adder}", "-t", sums / "seen.yaml")
    assert command(*words, "-o", sums / "run").status == 0
    assert closed(loops)
    assert command(*words, "-o", sums / "run").status == 0
    assert closed(loops)
    assert command(*words, "-o", sums / "run", "--seed", 7).status == 3
    assert closed(loops)


def test_probes_that_are_all_on_file(
    command: Callable[..., Any], adder: str, sums: Path, loops: list[Loop]
) -> None:
    words = ("memorisation", "-M", "openai-completions", "-a", f"base_url={adder}", "--include-path", sums)
    probes = ("--probes", "gap", "--seen", "seen", "--fresh", "fresh", "-o", sums / "probed")
    for _ in range(2):
        done = command(*words, *probes)
        assert done.status == 0, done.err
        assert closed(loops)
