"""Every prompt of the five GSM8K tasks has the bytes that lm-eval 0.4.13 gives it, asked in five ways."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from resit import prompts, tasks

FIVE = ("gsm8k", "gsm8k_cot", "gsm8k_cot_zeroshot", "gsm8k_cot_self_consistency", "gsm8k_cot_llama")
IN_WHEEL = tuple(f"lm-eval:{name}" for name in FIVE)
VARIANTS = {
    "sys": {"system_instruction": "SYS"},
    "chat_single": {"chat": prompts.ChatOptions(False)},
    "chat_multi": {"chat": prompts.ChatOptions(True)},
    "chat_multi_sys": {"chat": prompts.ChatOptions(True), "system_instruction": "SYS"},
}
ALL_PROMPTS = {
    "gsm8k": "e568d5f4432193c0a60b2d1f87472a2d09d967ee7379c98bc11dce8784a27c30",
    "gsm8k_cot": "6f0351ced30197a6de953c1e8c735bb11069b138b7d058af4beeed9a40575436",
    "gsm8k_cot_self_consistency": "6f0351ced30197a6de953c1e8c735bb11069b138b7d058af4beeed9a40575436",
    "gsm8k_cot_zeroshot": "51a2ce3fd23b62c55b289fee661568acce311bf12ce91a01d963ec536b4aded0",
    "gsm8k_cot_llama": "95bc980d6a902008c12803e5dcb49edc0d50034b430632f5cdde63be59afbce1",
}
"""sha256 over the concatenated sha256 of the 1319 prompts, as lm-eval 0.4.13 gave it."""


def golden(shared: Path, name: str) -> list[dict[str, Any]]:
    lines = (shared / "golden" / "prompts" / f"{name}.jsonl").read_bytes().split(b"\n")
    return [json.loads(line) for line in lines if line]


@pytest.mark.usefixtures("mirror")
@pytest.mark.parametrize("name", [*FIVE, *IN_WHEEL])
def test_all_1319_prompts_and_references(shared: Path, name: str) -> None:
    (task,) = tasks.load([name])
    asked = list(prompts.questions(task))
    expected = golden(shared, name.removeprefix("lm-eval:"))
    assert len(asked) == len(expected) == 1319
    for question, line in zip(asked, expected, strict=True):
        assert question.document.doc_id == line["doc_id"]
        assert prompts.prompt_sha256(question.prompt) == line["prompt_sha256"]
        assert question.target == line["target"]
        assert line.get("prompt") in (None, question.prompt)
    digests = "".join(prompts.prompt_sha256(question.prompt) for question in asked)
    assert hashlib.sha256(digests.encode()).hexdigest() == ALL_PROMPTS[task.name]


@pytest.mark.usefixtures("mirror")
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", [*FIVE, *IN_WHEEL])
def test_three_documents_in_every_other_way(shared: Path, name: str, variant: str) -> None:
    (task,) = tasks.load([name])
    expected = golden(shared, f"{name.removeprefix('lm-eval:')}.{variant}")
    asked = prompts.questions(task, limit=3, **VARIANTS[variant])  # type: ignore[arg-type]
    for question, line in zip(asked, expected, strict=True):
        if isinstance(question.prompt, str):
            assert question.prompt == line["prompt"]
            continue
        recorded = json.loads(line["prompt"])
        assert [{"role": m.role, "content": m.content} for m in question.prompt] == recorded["m"]
        assert (question.prompt[-1].role != "assistant") == recorded["agp"]


@pytest.mark.usefixtures("mirror")
@pytest.mark.parametrize(
    ("name", "begins", "ends"),
    [
        ("gsm8k", "2330f4eb", "78ac7"),
        ("gsm8k_cot", "fc360963", "69b3d0"),
        ("gsm8k_cot_self_consistency", "42aabbb8", "45943"),
    ],
)
def test_lm_evals_task_hash_of_a_full_run(name: str, begins: str, ends: str) -> None:
    """It covers every document, prompt and reference: sha256 over the hex of their three sha256."""
    (task,) = tasks.load([name])
    filters = len(task.rules.filters)
    hashes = "".join(
        q.document.doc_hash
        + prompts.prompt_sha256(q.prompt)
        + hashlib.sha256(str(q.target).encode()).hexdigest()
        for q in prompts.questions(task)
    )
    found = hashlib.sha256((hashes * filters).encode()).hexdigest()
    assert (found[: len(begins)], found[-len(ends) :]) == (begins, ends)


@pytest.mark.usefixtures("mirror")
def test_the_settings_of_generation_are_lm_evals(shared: Path) -> None:
    for name in FIVE:
        (task,) = tasks.load([name])
        line = golden(shared, f"{name}.sys")[0]
        assert task.config.generation_kwargs == line["gen_kwargs"]
        assert task.repeats == line["repeats"]
