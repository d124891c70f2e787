"""Chat turns, prefills, and the rule of the two flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from resit import prompts
from resit.errors import UsageError
from resit.records import Message
from resit.tasks import Task

MakeTask = Callable[..., Task]
SHOTS = {
    "fewshot_config": {"samples": [{"q": "Q1", "a": "A1"}, {"q": "Q2", "a": "A2"}], "sampler": "first_n"}
}


def messages(task: Task, multiturn: bool = True, **options: Any) -> list[str]:
    (question,) = prompts.questions(task, chat=prompts.ChatOptions(multiturn), **options)
    assert all(isinstance(message, Message) for message in question.prompt)
    return [f"{m.role}:{m.content}" for m in question.prompt if isinstance(m, Message)]


def test_exemplars_are_turns_of_their_own(make_task: MakeTask) -> None:
    """FC-CT-01: the exemplars' answers are the assistant's, not the user's."""
    task = make_task({**SHOTS, "num_fewshot": 2}, test=[{"q": "Q3", "a": "A3"}])
    assert messages(task) == ["user:Q1", "assistant:A1", "user:Q2", "assistant:A2", "user:Q3"]


def test_or_all_stand_in_one_turn(make_task: MakeTask) -> None:
    task = make_task({**SHOTS, "num_fewshot": 2}, test=[{"q": "Q3", "a": "A3"}])
    assert messages(task, False) == ["user:Q1 A1\n\nQ2 A2\n\nQ3"]
    assert messages(task, False, system_instruction="S") == ["system:S", "user:Q1 A1\n\nQ2 A2\n\nQ3"]


@pytest.mark.parametrize("multiturn", [True, False])
def test_a_prefill_ends_the_prompt_with_its_spaces_kept(make_task: MakeTask, multiturn: bool) -> None:
    """FC-CT-03: a prefill that ends with a space stays what it is, and is to be continued."""
    task = make_task({"gen_prefix": "The total is "}, test=[{"q": "How many?", "a": "3"}])
    assert messages(task, multiturn) == ["user:How many?", "assistant:The total is "]
    (question,) = prompts.questions(task)
    assert question.prompt == "How many? The total is "


@pytest.mark.parametrize(
    ("instruction", "description", "expected"),
    [
        (None, "", []),
        ("S", "", ["system:S"]),
        (None, "D", ["system:D"]),
        ("S", "D", ["system:S\n\nD"]),
        ("S\n", "D", ["system:S\nD"]),
        ("S", " D", ["system:S D"]),
    ],
)
def test_the_system_block_joins_instruction_and_description(
    make_task: MakeTask, instruction: str | None, description: str, expected: list[str]
) -> None:
    task = make_task({"description": description}, test=[{"q": "Q", "a": "A"}])
    assert messages(task, system_instruction=instruction) == [*expected, "user:Q"]


def test_nothing_stands_between_system_block_and_question(make_task: MakeTask) -> None:
    (question,) = prompts.questions(make_task({}, test=[{"q": "Q", "a": "A"}]), system_instruction="SYS")
    assert question.prompt == "SYSQ"


def test_a_chat_protocol_is_asked_as_chat_without_being_told(make_task: MakeTask) -> None:
    task = make_task({"resit": {"chat": True}}, test=[{"q": "Q", "a": "A"}])
    (question,) = prompts.questions(task)
    assert question.prompt == (Message("user", "Q"),)


@pytest.mark.parametrize(
    ("template", "multiturn", "expected"),
    [
        (False, None, None),
        (False, False, None),
        (True, None, prompts.ChatOptions(True)),
        (True, True, prompts.ChatOptions(True)),
        (True, False, prompts.ChatOptions(False)),
    ],
)
def test_the_rule_of_the_two_flags(template: bool, multiturn: bool | None, expected: Any) -> None:
    assert prompts.chat_options(template, multiturn) == expected


def test_turns_need_a_template() -> None:
    with pytest.raises(UsageError, match="--fewshot_as_multiturn true needs --apply_chat_template"):
        prompts.chat_options(False, True)
