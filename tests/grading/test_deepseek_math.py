"""DeepSeek-Math's rule, by the outputs of the original on the same inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from resit.grading import grade
from resit.grading.deepseek_math import extract_answer, is_correct, strip_string

DIVERGENCES: frozenset[str] = frozenset()
"""Vectors that come out otherwise because of parser versions, by prediction: none is left."""


@pytest.fixture(scope="module")
def golden(shared: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((shared / "golden" / "sieval.json").read_text(encoding="utf-8"))
    return loaded


def test_extraction_as_the_original(golden: dict[str, Any]) -> None:
    cases = golden["deepseek_extract_answer"]
    assert len(cases) == 102
    assert [extract_answer(case["text"]) for case in cases] == [case["out"] for case in cases]


def test_normal_form_as_the_original(golden: dict[str, Any]) -> None:
    cases = golden["deepseek_strip_string"]
    assert [strip_string(case["in"]) for case in cases] == [case["out"] for case in cases]


def test_equality_as_the_original(golden: dict[str, Any]) -> None:
    pytest.importorskip("math_verify")
    cases = [c for c in golden["deepseek_is_correct"] if c["prediction"] not in DIVERGENCES]
    found = [(c["prediction"], c["answer"], is_correct(c["prediction"], c["answer"])) for c in cases]
    assert found == [(c["prediction"], c["answer"], c["out"]) for c in cases]


def test_lm_evals_rules_as_the_original_harness_ports_them(golden: dict[str, Any]) -> None:
    for case in golden["base_extract"]:
        for rule, name in (("lm_eval_strict", "gsm8k_strict"), ("scale", "gsm1k_flexible")):
            extracted = grade(case["text"], "1", rule).extracted or ""
            cleaned = extracted.replace(",", "").replace("$", "").strip().removesuffix(".").strip().lower()
            assert cleaned == case[name], (case, rule)


@pytest.mark.parametrize("tower", ["9^{9^9}", "9^{9^{9}}", "10^{10^{10}}", "\\binom{1000000}{500000}"])
def test_what_hangs_the_original_does_not_hang(tower: str) -> None:
    pytest.importorskip("math_verify")
    assert is_correct(tower, "18") is False


@pytest.mark.parametrize(
    ("text", "extracted"),
    [
        ("\\boxed{7}%", "7}"),
        ("she boxed 7 of them", None),
        ("The answer is 7 hats.", "7hats"),
        ("1/2", "2"),
        ("final answer is $7$. I hope", "7"),
        ("so 7, then 8,000", "8000"),
        ("```output\n7\n``` and 9", "7"),
        ("\\boxed{\\frac12}", "\\frac{1}{2}"),
        ("\\boxed{3/4}", "\\frac{3}{4}"),
        ("\\boxed{0.50}", "0.50"),
        ("\\boxed{7.0}", "7"),
        ("\\boxed{\\sqrt5}", "\\sqrt{5}"),
        ("\\boxed{\\frac1}", "\\frac1"),
        ("The final answer is $1$, no, the final answer is $2$. I hope", "1,no,thefinalansweris2"),
        ("\\boxed{1/x}", "1/x"),
        ("\\boxed{07/4}", "07/4"),
    ],
)
def test_extraction(text: str, extracted: str | None) -> None:
    assert grade(text, "1", "deepseek_math").extracted == extracted


@pytest.mark.parametrize(
    ("prediction", "answer", "equal"),
    [
        ("700", "7", True),
        ("0.07", "7", True),
        ("7.0009", "7", True),
        ("7.001", "7", False),
        ("7%", "7", True),
        ("x%", "7", False),
        ("(1,2)", "[1,2]", True),
        ("(1,2)", "(2,1)", False),
        ("x=7", "7", True),
        ("abc=7", "7", False),
        ("\\frac{14}{2}", "7", True),
        ("2^3", "8", True),
        ("7dollars", "7", False),
        ("", "0", False),
        ("1\\cup2", "2\\cup1", True),
        ("\\begin{pmatrix}1&2\\end{pmatrix}", "\\begin{pmatrix}1&2\\end{pmatrix}", True),
        ("\\begin{pmatrix}1&2\\end{pmatrix}", "\\begin{pmatrix}1.0&2\\end{pmatrix}", True),
        ("\\begin{pmatrix}1&2\\end{pmatrix}", "\\begin{pmatrix}1&3\\end{pmatrix}", False),
    ],
)
def test_equality(prediction: str, answer: str, equal: bool) -> None:
    pytest.importorskip("math_verify")
    assert is_correct(prediction, answer) is equal
