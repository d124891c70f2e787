"""A run in progress: `resit run` writes, `resit view` follows, each a process of its own."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from resit.errors import ResitError
from resit.reports.viewer.pages import ChartLibrary

from .conftest import FIRST

pytestmark = pytest.mark.slow

QUESTIONS = 40
TASK = r"""
task: sums
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
doc_to_text: "Question: {{{{question}}}}\nAnswer:"
doc_to_target: "{{{{answer}}}}"
generation_kwargs: {{until: ["Question:"], max_gen_toks: 32}}
resit: {{headline: "exact_match,robust"}}
"""


@pytest.fixture
def slow_run(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start `resit run` of 40 sums, each of which takes `delay` seconds, into runs/live."""
    started = []

    def start(delay: float = 0.15) -> subprocess.Popen[bytes]:
        rows = [{"question": f"What is {i} + {i}?", "answer": str(2 * i)} for i in range(QUESTIONS)]
        (tmp_path / "rows.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
        )
        task = tmp_path / "sums.yaml"
        task.write_text(TASK.format(data=tmp_path / "rows.jsonl"), encoding="utf-8")
        command = [
            *(sys.executable, "-m", "resit", "run", "--model", "scripted", "--tasks", str(task)),
            *("--model-args", f"delay={delay},text=That makes {{target}}.", "--batch-size", "1"),
            *("--output-path", str(tmp_path / "runs" / "live")),
        ]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def ask(address: str, path: str, **query: Any) -> Any:
    words = "&".join(f"{key}={value}" for key, value in query.items())
    with urllib.request.urlopen(f"{address}/api/{path}?{words}", timeout=30) as response:
        return json.load(response)


def until(what: Callable[[], Any], seconds: float = 90) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return found


def events(address: str, path: str) -> Iterator[tuple[str, Any]]:
    """Server-sent events, until the server ends them."""
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port or 0, timeout=60)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        assert response.getheader("content-type", "").startswith("text/event-stream")
        name = ""
        while line := response.readline():
            word, _, rest = line.decode().rstrip("\n").partition(": ")
            if word == "event":
                name = rest
            elif word == "data":
                yield name, json.loads(rest)
    finally:
        connection.close()


def test_a_run_in_progress_is_followed_to_its_end(
    tmp_path: Path, slow_run: Callable[..., Any], served: Callable[..., str]
) -> None:
    (tmp_path / "runs").mkdir()
    address = served(tmp_path / "runs")
    run = slow_run(0.4)
    row = until(lambda: next(iter(ask(address, "runs")["rows"]), None))
    row = until(lambda: next((r for r in ask(address, "runs")["rows"] if r["samples"] and r["score"]), None))
    assert (row["state"], row["planned"], row["score"]) == ("running", QUESTIONS, 1.0)
    seen: list[Any] = []
    for name, state in events(address, f"/api/events?runs={row['id']}"):
        assert name == "state"
        seen.append(state)
        if not state["live"]:
            break
    assert run.wait(timeout=60) == 0
    counts = [state["runs"][0]["samples"] for state in seen]
    assert counts == sorted(counts)
    assert counts[-1] == QUESTIONS
    assert len(set(counts)) >= 3
    assert all(state["runs"][0]["planned"] == QUESTIONS for state in seen)
    done = until(lambda: [r for r in ask(address, "runs")["rows"] if r["state"] == "complete"])
    assert (done[0]["samples"], done[0]["score"]) == (QUESTIONS, 1.0)
    part = ask(address, "rows", runs=row["id"], task="sums", rule="robust", show="right")
    assert part["total"] == QUESTIONS


def test_a_run_that_vanished_before_it_is_followed_is_said(
    tmp_path: Path, slow_run: Callable[..., Any], served: Callable[..., str]
) -> None:
    (tmp_path / "runs").mkdir()
    address = served(tmp_path / "runs")
    assert slow_run(0.0).wait(timeout=60) == 0
    row = until(lambda: next((r for r in ask(address, "runs")["rows"] if r["state"] == "complete"), None))
    (tmp_path / "runs").rename(tmp_path / "elsewhere")
    ((name, told),) = events(address, f"/api/events?runs={row['id']}")
    assert name == "gone"
    assert "any more" in told["error"]


