"""Rows become documents with an identity of their own; exemplars come from where the file says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from resit import tasks
from resit.errors import UsageError
from resit.tasks.documents import doc_hash

Write = Callable[[str, str], str]
Row = dict[str, Any]


def splits(path: str | None, name: str | None, split: str, **options: Any) -> list[Row]:
    return [
        {"question": f"{split} {i % 3}", "answer": str(i % 3), "asked": [path, name, options]}
        for i in range(5)
    ]


def test_a_split_without_documents_is_refused(write: Write, minimal: str) -> None:
    (task,) = tasks.load([write("t.yaml", minimal)], reader=lambda *_, **__: [])
    with pytest.raises(UsageError, match="the split 'test' of task 'sums' holds no documents"):
        task.documents()


def test_a_documents_hash_is_lm_evals() -> None:
    row = {"question": "Wie viele? — 3", "answer": 3, "list": [1, None]}
    text = '{\n  "question": "Wie viele? — 3",\n  "answer": 3,\n  "list": [\n    1,\n    null\n  ]\n}'
    assert doc_hash(row) == hashlib.sha256(text.encode()).hexdigest()
    assert doc_hash({"a": "\ud800"}) != doc_hash({"a": "\udfff"})


def test_copies_of_a_row_are_told_apart(write: Write, minimal: str) -> None:
    (task,) = tasks.load([write("t.yaml", minimal)], reader=splits)
    documents = task.documents()
    assert [document.doc_id for document in documents] == [0, 1, 2, 3, 4]
    first = documents[0].doc_hash
    assert [d.doc_hash for d in documents[:1] + documents[3:4]] == [first, f"{first}#2"]
    assert len({document.doc_hash for document in documents}) == 5
    assert task.documents() is documents


def test_the_reader_is_told_what_the_file_says(write: Write, minimal: str) -> None:
    text = f"{minimal}dataset_name: main\ndataset_kwargs: {{revision: abc, trust_remote_code: true}}\n"
    (task,) = tasks.load([write("t.yaml", text)], reader=splits)
    assert task.documents()[0].fields["asked"] == ["synthetic", "main", {"revision": "abc"}]


@pytest.mark.parametrize(
    ("lines", "first", "holds_documents"),
    [
        ("", "train 0", False),
        ("training_split: null\nvalidation_split: val", "val 0", False),
        ("training_split: null", "test 0", False),
        ("fewshot_split: dev", "dev 0", False),
        ("fewshot_split: test", "test 0", True),
        ("fewshot_config: {split: dev}\nfewshot_split: other", "dev 0", False),
        ("fewshot_config: {samples: [{question: own}]}", "own", False),
        ("fewshot_config: {samples: [{question: own}]}\nfewshot_split: dev", "dev 0", False),
        ("test_split: null\nvalidation_split: val", "train 0", True),
        ("resit: {exemplars: {dataset_path: other, split: far}}", "far 0", False),
    ],
)
def test_where_exemplars_come_from(
    write: Write, minimal: str, lines: str, first: str, holds_documents: bool
) -> None:
    keys = [line.partition(":")[0] for line in lines.splitlines()]
    kept = "".join(f"{x}\n" for x in minimal.splitlines() if x.partition(":")[0] not in keys)
    (task,) = tasks.load([write("t.yaml", f"{kept}{lines}\n")], reader=splits)
    assert task.exemplars.rows[0]["question"] == first
    assert task.exemplars.holds_documents is holds_documents


def test_process_docs_of_the_exemplars_may_be_another(write: Write, minimal: str) -> None:
    write("utils.py", "def one(rows): return rows[:1]\ndef two(rows): return rows[:2]\n")
    text = (
        f"{minimal}process_docs: !function utils.one\nfewshot_config: {{process_docs: !function utils.two}}\n"
    )
    (task,) = tasks.load([write("t.yaml", text)], trust_task_code=True, reader=splits)
    assert (len(task.documents()), len(task.exemplars.rows)) == (1, 2)


def test_samples_and_data_sets_may_be_made_by_code(write: Write, minimal: str) -> None:
    write(
        "utils.py",
        "def shots():\n    return [{'question': 'made'}]\n"
        "def data(**kwargs):\n    return {'test': [{'question': str(kwargs)}]}\n",
    )
    text = (
        f"{minimal}custom_dataset: !function utils.data\nmetadata: {{version: 1}}\n"
        "fewshot_config: {samples: !function utils.shots}\n"
    )
    (task,) = tasks.load([write("t.yaml", text)], trust_task_code=True, reader=splits)
    assert task.exemplars.rows == [{"question": "made"}]
    assert task.documents()[0].fields["question"] == "{'version': 1}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("task: t\ndataset_path: x\n", "names neither a test_split nor a validation_split"),
        ("task: t\ntest_split: test\n", "task 't' has no dataset_path"),
    ],
)
def test_a_task_without_data_is_refused(write: Write, text: str, said: str) -> None:
    (task,) = tasks.load([write("t.yaml", text)], reader=splits)
    with pytest.raises(UsageError, match=said):
        task.documents()


def test_rows_are_read_as_json_keeps_them(write: Write, minimal: str) -> None:
    (task,) = tasks.load([write("t.yaml", minimal)], reader=splits)
    lines = "".join(json.dumps(d.fields, ensure_ascii=False) + "\n" for d in task.documents())
    assert task.identity()["dataset"]["sha256"] == hashlib.sha256(lines.encode()).hexdigest()
