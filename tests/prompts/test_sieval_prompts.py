"""Exemplar rows, prompts and references of sieval's protocols, as sieval itself gave them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from resit import prompts, tasks
from resit.prompts.exemplars import chooser

pytestmark = pytest.mark.usefixtures("mirror")


@pytest.fixture(scope="module")
def golden(shared: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared / "golden" / "sieval.json").read_text(encoding="utf-8"))
    return found


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_fixed_exemplars_are_the_permutations_first_rows(golden: dict[str, Any]) -> None:
    first = golden["fewshot_indices"]["first8"]
    eight, five, one = tasks.load(["gsm8k_kshot_base_gen", "gsm8k_fixed", "gsm1k_fixed"])
    assert len(eight.exemplars.rows) == golden["fewshot_indices"]["train_len"]
    assert list(chooser(eight, 8, 1234)({})) == first
    assert list(chooser(five, 5, 1234)({})) == list(chooser(one, 5, 1234)({})) == first[:5]


def test_every_prompt_of_the_four_tasks(golden: dict[str, Any]) -> None:
    base, chat = tasks.load(["gsm8k_kshot_base_gen", "gsm8k_0shot_gen"])
    checked = 0
    for line in golden["prompts"]:
        if line["task"] == "gsm8k_kshot_base_gen":
            (question,) = prompts.questions(base, num_fewshot=line["n_shot"], limit=1)
            assert isinstance(question.prompt, str)
            assert (len(question.prompt), sha256(question.prompt)) == (line["chars"], line["sha256"])
        elif line["task"] == "gsm8k_0shot_gen":
            (question,) = prompts.questions(chat, limit=1)
            (message,) = question.prompt
            assert not isinstance(message, str)
            assert message.role == "user"
            assert (len(message.content), sha256(message.content)) == (line["chars"], line["sha256"])
        elif line["task"].startswith("gsm8k_kshot_base_gen 8-shot"):
            assert sha256("".join(f"{q.prompt}\0" for q in prompts.questions(base))) == line["sha256"]
        elif line["task"].startswith("gsm8k golds"):
            assert sha256("".join(f"{q.target}\n" for q in prompts.questions(chat))) == line["sha256"]
        else:
            assert line["task"].startswith("gsm_plus_0shot_gen"), "a protocol that is not in the catalogue"
            continue
        checked += 1
    assert checked == 10


def test_the_base_protocols_prompts_are_lm_evals_with_other_exemplars() -> None:
    base, own = tasks.load(["gsm8k_kshot_base_gen", "gsm8k_fixed"])
    for ours, theirs in zip(
        prompts.questions(own, limit=20), prompts.questions(base, num_fewshot=5, limit=20), strict=True
    ):
        assert ours.prompt == theirs.prompt


def test_gsm1k_is_asked_with_gsm8ks_exemplars() -> None:
    redrawn, seen = tasks.load(["gsm1k_public_50", "gsm8k"])
    ours = [q.prompt for q in prompts.questions(redrawn)]
    theirs = [q.prompt for q in prompts.questions(seen, limit=50)]
    assert len(ours) == 50
    for one, two in zip(ours, theirs, strict=True):
        assert isinstance(one, str)
        assert isinstance(two, str)
        assert one.rpartition("Question:")[0] == two.rpartition("Question:")[0]
        assert one != two
