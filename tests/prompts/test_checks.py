"""What is found out about a task without a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from resit.errors import UsageError
from resit.prompts import checks
from resit.records import Message, Question
from resit.tasks import Task

MakeTask = Callable[..., Task]


def rows(*questions: str) -> list[dict[str, Any]]:
    return [{"q": question, "a": str(number)} for number, question in enumerate(questions)]


def test_every_question_is_rendered_or_the_first_that_is_not_is_named(make_task: MakeTask) -> None:
    assert [q.prompt for q in checks.rendered(make_task({}, test=rows("one", "two")))] == ["one", "two"]
    divided = make_task({"doc_to_text": "{{1 // n}}"}, test=[{"n": n, "a": "1"} for n in (1, 1, 0)])
    with pytest.raises(UsageError, match=r"document 2: .*cannot be rendered"):
        checks.rendered(divided)


def test_a_prompt_or_a_reference_of_nothing_is_found(make_task: MakeTask) -> None:
    data = [{"q": "one", "a": "1"}, {"q": " \n", "a": "1"}, {"q": "three", "a": " "}]
    made = checks.rendered(make_task({}, test=data))
    assert checks.empty(made) == [1, 2]
    (whole, *_) = made
    turns = Question("t", whole.document, (Message("user", "x"), Message("user", " ")), ("1", ""))
    several = Question("t", whole.document, (Message("user", "x"),), ("1", "2"))
    nothing = Question("t", whole.document, "x", ())
    assert [len(checks.empty([question])) for question in (turns, several, nothing)] == [1, 0, 1]


def test_copies_of_a_document_are_found(make_task: MakeTask) -> None:
    data = [{"q": q, "a": "1"} for q in ("one", "two", "one", "one")]
    assert checks.repeated(checks.rendered(make_task({}, test=data))) == [2, 3]


def test_an_exemplar_that_asks_a_question_of_the_exam_is_found(make_task: MakeTask) -> None:
    keys = {"fewshot_split": "train", "num_fewshot": 2}
    exam = rows("What is 1?", "What is 2?", "What is 3?")
    found = checks.leaks(make_task(keys, test=exam, train=rows("Other?", "what  IS\n3? ", "What is 1?")))
    assert list(found) == [(2, 1), (0, 2)]
    assert list(checks.leaks(make_task(keys, test=exam, train=rows("Other?", "Others?")))) == []


def test_without_exemplars_of_its_own_nothing_leaks(make_task: MakeTask) -> None:
    exam = rows("What is 1?", "What is 2?")
    assert list(checks.leaks(make_task({"num_fewshot": 0}, test=exam))) == []
    same = {"fewshot_split": "test", "num_fewshot": 1}
    assert list(checks.leaks(make_task(same, test=exam))) == [], "a document is never its own exemplar"


def test_the_answers_that_exemplars_show(make_task: MakeTask) -> None:
    exam, worked = rows("What is 1?"), rows("x", "y", "z")
    keys = {"fewshot_split": "train", "num_fewshot": 2}
    assert checks.worked_answers(make_task(keys, test=exam, train=worked)) == ["0", "1", "2"]
    assert checks.worked_answers(make_task({**keys, "num_fewshot": 0}, test=exam, train=worked)) == []


@pytest.mark.parametrize("choices", ["{{q}}", "5"])
def test_choices_that_are_no_list_are_refused(make_task: MakeTask, choices: str) -> None:
    task = make_task({"doc_to_choice": choices}, test=[{"q": "7", "a": "0"}])
    with pytest.raises(UsageError, match="doc_to_choice: expected a list, found"):
        checks.rendered(task)
