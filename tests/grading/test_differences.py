"""Why rules disagree on a sample, and how many such samples there are."""

from __future__ import annotations

import pytest

from resit.grading import count_kinds, disagreements, score_question
from resit.grading.differences import KINDS
from resit.records import (
    Document,
    FilterChain,
    FilterStep,
    Generation,
    MetricSpec,
    Question,
    SampleScore,
    ScoringRules,
)

NAMED = ("robust", "lm_eval_strict", "lm_eval_strict_cot", "lm_eval_flexible", "deepseek_math")
LAST = FilterChain(
    "flexible",
    (FilterStep("regex", {"regex_pattern": "([0-9]+)", "group_select": -1}), FilterStep("take_first")),
)
RULES = ScoringRules((LAST,), (MetricSpec("exact_match"),), named=NAMED)


def scored(text: str, gold: str, **settings: str) -> tuple[SampleScore, str]:
    generation = Generation("t", 0, "h", 0, 0, text=text, **settings)  # type: ignore[arg-type]
    question = Question("t", Document(0, "h", {}), "", gold)
    return score_question(question, [generation], RULES).samples[0], text


@pytest.mark.parametrize(
    ("text", "gold", "rule", "kind"),
    [
        ("The answer is 18.", "18", "lm_eval_strict", "marker missing"),
        ("#### 18\n\nQuestion: 1+2?\n#### 3", "18", "lm_eval_flexible", "run-on"),
        ("The answer is $118 000.", "118000", "lm_eval_flexible", "separator"),
        ("The answer is $18.00.", "18", "lm_eval_flexible", "format"),
        ("The answer is 18 hours.", "18", "deepseek_math", "unit"),
        ("The answer is 1800.", "18", "deepseek_math", "leniency"),
        ("The answer is 18, not 20.", "18", "lm_eval_flexible", "other number"),
        ("The answer is 4 blue and 6 red.", "6", "lm_eval_flexible", "no single answer"),
        ("The answer is 180", "180", "lm_eval_strict_cot", "cut short"),
    ],
)
def test_the_kind_of_a_disagreement(text: str, gold: str, rule: str, kind: str) -> None:
    found = {one.rule: one.kind for one in disagreements([scored(text, gold)])}
    assert found.get(rule) == kind


def test_a_truncated_response_is_that_kind_whatever_else() -> None:
    found = list(disagreements([scored("so it is 18", "18", finish_reason="length")]))
    assert {one.kind for one in found} == {"truncated"}
    assert not any(one.reference_is_right for one in found)


def test_samples_on_which_the_rules_agree_are_no_disagreements() -> None:
    assert list(disagreements([scored("#### 18\nThe answer is 18. ", "18"), scored("#### 17", "18")])) == []


def test_counts_by_rule_and_kind_in_the_order_of_the_kinds() -> None:
    samples = [
        scored("The answer is 18.", "18"),
        scored("So 18", "18"),
        scored("#### 18\n\nQuestion: 1+2?\n#### 3", "18"),
        scored("The answer is 4 blue and 6 red.", "6"),
    ]
    counts = count_kinds(disagreements(samples))
    assert counts["lm_eval_strict"] == {"marker missing": {"reference_right": 2, "other_right": 0}}
    assert counts["lm_eval_flexible"] == {
        "no single answer": {"reference_right": 0, "other_right": 1},
        "run-on": {"reference_right": 1, "other_right": 0},
    }
    assert all(list(kinds) == sorted(kinds, key=list(KINDS).index) for kinds in counts.values())


def test_a_sample_without_the_reference_rule_is_passed_over() -> None:
    assert list(disagreements([scored("#### 18", "18")], reference="math")) == []
