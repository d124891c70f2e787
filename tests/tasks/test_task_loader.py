"""What names stand for: tasks, tags, groups, pairs, patterns, files, folders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from resit import tasks
from resit.errors import UsageError

Write = Callable[[str, str], str]


def names(wanted: list[str], **options: object) -> list[str]:
    return [task.name for task in tasks.load(wanted, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (["gsm8k"], ["gsm8k"]),
        (["gsm8k", "gsm8k_cot", "gsm8k"], ["gsm8k", "gsm8k_cot"]),
        (
            ["self_consistency"],
            ["gsm8k_cot_self_consistency", "gsm8k_direct_maj", "gsm8k_platinum_cot_self_consistency"],
        ),
        (["gsm8k/gsm1k"], ["gsm8k", "gsm1k"]),
        (["gsm8k/gsm8k_platinum"], ["gsm8k", "gsm8k_platinum_paired"]),
        (["mgsm_direct_[de]*"], ["mgsm_direct_de", "mgsm_direct_en", "mgsm_direct_es"]),
    ],
)
def test_a_name_of_the_catalogue(wanted: list[str], found: list[str]) -> None:
    assert names(wanted) == found


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("gsm8k_cott", "Did you mean 'gsm8k_cot'"),
        ("gsm_frsh", "Did you mean 'gsm_fresh'"),
        ("self-consistency", "Did you mean 'self_consistency'"),
        ("zzzz", "there is no task, group or tag 'zzzz'."),
        ("nothing_*", r"there is no task, group or tag 'nothing_\*'."),
        ("gone.yaml", r"cannot read the task file gone\.yaml"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(wanted: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        tasks.load([wanted])


def test_a_path_may_name_a_file_a_pattern_or_a_folder(write: Write, minimal: str, tmp_path: Path) -> None:
    one = write("own/one.yaml", minimal.replace("sums", "one"))
    write("own/two.yaml", minimal.replace("sums", "two"))
    assert names([one]) == ["one"]
    assert names([str(tmp_path / "own" / "*.yaml")]) == ["one", "two"]
    assert names([str(tmp_path / "own")]) == ["one", "two"]


def test_a_file_of_ones_own_goes_before_the_catalogue(write: Write, minimal: str, tmp_path: Path) -> None:
    path = write("deep/mine.yaml", minimal.replace("sums", "gsm8k"))
    (task,) = tasks.load(["gsm8k"], include_path=tmp_path)
    assert task.source == path
    assert names(["gsm8k_cot"], include_path=tmp_path) == ["gsm8k_cot"]


def test_only_files_that_mention_the_name_are_parsed(write: Write, minimal: str, tmp_path: Path) -> None:
    write("broken.yaml", "task: [")
    write("notes.txt", "sums: none of this is a task")
    write("good.yaml", minimal)
    assert names(["sums"], include_path=tmp_path) == ["sums"]


def test_an_include_path_must_be_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--include_path: expected a folder"):
        tasks.load(["gsm8k"], include_path=tmp_path / "gone")


def test_a_tag_reaches_tasks_whose_include_says_it(write: Write, minimal: str, tmp_path: Path) -> None:
    write("base_yaml", minimal.replace("task: sums\n", "tag: arithmetic\n"))
    write("middle_yaml", "include: base_yaml\n")
    write("a.yaml", "include: base_yaml\ntask: a\n")
    write("b.yaml", "include: middle_yaml\ntask: b\n")
    write("c.yaml", f"{minimal.replace('sums', 'c')}tag: [arithmetic, other]\n")
    write("d.yaml", "include: base_yaml\ntask: d\ntag: other\n")
    assert names(["arithmetic"], include_path=tmp_path) == ["a", "b", "c"]
    assert names(["other"], include_path=tmp_path) == ["c", "d"]


GROUP = """\
group: both
group_alias: Both of them
task:
  - sums
  - task: gsm8k
    num_fewshot: 3
  - group: inner
    task: [gsm8k_cot]
  - include: own.yaml
    task: own_two
    num_fewshot: 1
aggregate_metric_list:
  - {metric: exact_match, aggregation: mean, weight_by_size: false}
"""


def test_a_group_names_its_members_and_may_override_their_keys(
    write: Write, minimal: str, tmp_path: Path
) -> None:
    write("own.yaml", minimal)
    write("group.yaml", GROUP)
    found = tasks.select(["both"], include_path=tmp_path)
    assert [task.name for task in found.tasks] == ["sums", "gsm8k", "gsm8k_cot", "own_two"]
    assert [task.config.num_fewshot for task in found.tasks] == [None, 3, 8, 1]
    inner, both = found.groups
    assert (inner.name, inner.members) == ("inner", ("gsm8k_cot",))
    assert (both.name, both.alias) == ("both", "Both of them")
    assert both.members == ("sums", "gsm8k", "inner", "own_two")
    assert both.aggregates[0]["weight_by_size"] is False


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("group: g\ntask: [gsm8k_cott]\n", "Did you mean 'gsm8k_cot'"),
        ("group: g\ntask: [[gsm8k]]\n", "expected a task's name or keys in the group"),
        ("group: g\ntask: [{num_fewshot: 3}]\n", "a member of the group names no task"),
        ("group: [g]\ntask: [gsm8k]\n", "a group needs a name and a list of tasks"),
        ("group: g\ntask: [{task: gsm8k, nm_fewshot: 3}]\n", "unknown key 'nm_fewshot'"),
    ],
)
def test_a_faulty_group_is_refused(write: Write, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        tasks.load([write("g.yaml", text)])


def test_a_group_list_beside_a_task_is_the_old_spelling_of_tags(
    write: Write, minimal: str, tmp_path: Path
) -> None:
    path = write("old.yaml", f"group:\n  - math_word_problems\n  - old\n{minimal}")
    (task,) = tasks.load([path])
    assert task.config.tags == ("math_word_problems", "old")
    assert names(["old"], include_path=tmp_path) == ["sums"]
    assert names(["sums"], include_path=tmp_path) == ["sums"]


def test_two_different_tasks_of_one_name_are_refused(write: Write, minimal: str) -> None:
    one, two = write("one.yaml", minimal), write("two.yaml", minimal)
    with pytest.raises(UsageError, match="two tasks are called 'sums'"):
        tasks.load([one, two])
    assert names([one, one]) == ["sums"]


def test_the_source_of_a_task_can_be_loaded_again(write: Write, minimal: str) -> None:
    for name in ("gsm8k", write("own.yaml", minimal)):
        (task,) = tasks.load([name])
        (again,) = tasks.load([task.source])
        assert again.config == task.config


def test_the_public_surface_is_sorted_and_complete() -> None:
    assert tasks.__all__ == sorted(tasks.__all__)
    assert all(getattr(tasks, name) for name in tasks.__all__)
    with pytest.raises(AttributeError, match="no attribute 'leak'"):
        tasks.leak  # noqa: B018


def test_no_name_at_all_is_refused() -> None:
    with pytest.raises(UsageError, match="expected the name of a task, found none"):
        tasks.load([])
