"""Run folders made line by line, and the viewer over them: in this process, and as a server of its own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from resit import jsonl
from resit.cli.scoring import score_folder
from resit.cli.view import recorded_rules
from resit.records import Document, Generation, Question
from resit.reports.page.summary import Pair
from resit.reports.viewer.access import Access
from resit.reports.viewer.viewer import Viewer
from resit.reports.viewer.workshop import Workshop
from resit.runs.folder import RunFolder, question_to
from resit.runs.journal import to_line
from resit.runs.rules import rules_from

RULES = {
    "filters": [
        {
            "name": "strict-match",
            "filter": [
                {"function": "regex", "regex_pattern": r"#### (\-?[0-9\.\,]+)"},
                {"function": "take_first"},
            ],
        }
    ],
    "metrics": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    "headline": "exact_match,strict-match",
    "named": ["robust"],
    "options": {},
    "needs_code": False,
}
EXEMPLARS = "Question: A tray holds 2 cups and 1 glass. How many vessels?\nAnswer: 2 + 1 = 3. #### 3\n\n"


def question(number: int, task: str = "fruit", words: str = "") -> Question:
    text = words or f"Basket {number} holds {number} pears and {number} plums. How many pieces of fruit?"
    target = str(2 * number)
    document = Document(number, f"{number:064x}", {"question": text, "answer": f"#### {target}"})
    return Question(task, document, f"{EXEMPLARS}Question: {text}\nAnswer:", target)


def generation(number: int, repeat: int, text: str, task: str = "fruit", **more: Any) -> Generation:
    return Generation(task, number, f"{number:064x}", repeat, 7 + repeat, text=text, **more)


def record(
    task: str = "fruit", questions: int = 10, repeats: int = 1, model: str = "m", **protocol: Any
) -> Any:
    return {
        "resit": "0.1.0",
        "created": "2026-11-30T12:00:00+00:00",
        "digest": "d" * 64,
        "identity": {"format": 1, "tasks": {task: {"num_fewshot": 1}}},
        "plan": {task: {"documents": questions, "questions": questions, "repeats": repeats}},
        "model": {"kind": "scripted", "name": model, "args": {}},
        "tasks": {
            task: {
                "alias": task,
                "rules": RULES,
                "protocol": {"num_fewshot": 1, **protocol},
                "source": "",
                "config": {},
            }
        },
    }


@pytest.fixture
def run_folder(tmp_path: Path) -> Callable[..., Path]:
    """Write a run: `answers` are the samples of each question, a text or None for one that errored."""

    def write(
        name: str,
        answers: Sequence[Sequence[str | None]],
        *,
        task: str = "fruit",
        scored: bool = True,
        root: Path | None = None,
        words: Sequence[str] = (),
        planned: int | None = None,
        **about: Any,
    ) -> Path:
        folder = (root or tmp_path / "runs") / name
        folder.mkdir(parents=True)
        repeats = max(map(len, answers), default=1)
        whole = record(task, planned or len(answers), repeats, **{"model": name, **about})
        (folder / "run.json").write_text(json.dumps(whole), encoding="utf-8")
        asked = [question(n, task, words[n] if n < len(words) else "") for n in range(len(answers))]
        made = [
            generation(n, repeat, text or "", task, error=None if text is not None else "503")
            for n, texts in enumerate(answers)
            for repeat, text in enumerate(texts)
        ]
        write_lines(folder / "prompts.jsonl", map(question_to, asked))
        write_lines(folder / "generations.jsonl", map(to_line, made))
        if scored:
            score_folder(RunFolder(folder), {task: rules_from(RULES)}, processes=1)
        return folder

    return write


def write_lines(path: Path, values: Any, mode: str = "wb") -> None:
    with path.open(mode) as file:
        for value in values:
            file.write(jsonl.encode(value) + b"\n")


FIRST = [
    ["#### 0"],
    ["It holds 2 of them. The answer is 2."],
    ["Four and one is five. #### 5"],
    [None],
    ["I cannot say."],
    ["#### 10"],
]
"""Right by both rules: 0, 5; by robust alone: 1; wrong: 2, 4; not measured: 3."""
SECOND = [["#### 0"], ["#### 2"], ["#### 4"], ["#### 6"], ["#### 9"], ["#### 11"]]
"""Right by both rules: 0 to 3."""


class SharedWorkshop(Workshop):
    """One process for all tests, for starting one takes longer than a test."""

    def close(self) -> None:
        """Not when one of the viewers closes."""


@pytest.fixture(scope="session")
def workshop() -> Iterator[Workshop]:
    shared = SharedWorkshop()
    yield shared
    Workshop.close(shared)


def light(viewer: Viewer, workshop: Workshop) -> Viewer:
    """The viewer without what it makes ready at its start."""
    viewer._showing_workshop = viewer._grading_workshop = workshop
    viewer._warm_up = lambda: None  # type: ignore[method-assign]
    return viewer


@pytest.fixture
def client_of(tmp_path: Path, workshop: Workshop) -> Iterator[Callable[..., Any]]:
    """A client of the viewer over a folder, by default the one that `run_folder` writes into."""
    testclient = pytest.importorskip("starlette.testclient", reason="needs `pip install 'resit[report]'`")
    from resit.reports.viewer.app import make_app

    opened = []

    def client(root: Path | None = None, access: Access | None = None) -> Any:
        viewer = light(Viewer(root or tmp_path / "runs", recorded_rules, [Pair("fruit", "veg")]), workshop)
        made = testclient.TestClient(make_app(viewer, access or Access()), base_url="http://localhost")
        made.__enter__()
        opened.append(made)
        return Asking(made, viewer)

    yield client
    for made in opened:
        made.__exit__(None, None, None)


@dataclass
class Asking:
    """Asks the viewer, waiting for what it reads in the background."""

    http: Any
    viewer: Viewer

    def get(self, path: str, **query: Any) -> Any:
        return self.http.get(f"/api/{path}", params=query)

    def json(self, path: str, **query: Any) -> Any:
        response = self.get(path, **query)
        assert response.status_code == 200, response.text
        return response.json()

    def ids(self) -> dict[str, str]:
        """By name, the identifiers of the runs, after looking around."""
        self.viewer.table._look()
        return {row["name"]: row["id"] for row in self.json("runs", count=500)["rows"]}

    def rows(self, runs: str, **query: Any) -> Any:
        """Rows when all is read and searched."""
        asked = {"runs": runs, "task": "fruit", "rule": "strict-match", "show": "all", **query}
        while (part := self.json("rows", **asked))["read"] < 1 or part["searched"] < 1:
            pass
        return part

    def listed(self, runs: str, **query: Any) -> list[int]:
        return [row["doc_id"] for row in self.rows(runs, **query)["rows"]]


@pytest.fixture
def served() -> Iterator[Callable[..., str]]:
    """Start `resit view` over a folder; the address without a slash at its end."""
    started = []

    def serve(root: Path, *options: str) -> str:
        command = [sys.executable, "-m", "resit", "view", str(root), "--json", *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "COLUMNS": "200"})
        started.append(process)
        assert process.stdout is not None
        return str(json.loads(process.stdout.readline())["address"]).rstrip("/")

    yield serve
    for process in started:
        process.terminate()
        process.communicate(timeout=20)


@pytest.fixture(scope="session")
def library() -> Any:
    """The charts' library, which takes seconds to put together."""
    from resit.reports.viewer.pages import ChartLibrary

    made = ChartLibrary()
    made.make()
    return made


@pytest.fixture
def served_here(library: Any, workshop: Workshop) -> Iterator[Callable[..., str]]:
    """Serve a folder from a thread of this process; the address without a slash at its end."""
    uvicorn = pytest.importorskip("uvicorn", reason="needs `pip install 'resit[report]'`")
    from resit.reports.viewer.app import make_app

    running = []

    def serve(root: Path) -> str:
        viewer = light(Viewer(root, recorded_rules, [Pair("fruit", "veg")]), workshop)
        viewer.library = library
        listening = socket.create_server(("127.0.0.1", 0))
        app = make_app(viewer, Access(), lambda: server.should_exit)
        config = uvicorn.Config(app, log_level="error", ws="none", timeout_graceful_shutdown=5)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        running.append((server, thread, listening))
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    yield serve
    for server, thread, listening in running:
        server.should_exit = True
        thread.join(30)
        listening.close()
