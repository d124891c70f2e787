"""Every key of the dialect is known; every other is refused with the file and the nearest known key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from resit.errors import UsageError
from resit.tasks import load
from resit.tasks.dialect import FewshotKeys, TaskConfig, task_config

Write = Callable[[str, str], str]

LM_EVAL_KEYS = """
    task task_alias tag custom_dataset dataset_path dataset_name dataset_kwargs training_split
    validation_split test_split fewshot_split process_docs doc_to_text doc_to_target doc_to_image
    doc_to_audio unsafe_code doc_to_choice process_results use_prompt description target_delimiter
    fewshot_delimiter fewshot_config num_fewshot metric_list output_type generation_kwargs repeats
    filter_list should_decontaminate doc_to_decontamination_query gen_prefix metadata
"""
LM_EVAL_FEWSHOT_KEYS = """
    sampler split process_docs fewshot_indices samples doc_to_text doc_to_choice doc_to_target gen_prefix
    fewshot_delimiter target_delimiter
"""


def test_the_dialect_is_lm_evals_and_one_key_of_our_own() -> None:
    assert set(TaskConfig.model_fields) == {*LM_EVAL_KEYS.split(), "resit"}
    assert set(FewshotKeys.model_fields) == set(LM_EVAL_FEWSHOT_KEYS.split())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("doc_to_txt: x", "unknown key 'doc_to_txt'; the nearest known key is 'doc_to_text'"),
        ("num_fewshots: 5", "unknown key 'num_fewshots'; the nearest known key is 'num_fewshot'"),
        (
            "fewshot_config: {smpler: x}",
            "unknown key 'fewshot_config.smpler'; the nearest known key is 'sampler'",
        ),
        ("resit: {abuot: x}", "unknown key 'resit.abuot'; the nearest known key is 'about'"),
        (
            "resit: {exemplars: {aset: x}}",
            "unknown key 'resit.exemplars.aset'; the nearest known key is 'asset'",
        ),
        ("num_fewshot: many", "num_fewshot: input should be a valid integer"),
        ("repeats: 0", "repeats: input should be greater than or equal to 1, found 0"),
        ("num_fewshot: -1", "num_fewshot: input should be greater than or equal to 0, found -1"),
        ("output_type: loglikelihood", "output_type: expected 'generate_until', found 'loglikelihood'"),
        ("use_prompt: promptsource:x", "use_prompt: Resit has no promptsource prompts"),
        ("doc_to_image: image", "doc_to_image: Resit has no images"),
        ("resit: {exemplars: {at: x}}", "expected either asset or dataset_path"),
        ("class: mine.Task", "tasks written as a Python class are not supported"),
    ],
)
def test_a_faulty_key_is_named_with_its_file(write: Write, minimal: str, line: str, said: str) -> None:
    path = write("faulty.yaml", f"{minimal}{line}\n")
    with pytest.raises(UsageError) as caught:
        load([path])
    assert said in str(caught.value)
    assert str(caught.value).startswith(path)


def test_a_task_needs_a_name() -> None:
    with pytest.raises(UsageError, match="task: field required"):
        task_config({"doc_to_text": "x"}, "f")


@pytest.mark.parametrize(
    ("keys", "asked", "shots"),
    [
        ("{test_split: test, validation_split: val}", "test", None),
        ("{validation_split: val}", "val", None),
        ("{test_split: test, fewshot_split: train}", "test", "train"),
        ("{test_split: test, fewshot_split: train, fewshot_config: {split: dev}}", "test", "dev"),
        ("{training_split: train}", None, None),
    ],
)
def test_which_splits_are_asked_and_shown(keys: str, asked: str | None, shots: str | None) -> None:
    config = task_config({"task": "t", **yaml.safe_load(keys)}, "f")
    assert (config.asked_split, config.shot_split) == (asked, shots)


@pytest.mark.parametrize(
    ("own", "expected"),
    [({}, "task's"), ({"target_delimiter": "own"}, "own"), ({"target_delimiter": ""}, ""), (None, "task's")],
)
def test_exemplars_are_worded_as_the_task_unless_they_say_otherwise(own: Any, expected: str) -> None:
    config = task_config({"task": "t", "target_delimiter": "task's", "fewshot_config": own}, "f")
    assert config.for_shots("target_delimiter") == expected


def test_defaults_are_lm_evals() -> None:
    config = task_config({"task": "t"}, "f")
    assert (config.target_delimiter, config.fewshot_delimiter, config.description) == (" ", "\n\n", "")
    assert (config.repeats, config.output_type, config.num_fewshot) == (1, "generate_until", None)
