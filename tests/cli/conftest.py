"""The command in this process, and run folders that hold whatever scores a test needs."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from resit import jsonl
from resit.records import SampleScore, Verdict
from resit.reports.scores import score_line


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run `resit WORDS…` in this process, on a wide terminal."""
    from resit.cli import main

    def run(*words: object) -> Outcome:
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
        monkeypatch.setattr(sys, "argv", ["resit", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), captured.out, captured.err)

    return run


@contextmanager
def answering(answer: Callable[[str], tuple[int, Any]]) -> Iterator[str]:
    """The address of a server on loopback that replies to each GET or POST with a status and a JSON value."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def reply(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, value = answer(self.command)
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if status == 429:
                self.send_header("Retry-After", "300")
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = reply  # noqa: N815 - its caller's names

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


TASK = """\
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
doc_to_text: {text}
doc_to_target: "{{{{answer}}}}"
"""


@pytest.fixture
def sums(tmp_path: Path) -> Callable[..., Path]:
    """Write a task that asks `i + i?` for i from 1, or the given rows, and give its file."""

    def write(
        name: str = "sums",
        *,
        questions: int = 4,
        rows: Sequence[Mapping[str, str]] = (),
        text: str = "{{question}}",
        more: str = "",
    ) -> Path:
        rows = rows or [{"question": f"{i} + {i}?", "answer": str(2 * i)} for i in range(1, questions + 1)]
        data, path = tmp_path / f"{name}.jsonl", tmp_path / f"{name}.yaml"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        keys = TASK.format(name=name, data=data, text=json.dumps(text))
        path.write_text(keys + more, encoding="utf-8")
        return path

    return write


Answers = Mapping[str, Sequence[str | None]]
"""By question, the answer of each sample; the right one is `18`, None finds no answer, `!` errored."""


@pytest.fixture
def scored_run(tmp_path: Path) -> Callable[..., Path]:
    """Write a run folder as `resit score` leaves it; the right answer of every question is 18."""

    def write(
        name: str,
        answers: Answers,
        *,
        task: str = "gsm8k",
        model: str | None = None,
        protocol: Mapping[str, Any] | None = None,
        planned: int | None = None,
        more: Mapping[str, Answers] | None = None,
    ) -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        tasks = {task: answers, **(more or {})}
        lines = [
            jsonl.encode(score_line(sample(of_task, number, key, repeat, answer)))
            for of_task, questions in tasks.items()
            for number, (key, found) in enumerate(questions.items())
            for repeat, answer in enumerate(found)
        ]
        (folder / "scores.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
        about = {
            of_task: {
                "protocol": dict(protocol or {"num_fewshot": 5}),
                "samples": {"planned": planned or sum(map(len, questions.values()))},
            }
            for of_task, questions in tasks.items()
        }
        results = {"config": {"model_name": model or name}, "resit": {"tasks": about}}
        (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
        return folder

    return write


def sample(task: str, number: int, key: str, repeat: int, answer: str | None) -> SampleScore:
    if answer == "!":
        return SampleScore(task, number, key, repeat, {}, error="429")
    verdict = Verdict("robust", answer, float(answer == "18"))
    return SampleScore(task, number, key, repeat, {"robust": verdict, "strict-match": verdict})
