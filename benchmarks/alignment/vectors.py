"""What sieval gave for given inputs, beside what the tasks that follow it give; and the tasks' twins."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from resit import grading, prompts, tasks
from resit.prompts.exemplars import chooser
from resit.records import Document, Generation, Question
from resit.tasks import aligned

SIEVAL = {"implementation": "scitix/sieval", "version": "f2c86c3"}
SEED = 1234
Golden = Mapping[str, Any]
Pairs = Sequence[tuple[Any, Any]]


def run(golden: Golden) -> dict[str, dict[str, dict[str, int]]]:
    """By task and kind of vector: how many there are, and how many are given here."""
    kshot, chat, fixed = tasks.load(["gsm8k_kshot_base_gen", "gsm8k_0shot_gen", "gsm8k_fixed"])
    (fresh,) = tasks.load(["gsm1k_kshot_base_gen"])
    first = golden["fewshot_indices"]["first8"]
    return {
        "gsm8k_kshot_base_gen": {
            "exemplar rows": _counted(list(zip(chooser(kshot, 8, SEED)({}), first, strict=True))),
            "prompts": _counted(list(_base_prompts(kshot, golden["prompts"]))),
            "extracted answers": _counted(list(_extracted(kshot, golden["base_extract"]))),
        },
        "gsm8k_0shot_gen": {
            "prompts and references": _counted(list(_chat_prompts(chat, golden["prompts"]))),
        },
        "gsm8k_fixed": {
            "exemplar rows": _counted(list(zip(chooser(fixed, 5, SEED)({}), first[:5], strict=True))),
        },
        "gsm1k_kshot_base_gen": {
            "extracted answers": _counted(list(_extracted(fresh, golden["base_extract"]))),
        },
    }


def _counted(pairs: Pairs) -> dict[str, int]:
    return {"n": len(pairs), "same": sum(ours == theirs for ours, theirs in pairs)}


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _base_prompts(task: tasks.Task, lines: Sequence[Golden]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if line["task"] == "gsm8k_kshot_base_gen":
            (question,) = prompts.questions(task, num_fewshot=line["n_shot"], limit=1)
            yield _sha256(str(question.prompt)), line["sha256"]
        elif line["task"].startswith("gsm8k_kshot_base_gen 8-shot"):
            yield _sha256("".join(f"{q.prompt}\0" for q in prompts.questions(task))), line["sha256"]


def _chat_prompts(task: tasks.Task, lines: Sequence[Golden]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if line["task"] == "gsm8k_0shot_gen":
            (question,) = prompts.questions(task, limit=1)
            said = "".join(getattr(turn, "content", "") for turn in question.prompt)
            yield _sha256(said), line["sha256"]
        elif line["task"].startswith("gsm8k golds"):
            yield _sha256("".join(f"{q.target}\n" for q in prompts.questions(task))), line["sha256"]


def _extracted(task: tasks.Task, lines: Sequence[Golden]) -> Iterator[tuple[str, str]]:
    half = task.name.partition("_")[0]
    for line in lines:
        question = Question(task.name, Document(0, "0", {}), "", "18")
        generation = Generation(task.name, 0, "0", 0, 0, text=line["text"])
        answers = grading.score_question(question, [generation], task.rules).answers
        for rule in ("strict", "flexible"):
            yield _compared(task, str(answers[f"{rule}_exact_match"])), line[f"{half}_{rule}"]


def _compared(task: tasks.Task, answer: str) -> str:
    """What the task's metric compares: the answer without what it is told to ignore."""
    for pattern in task.rules.metrics[0].kwargs["regexes_to_ignore"]:
        answer = re.sub(pattern, "", answer)
    return answer.strip().lower()


def twins() -> Iterator[tuple[str, str]]:
    """(task, twin): aligned tasks without a measurement of their own, and the measured one with its protocol.

    Two tasks with the digest of one protocol differ in nothing but their questions.
    """
    known = tasks.load([name for name, entry in tasks.index().items() if entry.status == "aligned"])
    measured = {name for name in aligned.recorded() if any(r.kind != "twin" for r in aligned.records(name))}
    by_digest = {tasks.protocol_digest(task): task.name for task in known if task.name in measured}
    for task in known:
        twin = by_digest.get(tasks.protocol_digest(task))
        if task.name not in measured and twin:
            yield task.name, twin
