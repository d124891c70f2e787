"""YAML, includes, and where a task file may lie."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from zipfile import ZipFile

import pytest

from resit.errors import UsageError
from resit.tasks.files import Place, parse, read

Write = Callable[[str, str], str]


def test_includes_are_laid_below_the_files_own_keys(write: Write) -> None:
    write("low.yaml", "a: 1\nb: {x: 1, y: 1}\nc: 1\ndropped: 1\n")
    write("parts/high_yaml", "b: {x: 2}\nc: 2\n")
    top = write("top.yaml", "include: [low.yaml, parts/high_yaml]\nc: 3\ndropped: null\n")
    assert read(Place(top)) == {"a": 1, "b": {"x": 2}, "c": 3, "dropped": None}


def test_an_include_is_relative_to_the_file_that_names_it(write: Write) -> None:
    write("base/one.yaml", "include: two.yaml\na: 1\n")
    write("base/two.yaml", "b: 2\n")
    top = write("deep/down/top.yaml", "include: ../../base/one.yaml\n")
    assert read(Place(top)) == {"b": 2, "a": 1}


def test_an_include_may_be_absolute(write: Write) -> None:
    base = write("elsewhere/base.yaml", "a: 1\n")
    assert read(Place(write("top.yaml", f"include: {base}\n"))) == {"a": 1}


def test_only_resits_own_keys_are_merged_one_by_one(write: Write) -> None:
    write("base.yaml", "resit: {about: x, chat: true}\nmetadata: {version: 1, note: x}\n")
    top = write("top.yaml", "include: base.yaml\nresit: {about: y}\nmetadata: {version: 2}\n")
    assert read(Place(top)) == {"resit": {"about": "y", "chat": True}, "metadata": {"version": 2}}


def test_two_ways_to_the_same_include_are_no_cycle(write: Write) -> None:
    write("base.yaml", "a: 1\n")
    write("left.yaml", "include: base.yaml\nb: 1\n")
    write("right.yaml", "include: base.yaml\nc: 1\n")
    assert read(Place(write("top.yaml", "include: [left.yaml, right.yaml]\n"))) == {"a": 1, "b": 1, "c": 1}


def test_a_cycle_is_named(write: Write) -> None:
    top = write("one.yaml", "include: two.yaml\n")
    write("two.yaml", "include: one.yaml\n")
    with pytest.raises(UsageError, match=r"one\.yaml includes itself: one\.yaml -> two\.yaml -> one\.yaml"):
        read(Place(top))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("task: [", r"bad\.yaml: not valid YAML: line \d+: "),
        ("- task", "expected a YAML mapping of task keys, found list"),
        ("", "expected a YAML mapping of task keys, found NoneType"),
        ("1: 2", "expected a YAML mapping of task keys"),
        ("include: 3", "include must be a file name or a list of them, found 3"),
        ("include: gone.yaml", r"cannot read the task file .*gone\.yaml"),
    ],
)
def test_what_is_no_task_file_is_refused_with_its_name(write: Write, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(Place(write("bad.yaml", text)))


def test_scalars_are_those_of_yaml_1_1(write: Write) -> None:
    path = write("old.yaml", "a: yes\nb: off\nc: 0o7\nd: 017\ne: 1e3\nf: 12:30\n")
    assert parse(Place(path)) == {"a": True, "b": False, "c": "0o7", "d": 15, "e": "1e3", "f": 750}


def test_files_are_utf8_whatever_the_locale(write: Write) -> None:
    assert parse(Place(write("x.yaml", "a: Frage — 問題：\n"))) == {"a": "Frage — 問題："}


def test_an_archive_is_read_like_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "tasks.whl"
    with ZipFile(path, "w") as archive:
        archive.writestr("lm_eval/tasks/a/deep/top.yaml", "include: ../base_yaml\nb: 2\n")
        archive.writestr("lm_eval/tasks/a/base_yaml", "a: 1\n")
    top = Place("lm_eval/tasks/a/deep/top.yaml", path)
    assert read(top) == {"a": 1, "b": 2}
    assert str(top) == "lm-eval:a/deep/top.yaml"
    assert [place.name for place in Place("lm_eval/tasks", path).files()] == ["base_yaml", "top.yaml"]
    with pytest.raises(UsageError, match=r"cannot read the task file lm-eval:a/none\.yaml: no such file"):
        top.beside("../none.yaml").read()


@pytest.mark.parametrize(
    "text",
    [
        "metadata: &m {x: *m}\n",
        "metadata: &m [1, *m]\n",
        "a: &a [1, 2, 3, 4, 5, 6, 7, 8]\n"
        + "".join(
            f"{name}: &{name} [{', '.join([f'*{below}'] * 8)}]\n" for below, name in pairwise("abcdefg")
        ),
    ],
)
def test_aliases_that_never_end_or_explode_are_refused(write: Write, text: str) -> None:
    with pytest.raises(UsageError, match=r"bomb\.yaml: not valid YAML: expected at most 1000000 values"):
        parse(Place(write("bomb.yaml", text)))


def test_an_alias_may_repeat_a_part(write: Write) -> None:
    same = parse(Place(write("t.yaml", "a: &a [1, 2]\nb: *a\nc: [*a, *a]\n")))
    assert same == {"a": [1, 2], "b": [1, 2], "c": [[1, 2], [1, 2]]}
