"""Real responses, sampled 64 times a question, elect the answers that lm-eval elects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from resit.cli.lots import graded_task
from resit.cli.scoring import score_folder
from resit.runs.folder import RunFolder
from resit.runs.imports import from_jsonl
from resit.runs.imports.writer import File, Origin, Part, import_run
from resit.tasks import Task, load

FILTERS = ("score-first", "maj@64", "maj@8")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


@pytest.fixture
def task(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Task:
    monkeypatch.setenv("RESIT_MIRROR", str(shared / "mirror"))
    return load(["gsm8k_cot_self_consistency"])[0]


@pytest.fixture
def run(shared: Path, tmp_path: Path, task: Task) -> RunFolder:
    """200 questions x 64 responses, each the logged response that the reference was made with."""
    responses: dict[str, dict[int, str]] = {}
    for path in (shared / "logs").glob("*.jsonl"):
        responses[path.stem] = {line["doc_id"]: line["response"] for line in lines(path)}
    answers = tmp_path / "answers.jsonl"
    with answers.open("w", encoding="utf-8") as file:
        for line in lines(shared / "golden" / "scoring" / "self_consistency.jsonl"):
            texts = [responses[name][line["doc_id"]] for name in line["from"]]
            file.write(json.dumps({"doc_id": line["doc_id"], "responses": texts}) + "\n")
    return import_run(
        tmp_path / "run", Origin("logs", "logs"), [Part(task, [File(answers, from_jsonl.entries(answers))])]
    )


def test_every_elected_answer_and_every_total_is_lm_evals(shared: Path, run: RunFolder, task: Task) -> None:
    expected = {
        line["doc_id"]: line for line in lines(shared / "golden" / "scoring" / "self_consistency.jsonl")
    }
    assert len(expected) == 200
    for item in graded_task(run, task.name, task.rules):
        line = expected[item.question.document.doc_id]
        for name in FILTERS:
            elected = [item.score.answers[name], item.score.metrics[f"exact_match,{name}"]]
            assert elected == line[name], (line["doc_id"], name)
    results = score_folder(run, {task.name: task.rules}, processes=1)
    for name in FILTERS:
        right = sum(line[name][1] for line in expected.values())
        assert results["results"][task.name][f"exact_match,{name}"] == pytest.approx(right / 200)
    assert results["resit"]["tasks"][task.name]["samples"]["scored"] == 200 * 64
