"""How many documents and exemplars, in which order, and what refuses to be asked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from resit import prompts
from resit.errors import UsageError
from resit.records import Message
from resit.tasks import Task

MakeTask = Callable[..., Task]


def rows(count: int) -> list[dict[str, Any]]:
    return [{"q": f"{i}?", "a": str(i)} for i in range(count)]


@pytest.mark.parametrize(
    ("limit", "asked"),
    [(None, 10), (3, 3), (1, 1), (1.0, 1), (0.5, 5), (0.31, 4), (0.001, 1), (99, 10), (2.9, 2)],
)
def test_a_limit_is_a_number_or_below_1_a_share(make_task: MakeTask, limit: float | None, asked: int) -> None:
    assert len(list(prompts.questions(make_task({}, test=rows(10)), limit=limit))) == asked


@pytest.mark.parametrize("limit", [0, -1, 0.0, float("nan"), float("inf")])
def test_a_limit_of_nothing_is_refused(make_task: MakeTask, limit: float) -> None:
    with pytest.raises(UsageError, match="--limit must be a number above 0"):
        prompts.questions(make_task({}, test=rows(10)), limit=limit)


@pytest.mark.parametrize(
    ("own", "override", "shots"),
    [(None, None, 0), (None, 2, 2), (5, None, 5), (5, 2, 2), (5, 0, 0), (0, None, 0), (0, 5, 0)],
)
def test_the_override_stands_unless_the_file_says_0(
    make_task: MakeTask, own: int | None, override: int | None, shots: int
) -> None:
    assert prompts.shots(make_task({"num_fewshot": own}), override) == shots


def test_questions_are_made_as_they_are_asked_for(make_task: MakeTask) -> None:
    task = make_task({"doc_to_text": "{{1 // n}}"}, test=[{"n": 1, "a": "1"}, {"n": 0, "a": "1"}])
    asked = prompts.questions(task)
    assert next(asked).prompt == "1"
    with pytest.raises(UsageError, match="cannot be rendered: integer division or modulo by zero"):
        next(asked)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"doc_to_text": None}, "task 't' has no doc_to_text"),
        ({"doc_to_target": None}, "task 't' has no doc_to_target"),
        ({"doc_to_text": "{{"}, "t: doc_to_text: the template does not compile"),
    ],
)
def test_a_task_that_cannot_be_asked_is_refused_at_once(
    make_task: MakeTask, keys: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        prompts.questions(make_task(keys, test=rows(1)))


def test_a_question_that_is_no_text_is_refused(make_task: MakeTask) -> None:
    with pytest.raises(UsageError, match="doc_to_text: expected text, found 3"):
        list(prompts.questions(make_task({"doc_to_text": "n"}, test=[{"n": 3, "a": "1"}])))


@pytest.mark.parametrize(
    ("keys", "rows", "expected"),
    [
        ({"doc_to_target": "n"}, [{"n": 3}], "3"),
        ({"doc_to_target": 1}, [{"n": 3}], "1"),
        ({"doc_to_target": "n", "doc_to_choice": ["no", "yes"]}, [{"n": 1}], "yes"),
        ({"doc_to_target": "{{n}}", "doc_to_choice": {"a": "no", "b": "yes"}}, [{"n": 1}], "yes"),
        ({"doc_to_target": "n", "doc_to_choice": "{{[n, n + 1]}}"}, [{"n": 1}], "2"),
        (
            {"doc_to_target": "n", "doc_to_choice": ["no", "yes"]},
            [{"n": "\N{SUPERSCRIPT TWO}"}],
            "\N{SUPERSCRIPT TWO}",
        ),
        ({"doc_to_target": "{{[n, 'x']}}"}, [{"n": 3}], ("3", "x")),
        ({"doc_to_target": "many"}, [{"many": ["3", "three"]}, {"many": ["4"]}], ("3", "three")),
        ({"doc_to_target": "{{n}}"}, [{"n": "[not a list]"}], "[not a list]"),
        ({"doc_to_target": ["a", "b"]}, [{"n": 3}], ("a", "b")),
    ],
)
def test_references(
    make_task: MakeTask, keys: dict[str, Any], rows: list[dict[str, Any]], expected: Any
) -> None:
    question = next(prompts.questions(make_task({"doc_to_text": "Q", **keys}, test=rows)))
    assert question.target == expected


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("Q: é", "Q: é"),
        ((Message("user", "é"),), '[{"role": "user", "content": "é"}]'),
    ],
)
def test_the_digest_of_a_prompt(prompt: Any, text: str) -> None:
    assert prompts.prompt_sha256(prompt) == hashlib.sha256(text.encode()).hexdigest()


def test_the_digest_is_the_journals() -> None:
    from resit.runs.folder import prompt_sha256

    for prompt in ("x\ud800", (Message("system", "s"), Message("user", "ü"))):
        assert prompts.prompt_sha256(prompt) == prompt_sha256(prompt)


def test_an_empty_split_is_no_exam(make_task: MakeTask) -> None:
    with pytest.raises(UsageError, match="the split 'test' of task 't' holds no documents"):
        prompts.questions(make_task({}, test=[]))


def test_the_public_surface_is_sorted_and_complete() -> None:
    assert prompts.__all__ == sorted(prompts.__all__)
    assert all(getattr(prompts, name) for name in prompts.__all__)
    with pytest.raises(AttributeError, match="no attribute 'leak'"):
        prompts.leak  # noqa: B018
