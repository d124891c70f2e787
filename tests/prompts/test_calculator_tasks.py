"""Tasks with a calculator, without chain of thought, Socratic: what their prompts hold."""

from __future__ import annotations

import re
from typing import Any

import pytest

from resit import prompts, tasks
from resit.models.calculator import annotations_in


def prompt_of(name: str) -> str:
    (task,) = tasks.load([name])
    (question,) = prompts.questions(task, limit=1)
    assert isinstance(question.prompt, str)
    return question.prompt


@pytest.mark.usefixtures("mirror")
def test_exemplars_with_their_sums_annotated() -> None:
    annotated, plain = prompt_of("gsm8k_cot_calculator"), prompt_of("gsm8k_cot")
    assert re.sub("<<.*?>>", "", annotated) == plain
    found = list(annotations_in(annotated))
    assert len(found) == 12, "every sum of the eight exemplars"
    assert all(one.result and annotated.startswith(one.result, one.at) for one in found)


@pytest.mark.usefixtures("mirror")
def test_the_calculators_prompts_are_gsm8ks() -> None:
    assert prompt_of("gsm8k_calculator") == prompt_of("gsm8k")
    (task,) = tasks.load(["gsm8k_calculator"])
    assert task.sampling().calculator
    assert not tasks.load(["gsm8k"])[0].sampling().calculator


@pytest.mark.usefixtures("mirror")
@pytest.mark.parametrize("name", ["gsm8k_direct", "gsm8k_direct_maj"])
def test_final_answers_only(name: str) -> None:
    direct, cot = prompt_of(name).split("\n\n"), prompt_of("gsm8k_cot").split("\n\n")
    assert len(direct) == len(cot) == 9
    for shot, worked in zip(direct[:8], cot[:8], strict=True):
        question, answer = worked.split("\nA: ")
        assert shot == f"{question}\nA: The answer is {answer.split('The answer is ')[1]}"
    assert direct[8] == cot[8]


ROWS = {
    split: [
        {
            "question": f"{n} pens in each of 2 bags?",
            "answer": f"How many? ** There are {n}*2 = <<{n}*2={2 * n}>>{2 * n} pens.\n#### {2 * n}",
        }
        for n in range(3, 11)
    ]
    for split in ("train", "test")
}


def test_socratic_solutions() -> None:
    asked: list[tuple[Any, ...]] = []

    def reader(path: str, name: str | None, split: str, **options: Any) -> list[dict[str, Any]]:
        asked.append((path, name, split))
        return ROWS[split]

    (task,) = tasks.load(["gsm8k_socratic"], reader=reader)
    (question,) = prompts.questions(task, limit=1)
    assert isinstance(question.prompt, str)
    assert question.prompt.count("** There are") == 5
    assert ("openai/gsm8k", "socratic", "test") in asked
    from resit.grading import grade

    for ending in ("#### 6", "A: 6", "Answer: 6"):
        said = f" How many pens are there? ** There are 3*2 = <<3*2=6>>6 pens.\n{ending}"
        assert grade(said, str(question.target)).correct == 1
        assert grade(said, "#### 7").correct == 0
