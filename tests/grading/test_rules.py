"""The registry of named rules, their options, and grading as a library."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from resit import grading
from resit.errors import UsageError
from resit.grading import RULES, Policy, grade, grade_many, make_policy
from resit.grading.rules import RECALL_RULES


def test_the_public_surface_is_sorted_and_complete() -> None:
    assert sorted(grading.__all__) == grading.__dir__()
    for name in grading.__all__:
        assert getattr(grading, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        grading.nothing  # noqa: B018


def test_importing_it_loads_no_heavy_library() -> None:
    code = (
        "import sys; import resit.grading; from resit.grading import grade; grade('#### 5', '5');"
        "heavy = 'numpy', 'scipy', 'sympy', 'math_verify', 'pydantic', 'rich';"
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("rule", [name for name in RULES if name not in ("math", "program", *RECALL_RULES)])
def test_every_rule_answers_under_its_own_name(rule: str) -> None:
    verdict = grade("The final answer is 18. The answer is 18.\n#### 18", "18", rule)
    assert (verdict.rule, verdict.extracted, verdict.correct) == (rule, verdict.extracted, 1.0)


def test_a_rule_of_lm_evals_says_whether_it_matched_and_where() -> None:
    right, wrong, none = (grade(answer, "18", "lm_eval_strict") for answer in ("#### 18", "#### 19", "18"))
    assert (right.correct, right.reason, right.span) == (1.0, "matched", (5, 7))
    assert (wrong.correct, wrong.reason, wrong.extracted) == (0.0, "matched", "19")
    assert (none.correct, none.reason, none.span) == (0.0, "no match", None)


@pytest.mark.parametrize("rule", RECALL_RULES)
def test_a_rule_of_recall_wants_the_text_itself(rule: str) -> None:
    assert grade("18 and more", "18", rule).correct == 1
    assert grade("The answer is 18.", "18", rule).correct == 0


@pytest.mark.parametrize("rule", [name for name in RULES if name != "math"])
@pytest.mark.parametrize("answer", [None, "", "\0", "\ud800"])
def test_no_response_is_no_answer(rule: str, answer: str | None) -> None:
    verdict = grade(answer, "18", rule)
    assert (verdict.extracted, verdict.correct, verdict.span) == (None, 0.0, None)
    assert verdict.reason


def test_an_unknown_rule_gets_a_suggestion() -> None:
    with pytest.raises(UsageError) as raised:
        grade("1", "1", "lm-eval-strickt")
    assert raised.value.hint == "did you mean 'lm_eval_strict'?"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"langauge": "de"}, "grading option 'langauge' is not known"),
        ({"language": "german"}, "language must be a code"),
        ({"language": False}, "language must be a code"),
        ({"tolerance": "much"}, "tolerance must be a number"),
        ({"tolerance": -1}, "tolerance must be a number"),
        ({"gold": "last"}, "gold must be"),
        ({"reasoning_tags": [["<a>"]]}, "reasoning_tags must be pairs"),
        ({"reasoning_tags": [["<a>", ""]]}, "reasoning_tags must be pairs"),
        ({"reasoning_tags": 5}, "reasoning_tags must be pairs"),
    ],
)
def test_a_bad_option_is_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        make_policy(options)
    assert message in str(raised.value)


def test_options_become_a_policy() -> None:
    assert make_policy({}) == Policy()
    made = make_policy(
        {"tolerance": "0.01", "gold": "after A:", "language": "fr", "reasoning_tags": [["<r>", "</r>"]]}
    )
    assert made == Policy("fr", Fraction(1, 100), "A:", (("<r>", "</r>"),))
    assert make_policy({"gold": "whole"}).gold_marker == ""


@pytest.mark.parametrize(
    ("answer", "gold", "options", "right"),
    [
        ("The answer is 0.33.", "1/3", {}, False),
        ("The answer is 0.33.", "1/3", {"tolerance": "0.01"}, True),
        ("The answer is 0.32.", "1/3", {"tolerance": "0.01"}, False),
        ("Zusammen 1.250 Euro", "1250", {}, False),
        ("Zusammen 1.250 Euro", "1250", {"language": "de"}, True),
        ("Zusammen 1,5 Liter", "1.5", {"language": "de"}, True),
        ("Antwort: 1.250", "1250", {"language": "en"}, False),
        ("<r>4</r>5", "5", {"reasoning_tags": [["<r>", "</r>"]]}, True),
        ("<r>5", "5", {"reasoning_tags": [["<r>", "</r>"]]}, False),
        ("<r>5", "5", {}, True),
        ("#### 18", "9 + 9\nA: 18", {"gold_marker": "A:"}, True),
        ("#### 18", "9 + 9\nA: 18", {}, True),
        ("so it is 18", "18", {"finish_reason": "length"}, False),
        ("#### 18\n\nQuestion: If", "18", {"finish_reason": "length"}, True),
        ("The answer is 18", "18", {"finish_reason": "length"}, False),  # perhaps 180
        ("The answer is 18.", "18", {"finish_reason": "length"}, True),
    ],
)
def test_options_change_the_verdict(answer: str, gold: str, options: dict[str, Any], right: bool) -> None:
    assert bool(grade(answer, gold, **options).correct) is right


def test_grade_many_is_lazy_and_in_order() -> None:
    def pairs() -> Any:
        yield "#### 1", "1"
        yield None, "2"
        raise RuntimeError("not taken yet")

    verdicts = grade_many(pairs())
    assert [next(verdicts).correct, next(verdicts).correct] == [1.0, 0.0]
    with pytest.raises(RuntimeError):
        next(verdicts)
    with pytest.raises(UsageError):
        grade_many([], "nonsense")


@pytest.mark.parametrize("rule", ["gsm8k", "robust"])
def test_the_published_replays_are_reproduced(shared: Path, rule: str) -> None:
    with (shared / "mirror" / "gsm8k" / "example_model_solutions.jsonl").open("rb") as lines:
        rows = [json.loads(line) for line in lines]
    right = {}
    for model in ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"):
        verdicts = [bool(grade(row[model]["solution"], row["ground_truth"], rule).correct) for row in rows]
        assert verdicts == [row[model]["is_correct"] for row in rows]
        right[model] = sum(verdicts)
    assert list(right.values()) == [286, 515, 458, 742]
