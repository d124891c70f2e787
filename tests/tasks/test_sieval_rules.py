"""sieval's base protocol reads and judges as sieval does, through the task's own filters and metric."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from resit import grading, tasks
from resit.records import Document, Generation, Question


@pytest.fixture(scope="module")
def vectors(shared: Path) -> list[dict[str, Any]]:
    golden = json.loads((shared / "golden" / "sieval.json").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = golden["base_extract"]
    return found


def scored(task: tasks.Task, text: str, gold: str) -> tuple[dict[str, Any], dict[str, float]]:
    question = Question(task.name, Document(0, "0", {}), "", gold)
    score = grading.score_question(question, [Generation(task.name, 0, "0", 0, 0, text=text)], task.rules)
    return dict(score.answers), dict(score.metrics)


def normalised(task: tasks.Task, answer: str) -> str:
    """What the task's exact_match compares: the answer without what it is told to ignore."""
    for pattern in task.rules.metrics[0].kwargs["regexes_to_ignore"]:
        answer = re.sub(pattern, "", answer)
    return answer.strip().lower()


@pytest.mark.parametrize("name", ["gsm8k_kshot_base_gen", "gsm1k_kshot_base_gen"])
def test_every_base_extract_vector(vectors: list[dict[str, Any]], name: str) -> None:
    (task,) = tasks.load([name])
    half = name.partition("_")[0]
    assert len(vectors) == 55
    for vector in vectors:
        answers, _ = scored(task, vector["text"], "18")
        found = {rule: normalised(task, answers[f"{rule}_exact_match"]) for rule in ("strict", "flexible")}
        assert found == {rule: vector[f"{half}_{rule}"] for rule in ("strict", "flexible")}, vector["text"]


@pytest.mark.parametrize("gold", ["18", "1,234", "-5"])
def test_an_answer_is_right_where_sieval_extracts_the_gold(vectors: list[dict[str, Any]], gold: str) -> None:
    (task,) = tasks.load(["gsm8k_kshot_base_gen"])
    for vector in vectors:
        _, metrics = scored(task, vector["text"], f"So it is.\n#### {gold}")
        for rule in ("strict", "flexible"):
            expected = vector[f"gsm8k_{rule}"] == gold.replace(",", "")
            assert metrics[f"exact_match,{rule}_exact_match"] == expected, vector["text"]
