"""A run is graded lot by lot, and neither the lots nor the processes show in what comes out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resit.cli import lots
from resit.cli.scoring import rules_of, score_folder
from resit.runs.folder import RunFolder

Sit = Callable[..., Any]
Exam = Callable[..., Path]


@pytest.fixture
def two_tasks(tmp_path: Path, exam: Exam, sit: Sit) -> RunFolder:
    answers = tmp_path / "answers.jsonl"
    texts = [{"doc_id": doc, "texts": [f"#### {2 * doc + 2}", f"so {doc}", "\ud800"]} for doc in range(7)]
    answers.write_text("".join(json.dumps(line) + "\n" for line in texts), "utf-8")
    run = tmp_path / "run"
    sit(run, exam(questions=7, repeats=3), exam("more", questions=5), model=f"file={answers},error_docs=2")
    return RunFolder.existing(run)


def derived(folder: RunFolder) -> list[bytes]:
    return [(folder.path / name).read_bytes() for name in ("results.json", "scores.jsonl")]


@pytest.mark.parametrize(("samples", "processes"), [(1, 1), (5, 1), (5, 2), (10_000, 3)])
def test_lots_and_processes_leave_no_trace(
    two_tasks: RunFolder, monkeypatch: pytest.MonkeyPatch, samples: int, processes: int
) -> None:
    before = derived(two_tasks)
    monkeypatch.setattr(lots, "SAMPLES", samples)
    score_folder(two_tasks, rules_of(two_tasks), processes)
    assert derived(two_tasks) == before


def test_a_small_run_and_a_tasks_own_code_stay_in_one_process(
    two_tasks: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []

    class Pool:
        def __init__(self, processes: int, **_: Any) -> None:
            started.append(processes)

        def __enter__(self) -> Pool:
            return self

        def __exit__(self, *_: object) -> None: ...

        map = staticmethod(map)

        def submit(self, *_: Any) -> None: ...

    monkeypatch.setattr(lots, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    rules = rules_of(two_tasks)
    score_folder(two_tasks, rules)
    assert started == []
    monkeypatch.setattr(lots, "WORTH_PROCESSES", 10)
    score_folder(two_tasks, rules)
    monkeypatch.setattr("os.cpu_count", lambda: 128)
    score_folder(two_tasks, rules)
    assert started == [8, 61], "more than Windows can wait for"
    own = {
        name: type(r)(r.filters, r.metrics, process_results=lambda doc, answers: {})
        for name, r in rules.items()
    }
    score_folder(two_tasks, own)
    assert started == [8, 61], "a function of a task file cannot be sent to another process"
