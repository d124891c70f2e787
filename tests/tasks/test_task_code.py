"""Python that a task file names runs only when it is trusted, and is found where lm-eval finds it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from resit.errors import UsageError
from resit.tasks import load
from resit.tasks.rowset import RowSet

Write = Callable[[str, str], str]
Reader = Callable[..., list[dict[str, Any]]]

CODE = """\
from __future__ import annotations
import datasets

def double(doc: dict) -> str:
    return doc["question"] * 2

def keep_even(rows: datasets.Dataset) -> datasets.Dataset:
    return rows.filter(lambda row: int(row["target"]) % 2 == 0).map(lambda row: {"extra": 1})

def broken(doc):
    return doc["no such column"]

not_callable = 3
"""


def test_code_is_refused_unless_trusted(write: Write, minimal: str, reader: Reader) -> None:
    write("utils.py", "raise SystemExit('this ran')")
    path = write("t.yaml", f"{minimal}process_docs: !function utils.keep_even\n")
    with pytest.raises(UsageError) as caught:
        load([path], reader=reader)
    assert str(caught.value).startswith(f"{path}: the task names the Python function 'utils.keep_even'")
    assert "--trust-task-code" in caught.value.hint


def test_trusted_code_processes_documents(write: Write, minimal: str, reader: Reader) -> None:
    write("utils.py", CODE)
    path = write("t.yaml", f"{minimal}process_docs: !function utils.keep_even\n")
    (task,) = load([path], trust_task_code=True, reader=reader)
    assert [document.fields["target"] for document in task.documents()] == [0.0, 2.0]
    assert all(document.fields["extra"] == 1 for document in task.documents())
    assert "datasets" not in sys.modules or hasattr(sys.modules["datasets"], "load_dataset")


def test_code_of_an_included_file_lies_beside_that_file(write: Write, minimal: str, reader: Reader) -> None:
    write("base/pkg/utils.py", CODE)
    write("base/base.yaml", f"{minimal}doc_to_text: !function pkg.utils.double\n")
    write("pkg/utils.py", "raise SystemExit('the wrong one')")
    (task,) = load(
        [write("t.yaml", "include: base/base.yaml\ntask: t\n")], trust_task_code=True, reader=reader
    )
    assert task.config.doc_to_text({"question": "x"}) == "xx"  # type: ignore[operator, misc]


def test_code_may_come_from_an_installed_package(write: Write, minimal: str, reader: Reader) -> None:
    path = write("t.yaml", minimal.replace('"{{question}}"', "!function json.dumps"))
    (task,) = load([path], trust_task_code=True, reader=reader)
    assert task.config.doc_to_text({"a": 1}) == '{"a": 1}'  # type: ignore[operator, misc]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("utils.nothing", "has no function 'nothing'"),
        ("utils.not_callable", "has no function 'not_callable'"),
        ("absent.f", r"no absent\.py beside the file, and No module named 'absent'"),
        (
            "failing.f",
            r"failing\.py: the task's code cannot be loaded: ModuleNotFoundError: No module named 'no_such",
        ),
        ("syntax.f", r"syntax\.py: the task's code cannot be loaded: SyntaxError"),
    ],
)
def test_code_that_cannot_be_had_is_named(write: Write, minimal: str, name: str, said: str) -> None:
    write("utils.py", CODE)
    write("failing.py", "import no_such_package_anywhere")
    write("syntax.py", "def f(:")
    path = write("t.yaml", f"{minimal}process_docs: !function {name}\n")
    with pytest.raises(UsageError, match=said):
        load([path], trust_task_code=True)


def test_a_failing_function_is_named_with_its_file(write: Write, minimal: str, reader: Reader) -> None:
    source = write("utils.py", CODE)
    path = write("t.yaml", minimal.replace('"{{question}}"', "!function utils.broken"))
    (task,) = load([path], trust_task_code=True, reader=reader)
    with pytest.raises(UsageError, match=r"utils\.broken raised KeyError: 'no such column'") as caught:
        task.config.doc_to_text({})  # type: ignore[operator, misc]
    assert str(caught.value).startswith(source)


def test_changed_code_changes_the_identity(write: Write, minimal: str, reader: Reader) -> None:
    seen = []
    for comment in ("# one\n", "# two\n"):
        write("utils.py", CODE + comment)
        path = write(f"t{len(seen)}/t.yaml", minimal.replace('"{{question}}"', "!function utils.double"))
        write(f"t{len(seen)}/utils.py", CODE + comment)
        (task,) = load([path], trust_task_code=True, reader=reader)
        seen.append(task.identity()["doc_to_text"])
    assert seen[0] != seen[1]
    assert all(text.startswith("!function utils.double sha256:") for text in seen)


def test_row_sets_do_what_process_docs_asks_of_them() -> None:
    rows = RowSet([{"a": i, "b": str(i)} for i in range(4)])

    def pop(row: dict[str, Any]) -> dict[str, Any]:
        row.pop("b")
        return {"c": row["a"] + 1}

    assert rows.map(pop)[1] == {"a": 1, "c": 2}
    assert rows[1] == {"a": 1, "b": "1"}
    assert rows.map(lambda row, i: {"i": i}, with_indices=True)[3]["i"] == 3
    assert rows.filter(lambda row, i: i > 2, with_indices=True) == [{"a": 3, "b": "3"}]
    assert rows.select([2, 0]) == [{"a": 2, "b": "2"}, {"a": 0, "b": "0"}]
    assert rows.rename_column("a", "z").column_names == ["z", "b"]
    assert rows.remove_columns("a").column_names == ["b"]
    assert rows.add_column("d", [9, 8, 7, 6])[3]["d"] == 6
    assert [row["a"] for row in rows.shuffle(seed=42)] == [3, 2, 1, 0]
    assert rows.to_list() == [{"a": i, "b": str(i)} for i in range(4)]
