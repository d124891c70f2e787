"""What can be said of the protocol that imported samples were generated under."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resit.errors import AssetError, UsageError
from resit.prompts import ChatOptions, prompt_sha256, questions
from resit.records import Prompt
from resit.runs.identity import digest
from resit.runs.plan import Plan, Settings, make_plan
from resit.runs.rules import rules_to
from resit.tasks import Task


def native_protocol(
    task: Task, prompts: Mapping[str, str], example: Prompt, generated_with: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The protocol that Resit would have asked under, if every prompt is its own byte for byte; else None.

    `prompts` has the sha256 of each prompt by document hash, `example` is any of them.
    """
    for settings in _guesses(example, generated_with):
        try:
            plan = make_plan({}, [task], settings)
            if _same_prompts(plan, prompts):
                return plan.protocols()[task.name]
        except (
            AssetError,
            UsageError,
        ):  # exemplars that cannot be had here, settings that Resit has no word for
            return None
    return None


def _guesses(example: Prompt, generated_with: Mapping[str, Any]) -> list[Settings]:
    if isinstance(example, str):
        return [Settings(gen_kwargs=generated_with)]
    system = example[0].content if example[0].role == "system" else None
    return [
        Settings(gen_kwargs=generated_with, chat=ChatOptions(multiturn), system_instruction=system)
        for multiturn in (True, False)
    ]


def _same_prompts(plan: Plan, prompts: Mapping[str, str]) -> bool:
    settings, task = plan.settings, plan.tasks[0].task
    left = dict(prompts)
    for question in questions(task, chat=settings.chat, system_instruction=settings.system_instruction):
        wanted = left.pop(question.document.doc_hash, None)
        if wanted is not None and wanted != prompt_sha256(question.prompt):
            return False
        if not left:
            return True
    return False


def foreign_protocol(
    task: Task, origin: str, prompts: Mapping[str, str], generated_with: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The protocol of samples that were asked for in words other than the task's, or in unknown ones."""
    return {
        "imported_from": origin,
        "prompts_sha256": digest(sorted(prompts.items())) if prompts else "unknown",
        "generated_with": dict(generated_with) if generated_with else "unknown",
        "rules": rules_to(task.rules),
    }
