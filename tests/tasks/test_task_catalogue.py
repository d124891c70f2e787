"""The catalogue: every task loads, says where it comes from, and the index is what the files say."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from resit import assets, tasks
from resit.grading.robust import robust
from resit.grading.rules import make_policy
from resit.prompts.templates import compiled
from resit.tasks import indexing
from resit.tasks.names import INDEX

CATALOGUE = tasks.load(list(tasks.index()))
REQUIRED = """
    gsm8k gsm8k_cot gsm8k_cot_zeroshot gsm8k_cot_self_consistency gsm8k_cot_llama gsm8k_fixed
    gsm1k gsm1k_cot gsm1k_fixed gsm8k_direct_maj gsm_hard svamp gsm_fresh gsm_fresh_chat gsm_fresh_paired
    gsm8k_kshot_base_gen gsm8k_0shot_gen gsm1k_kshot_base_gen gsm1k_0shot_gen
    gsm8k_platinum gsm8k_platinum_cot gsm8k_platinum_cot_zeroshot gsm8k_platinum_cot_self_consistency
    gsm8k_platinum_cot_llama gsm8k_platinum_paired
"""


def test_the_index_is_what_the_files_say() -> None:
    """If this fails: python -m resit.tasks.indexing"""
    assert json.loads(INDEX.read_text(encoding="utf-8")) == indexing.built()


def test_the_catalogue_holds_what_it_promises() -> None:
    assert set(REQUIRED.split()) <= set(tasks.index())
    languages = {"bn", "de", "en", "es", "fr", "ja", "ru", "sw", "te", "th", "zh"}
    for kind in ("direct", "native_cot", "en_cot"):
        assert {f"mgsm_{kind}_{language}" for language in languages} <= set(tasks.index())
    assert {"gsm8k/gsm1k", "gsm8k/gsm8k_platinum", "gsm8k/gsm_fresh"} <= set(tasks.pairs())


@pytest.mark.parametrize("task", CATALOGUE, ids=lambda task: task.name)
def test_a_task_says_where_it_comes_from(task: tasks.Task) -> None:
    config, own = task.config, task.config.resit
    known = {path for a in assets.catalogue().values() for d in a.datasets for path in (d.path, *d.aliases)}
    assert 0 < len(own.about) <= 100
    assert own.reference or own.deviations
    assert own.record or own.status == "experimental"
    assert config.dataset_path in known or config.dataset_path == "resit/gsm_fresh"
    assert len(config.tags) > 0


@pytest.mark.parametrize("task", CATALOGUE, ids=lambda task: task.name)
def test_the_headline_is_something_that_the_task_measures(task: tasks.Task) -> None:
    rules = task.rules
    metric, _, name = rules.headline.partition(",")
    assert metric in [spec.name for spec in rules.metrics]
    assert name in [*(chain.name for chain in rules.filters), *rules.named]


@pytest.mark.parametrize("language", ["de", "es", "fr", "ru"])
def test_numbers_are_read_as_the_language_of_the_reasoning_writes_them(language: str) -> None:
    own, english = (
        make_policy(task.rules.options)
        for task in tasks.load([f"mgsm_native_cot_{language}", f"mgsm_en_cot_{language}"])
    )
    for text, policy, value in [
        ("The answer is 1.250.", own, "1250"),
        ("The answer is 1.250.", english, "1.25"),
        ("The answer is 1,250.", english, "1250"),
        ("Die Antwort ist 1.250.", english, "1250"),
    ]:
        assert robust(text, value, policy, truncated=False).correct == 1, text


@pytest.mark.parametrize("task", CATALOGUE, ids=lambda task: task.name)
def test_templates_compile_and_names_are_the_files(task: tasks.Task) -> None:
    config = task.config
    for key in ("doc_to_text", "doc_to_target"):
        for template in (getattr(config, key), config.for_shots(key)):
            assert isinstance(template, str)
            assert compiled(template)
    assert task.source.endswith(f"{task.name}.yaml")


def test_tags_are_lm_evals_for_its_five_tasks() -> None:
    found = {task.name: task.config.tags for task in CATALOGUE}
    assert found["gsm8k"] == found["gsm8k_cot_zeroshot"] == ("math_word_problems",)
    assert found["gsm8k_cot"] == found["gsm8k_cot_llama"] == ("chain_of_thought",)
    assert found["gsm8k_cot_self_consistency"] == ("chain_of_thought", "self_consistency")


def test_two_variants_do_not_share_a_tag() -> None:
    """FC-CFG-04: lm-eval gives MGSM's English reasoning the tag of the native one."""
    assert tasks.tags()["mgsm_cot_native"] == tuple(
        n for n in tasks.index() if n.startswith("mgsm_native_cot_")
    )
    assert tasks.tags()["mgsm_cot_en"] == tuple(n for n in tasks.index() if n.startswith("mgsm_en_cot_"))


def test_no_exemplar_or_question_stands_in_the_catalogue() -> None:
    for task in CATALOGUE:
        assert task.config.fewshot_config.samples is None


def test_listing_imports_nothing_heavy() -> None:
    code = (
        "import sys; from resit.tasks import index, pairs, tags; index(), pairs(), tags(); "
        "print([m for m in ('pydantic', 'jinja2', 'numpy', 'yaml', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
