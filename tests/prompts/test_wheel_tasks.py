"""Task files load unchanged out of lm-eval's wheel, by name, tag, group and path.

That their prompts are lm-eval's, too, is shown by `tests/reference/compare_prompts.py`, which needs lm-eval.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any
from zipfile import ZipFile

import pytest

from resit import assets, tasks
from resit.errors import UsageError

pytestmark = pytest.mark.usefixtures("wheel")

FAMILIES = {
    "gsm8k": 5,
    "gsm8k_platinum": 5,
    "gsm_plus": 2,
    "mgsm": 33,
    "aime": 3,
    "hendrycks_math": 9,
    "hrm8k": 12,
    "llama3/instruct/gsm8k": 1,
    "minerva_math": 8,
}
"""Folders of the wheel's tasks and the YAML files in each."""


LANGUAGES = ("bn", "de", "en", "es", "fr", "ja", "ru", "sw", "te", "th", "zh")


def has_antlr() -> bool:
    try:
        return version("antlr4-python3-runtime").startswith("4.11")
    except PackageNotFoundError:
        return False


def paths(folder: str) -> list[str]:
    with ZipFile(assets.fetch("lm-eval", assets.asset("lm-eval").archive)) as archive:
        prefix = f"lm_eval/tasks/{folder}/"
        found = [n for n in archive.namelist() if n.startswith(prefix) and n.endswith(".yaml")]
    return [f"lm-eval:{name.removeprefix('lm_eval/tasks/')}" for name in sorted(found)]


@pytest.mark.parametrize("folder", FAMILIES)
def test_a_family_loads_unchanged(folder: str) -> None:
    if folder == "minerva_math" and not has_antlr():
        pytest.skip("its code wants antlr4-python3-runtime 4.11, as lm_eval[math] installs it")
    names = paths(folder)
    assert len(names) == FAMILIES[folder]
    for name in names:
        found = tasks.select([name], trust_task_code=True)
        assert found.tasks
        if not found.groups:
            assert [task.source for task in found.tasks] == [name]


def test_code_that_lacks_a_package_says_which() -> None:
    if has_antlr():
        pytest.skip("the package is installed")
    with pytest.raises(UsageError, match=r"lm-eval:minerva_math/utils\.py: the task's code cannot be loaded"):
        tasks.load(["lm-eval:minerva_math_algebra"], trust_task_code=True)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("gsm8k_cot_llama", ["gsm8k_cot_llama"]),
        ("asdiv_cot_llama", ["asdiv_cot_llama"]),
        ("gsm8k_llama", ["gsm8k_llama"]),
        ("gsm_plus_mini", ["gsm_plus_mini"]),
        ("hrm8k", ["hrm8k_gsm8k", "hrm8k_ksm", "hrm8k_math", "hrm8k_mmmlu", "hrm8k_omni_math"]),
        ("mgsm_direct", [f"mgsm_direct_{language}" for language in sorted([*LANGUAGES, "es_spanish_bench"])]),
        ("gsm8k/gsm8k-cot.yaml", ["gsm8k_cot"]),
    ],
)
def test_a_name_of_the_wheel(name: str, found: list[str]) -> None:
    loaded = tasks.load([f"lm-eval:{name}"], trust_task_code=True)
    assert [task.name for task in loaded] == found
    assert all(task.source.startswith("lm-eval:") for task in loaded)
    (again,) = tasks.load([loaded[0].source], trust_task_code=True)
    assert again.config.model_dump(exclude={"doc_to_text", "doc_to_target"}, warnings=False)


def test_a_group_of_the_wheel_keeps_its_aggregates() -> None:
    (group,) = tasks.select(["lm-eval:hendrycks_math"], trust_task_code=True).groups
    assert len(group.members) == 7
    assert group.aggregates == ({"metric": "exact_match", "aggregation": "mean", "weight_by_size": True},)


def test_an_unknown_name_of_the_wheel_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no task, group or tag 'gsm8kk'"):
        tasks.load(["lm-eval:gsm8kk"])


def test_code_of_the_wheel_is_not_run_unasked() -> None:
    with pytest.raises(
        UsageError, match=r"lm-eval:hendrycks_math/hendrycks_math_algebra\.yaml: the task names"
    ):
        tasks.load(["lm-eval:hendrycks_math_algebra"])


def rows(path: str, name: str | None, split: str, **options: Any) -> list[dict[str, Any]]:
    return [{"question": f"{split} {i}?", "answer": f"so\n#### {i}"} for i in range(9)]


FOLLOWING = {
    task.name: f"lm-eval:{task.config.resit.reference.file.removeprefix('lm_eval/tasks/')}"
    for task in tasks.load(list(tasks.index()))
    if task.config.resit.reference and "lm-eval 0.4.13" in task.config.resit.reference.pinned
}
"""By task of the catalogue the file of the wheel that it follows."""


@pytest.mark.parametrize("name", FOLLOWING)
def test_rules_and_settings_are_those_of_the_file_that_is_followed(name: str) -> None:
    (ours,), (theirs,) = tasks.load([name]), tasks.load([FOLLOWING[name]])
    assert ours.rules.filters == theirs.rules.filters
    assert ours.rules.metrics == theirs.rules.metrics
    assert ours.sampling() == theirs.sampling()
    assert ours.repeats == theirs.repeats
    assert ours.config.target_delimiter == theirs.config.target_delimiter
    assert ours.config.num_fewshot == theirs.config.num_fewshot


def test_lm_evals_tasks_are_followed() -> None:
    assert len(FOLLOWING) == 44
    assert {"gsm8k", "gsm8k_platinum_cot_llama", "mgsm_native_cot_ja"} <= set(FOLLOWING)


@pytest.mark.parametrize("pair", ["gsm8k_cot/gsm1k_cot", "gsm8k_cot/gsm8k_platinum_cot"])
def test_pairs_with_the_wheels_exemplars_are_symmetric(pair: str) -> None:
    first, second = tasks.load([pair], reader=rows)
    assert tasks.check_pair(first, second) == tasks.protocol_digest(first)