def test_a_run_that_is_killed_is_no_longer_running_and_goes_on_when_continued(
    tmp_path: Path, slow_run: Callable[..., Any], served: Callable[..., str]
) -> None:
    (tmp_path / "runs").mkdir()
    address = served(tmp_path / "runs")
    first = slow_run(1.0)
    until(lambda: [r for r in ask(address, "runs")["rows"] if r["state"] == "running" and r["samples"]])
    first.kill()
    first.wait()
    stopped = until(lambda: [r for r in ask(address, "runs")["rows"] if r["state"] == "not scored"])[0]
    progress = ask(address, "progress", runs=stopped["id"])
    assert not progress["live"]
    assert 0 < progress["runs"][0]["samples"] < QUESTIONS
    slow_run(0.05)
    until(lambda: [r for r in ask(address, "runs")["rows"] if r["state"] == "running"])
    until(lambda: [r for r in ask(address, "runs")["rows"] if r["state"] == "complete"])
    assert ask(address, "progress", runs=stopped["id"])["runs"][0]["samples"] == QUESTIONS


def test_a_hundred_clients_at_once_are_all_answered(
    run_folder: Callable[..., Path], served: Callable[..., str]
) -> None:
    folder = run_folder("one", [[f"#### {2 * n}", f"It is {2 * n}."] for n in range(300)])
    address = served(folder.parent)
    run = until(lambda: ask(address, "runs")["rows"])[0]["id"]
    streams = [
        threading.Thread(target=lambda: next(events(address, f"/api/events?runs={run}"))) for _ in range(30)
    ]
    failures: list[Any] = []

    def look(number: int) -> None:
        try:
            query = {"runs": run, "task": "fruit", "rule": "robust"}
            shown = ask(
                address, "rows", **query, show=("all", "wrong", "right")[number % 3], search=f"%23{number}"
            )
            assert shown["total"] == (0 if number % 3 == 1 else 1), (number, shown["total"])
            assert ask(address, "sample", runs=run, id=f"fruit/{number}")["doc_id"] == number
        except Exception as error:
            failures.append(error)

    looks = [threading.Thread(target=look, args=(number,)) for number in range(100)]
    for thread in [*streams, *looks]:
        thread.start()
    for thread in [*streams, *looks]:
        thread.join(timeout=120)
    assert failures == []


def test_it_listens_on_loopback_alone_and_ends_on_a_signal(
    run_folder: Callable[..., Path],
) -> None:
    folder = run_folder("one", FIRST)
    command = [sys.executable, "-m", "resit", "view", str(folder.parent), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    address = json.loads(process.stdout.readline())["address"]
    assert address.startswith("http://127.0.0.1:")
    stream = events(address, "/api/table-events")
    assert next(stream)[0] == "state"  # an open connection does not keep it
    process.send_signal(2)
    _, complaints = process.communicate(timeout=30)
    assert process.returncode in (0, 130)
    assert complaints == b""


def test_what_cannot_be_served_is_said(tmp_path: Path) -> None:
    for words, status, said in (
        ([str(tmp_path / "nowhere")], 2, "is not a folder"),
        ([str(tmp_path), "--host", "203.0.113.77"], 1, "cannot listen on 203.0.113.77"),
    ):
        command = [sys.executable, "-m", "resit", "view", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ})
        assert done.returncode == status
        assert said in done.stderr
        assert "Traceback" not in done.stderr


def test_a_token_is_printed_where_others_can_connect(
    run_folder: Callable[..., Path], served: Callable[..., str]
) -> None:
    folder = run_folder("one", FIRST)
    address = served(folder.parent, "--host", "0.0.0.0")
    _, token = address.rsplit("?token=", 1)
    here = f"http://127.0.0.1:{urlsplit(address).port}"
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{here}/api/runs", timeout=30)
    request = urllib.request.Request(f"{here}/api/runs", headers={"authorization": f"Bearer {token}"})
    assert until(lambda: json.load(urllib.request.urlopen(request, timeout=30))["rows"])


def test_a_viewer_that_is_closed_starts_no_process_any_more() -> None:
    library = ChartLibrary()
    library.close()
    library.make()
    with pytest.raises(ResitError, match="the viewer is closing"):
        library.text()
