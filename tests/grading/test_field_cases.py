"""Cases from public bug reports, read from the shared folder: every check on answers must hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from resit.grading import grade
from resit.grading.values import read_value
from resit.records import Verdict


def checks_in(shared: Path) -> list[tuple[str, dict[str, Any]]]:
    with (shared / "cases" / "field_cases.jsonl").open("rb") as lines:
        cases = [json.loads(line) for line in lines]
    return [(case["id"], check) for case in cases for check in case.get("checks", [])]


def text_of(content: str | list[dict[str, str]] | None) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content or [])


def judge(check: dict[str, Any]) -> Verdict:
    if check["op"] == "equal":
        return grade(check["pred"], check["gold"])
    if check["op"] == "grade":
        return grade(check["output"], check["gold"], finish_reason=check.get("finish_reason", "stop"))
    assert check["op"] == "grade_response"
    response = check["response"]
    return grade(
        text_of(response["message"]["content"]),
        check["gold"],
        finish_reason=response.get("finish_reason", "stop"),
    )


def test_every_check_holds(shared: Path) -> None:
    pytest.importorskip("math_verify")
    checks = checks_in(shared)
    assert len(checks) == 62
    failed = []
    for name, check in checks:
        verdict = judge(check)
        if bool(verdict.correct) is not check["correct"] or not same_answer(check, verdict):
            failed.append((name, check, verdict))
    assert failed == []


def same_answer(check: dict[str, Any], verdict: Verdict) -> bool:
    """The answer by value: a fraction may be written in LaTeX in the case and as a decimal here."""
    wanted = check.get("answer")
    if wanted is None or wanted == "[invalid]":
        return wanted is None or verdict.extracted is None
    return verdict.extracted is not None and read_value(verdict.extracted) == read_value(wanted)


@pytest.mark.parametrize(
    ("output", "gold_field", "right"),
    [
        ("#### 95000", "60,000+45,000=$<<60000+45000=105000>>105,000\n#### 95000", True),
        ("The answer is -14.", "It fell from 5 to -9\n#### -14", True),
        ("The answer is 14.", "It fell from 5 to -9\n#### -14", False),
        ("#### 27\n\nQues", "27", True),
        ("5", "5", True),
    ],
)
def test_checks_that_the_file_states_in_prose(output: str, gold_field: str, right: bool) -> None:
    assert bool(grade(output, gold_field).correct) is right
