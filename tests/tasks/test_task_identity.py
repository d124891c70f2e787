"""What decides the questions is in the identity, what decides their grading is not; pairs are symmetric."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from resit import tasks
from resit.errors import UsageError

Write = Callable[[str, str], str]
Reader = Callable[..., list[dict[str, Any]]]

BASE = {
    "task": "t",
    "dataset_path": "synthetic",
    "test_split": "test",
    "fewshot_split": "train",
    "num_fewshot": 2,
    "doc_to_text": "{{question}}",
    "doc_to_target": "{{answer}}",
}


def identity(write: Write, reader: Reader, **keys: Any) -> dict[str, Any]:
    (task,) = tasks.load([write("t.yaml", json.dumps({**BASE, **keys}))], reader=reader)
    return task.identity()


CONTENT = [
    {"doc_to_text": "Q: {{question}}"},
    {"doc_to_target": "{{target}}"},
    {"description": "Be brief."},
    {"target_delimiter": ""},
    {"fewshot_delimiter": "\n"},
    {"gen_prefix": "A:"},
    {"num_fewshot": 3},
    {"fewshot_split": "dev"},
    {"fewshot_config": {"sampler": "first_n"}},
    {"fewshot_config": {"doc_to_text": "E: {{question}}"}},
    {"generation_kwargs": {"max_gen_toks": 9}},
    {"repeats": 2},
    {"test_split": "other"},
    {"dataset_name": "other"},
    {"resit": {"chat": True}},
    {"resit": {"exemplars": {"dataset_path": "elsewhere", "split": "far"}}},
]
GRADING = [
    {"filter_list": [{"name": "x", "filter": [{"function": "take_first"}]}]},
    {"metric_list": [{"metric": "exact_match", "ignore_case": True}]},
    {"tag": "x", "task_alias": "T"},
    {"metadata": {"version": 9}},
    {"should_decontaminate": True, "doc_to_decontamination_query": "{{question}}"},
    {"resit": {"about": "x", "headline": "exact_match,none", "rules": ["gsm8k"]}},
]


@pytest.mark.parametrize("keys", CONTENT, ids=json.dumps)
def test_what_changes_the_questions_changes_the_identity(
    write: Write, reader: Reader, keys: dict[str, Any]
) -> None:
    assert identity(write, reader, **keys) != identity(write, reader)


@pytest.mark.parametrize("keys", GRADING, ids=json.dumps)
def test_what_changes_the_grading_does_not(write: Write, reader: Reader, keys: dict[str, Any]) -> None:
    assert identity(write, reader, **keys) == identity(write, reader)


def test_an_identity_is_json_and_names_its_data(write: Write, reader: Reader) -> None:
    found = identity(write, reader)
    assert json.loads(json.dumps(found)) == found
    assert found["dataset"]["rows"] == 4
    assert found["exemplars"]["source"]["split"] == "train"
    assert len(found["exemplars"]["sha256"]) == len(found["dataset"]["sha256"]) == 64


def test_a_changed_row_changes_the_identity(write: Write, reader: Reader) -> None:
    def other(*args: Any, **options: Any) -> list[dict[str, Any]]:
        rows = reader(*args, **options)
        return [*rows[:-1], {**rows[-1], "question": "another"}]

    one, two = identity(write, reader), identity(write, other)
    assert one["dataset"]["sha256"] != two["dataset"]["sha256"]
    assert one["exemplars"]["sha256"] != two["exemplars"]["sha256"]


WITHOUT_WHEEL = [name for name, pair in tasks.pairs().items() if not pair.seen.endswith("_cot")]


@pytest.mark.parametrize("name", WITHOUT_WHEEL)
def test_a_declared_pair_differs_in_its_questions_only(reader: Reader, name: str) -> None:
    def told_apart(path: str | None, *args: Any, **options: Any) -> list[dict[str, Any]]:
        return [{**row, "question": f"{path}: {row['question']}"} for row in reader(path, *args, **options)]

    first, second = tasks.load([name], reader=told_apart)
    assert tasks.check_pair(first, second) == tasks.protocol_digest(second)
    assert first.identity()["dataset"] != second.identity()["dataset"]
    assert first.rules == second.rules


@pytest.mark.parametrize(
    ("keys", "field"),
    [
        ({"num_fewshot": 1}, "num_fewshot: 2 against 1"),
        ({"doc_to_text": "Q: {{question}}"}, 'doc_to_text: "{{question}}" against "Q: {{question}}"'),
        ({"fewshot_split": "dev"}, 'exemplars.source.split: "train" against "dev"'),
        ({"generation_kwargs": {"max_gen_toks": 9}}, "generation_kwargs"),
        ({"filter_list": [{"name": "x", "filter": [{"function": "take_first"}]}]}, "filters.none"),
        ({"metric_list": [{"metric": "exact_match", "ignore_case": True}]}, "metrics.exact_match"),
        ({"resit": {"headline": "exact_match,none"}}, 'headline: "" against "exact_match,none"'),
        ({"resit": {"rules": ["gsm8k"]}}, 'rules: ["robust"] against ["gsm8k"]'),
        ({"resit": {"options": {"tolerance": 1}}}, "options.tolerance: null against 1"),
        ({"repeats": 2}, "repeats: 1 against 2"),
    ],
)
def test_halves_that_differ_in_more_are_refused_by_name(
    write: Write, reader: Reader, keys: dict[str, Any], field: str
) -> None:
    one = write("one.yaml", json.dumps(BASE))
    two = write("two.yaml", json.dumps({**BASE, "task": "u", **keys}))
    first, second = tasks.load([one, two], reader=reader)
    with pytest.raises(UsageError) as caught:
        tasks.check_pair(first, second)
    assert "t and u are no pair" in str(caught.value)
    assert field in str(caught.value)
    assert tasks.protocol_digest(first) != tasks.protocol_digest(second)


def test_lm_evals_platinum_is_no_half_of_a_pair(reader: Reader) -> None:
    first, second = tasks.load(["gsm8k", "gsm8k_platinum"], reader=reader)
    with pytest.raises(UsageError, match=r"exemplars\.source\.dataset_path"):
        tasks.check_pair(first, second)
