"""Which exemplars a document gets: lm-eval's draws, the samplers, and what must always hold."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resit import prompts
from resit.errors import UsageError
from resit.prompts.exemplars import chooser
from resit.tasks import Task
from resit.tasks.dialect import task_config

Row = dict[str, Any]
MakeTask = Callable[..., Task]


def rows(count: int, prefix: str = "") -> list[Row]:
    return [{"q": f"{prefix}{i}?", "a": str(i)} for i in range(count)]


def test_gsm8ks_first_draw_is_lm_evals(make_task: MakeTask) -> None:
    task = make_task({"fewshot_split": "train"}, train=rows(7473))
    choose = chooser(task, 5, 1234)
    assert list(choose({})) == [6374, 3610, 957, 61, 742]
    assert list(choose({})) != [6374, 3610, 957, 61, 742]


def test_draws_of_the_split_that_is_asked_leave_the_document_out(make_task: MakeTask) -> None:
    pool = rows(6)
    task = make_task({"fewshot_split": "test"}, test=pool)
    choose, stream = chooser(task, 3, 1234), Random(1234)
    for row in pool * 5:
        expected = [i for i in stream.sample(range(6), 4) if pool[i] != row][:3]
        assert list(choose(row)) == expected


def test_copies_of_the_document_are_replaced_by_another_draw(make_task: MakeTask) -> None:
    pool = [*rows(3), *[{"q": "same?", "a": "1"}] * 5]
    task = make_task({"fewshot_split": "test"}, test=pool)
    choose, stream, redrawn = chooser(task, 3, 1234), Random(1234), 0
    for _ in range(20):
        drawn = [i for i in stream.sample(range(8), 4) if pool[i] != pool[7]][:3]
        if len(drawn) < 3:
            drawn, redrawn = stream.sample([0, 1, 2], 3), redrawn + 1
        assert list(choose(pool[7])) == drawn
    assert redrawn > 10


@pytest.mark.parametrize(
    ("sampler", "split", "document", "expected"),
    [
        ("first_n", "train", {}, [0, 1, 2]),
        ("first_n", "test", {"q": "1?", "a": "1"}, [0, 2, 3]),
        ("permutation", "train", {}, [0, 4, 1]),
        ("permutation", "test", {"q": "4?", "a": "4"}, [0, 1, 3]),
    ],
)
def test_samplers_that_do_not_draw(
    make_task: MakeTask, sampler: str, split: str, document: Row, expected: list[int]
) -> None:
    keys = {"fewshot_split": split, "fewshot_config": {"sampler": sampler}}
    choose = chooser(make_task(keys, train=rows(5), test=rows(5)), 3, 1234)
    assert list(choose(document)) == list(choose(document)) == expected


@pytest.mark.parametrize(
    ("keys", "count", "said"),
    [
        (
            {"fewshot_split": "train", "fewshot_config": {"sampler": "balanced"}},
            1,
            "expected one of default, first_n",
        ),
        ({"fewshot_split": "train"}, 6, "6 exemplars are needed, 5 are available"),
        ({"fewshot_split": "test"}, 5, "6 exemplars are needed, 5 are available"),
        (
            {"fewshot_split": "train", "fewshot_config": {"sampler": "first_n"}},
            6,
            "6 exemplars are needed, 5",
        ),
        ({"fewshot_config": {"samples": [{"q": "x"}]}}, 2, "2 exemplars are needed, 1 are available"),
    ],
)
def test_too_few_exemplars_and_unknown_samplers(
    make_task: MakeTask, keys: Row, count: int, said: str
) -> None:
    task = make_task(keys, train=rows(5), test=rows(5))
    with pytest.raises(UsageError, match=said):
        prompts.questions(task, num_fewshot=count)


def test_a_pool_of_copies_is_too_small_for_its_own_document(make_task: MakeTask) -> None:
    copies = [{"q": "same?", "a": "1"}] * 5
    for sampler in ("default", "first_n"):
        task = make_task({"fewshot_split": "test", "fewshot_config": {"sampler": sampler}}, test=copies)
        with pytest.raises(UsageError, match="2 exemplars are needed, 0 are available beside the document"):
            list(prompts.questions(task, num_fewshot=2))


@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 4),
    limit=st.integers(1, 9),
    sampler=st.sampled_from(["default", "first_n", "permutation"]),
    split=st.sampled_from(["train", "test"]),
)
def test_a_limit_gives_a_prefix_and_no_document_sees_itself(
    seed: int, count: int, limit: int, sampler: str, split: str
) -> None:
    keys = {
        "task": "t", "dataset_path": "x", "test_split": "test", "fewshot_split": split, "num_fewshot": count,
        "doc_to_text": "<{{q}}>", "doc_to_target": "{{a}}", "fewshot_config": {"sampler": sampler},
    }  # fmt: skip
    data = {"test": rows(9), "train": rows(9, "train ")}
    task = Task(task_config(keys, "t"), "t", lambda path, name, split, **options: data[split])
    whole = [q.prompt for q in prompts.questions(task, seed=seed)]
    assert [q.prompt for q in prompts.questions(task, seed=seed, limit=limit)] == whole[:limit]
    for prompt, document in zip(whole, task.documents(), strict=True):
        assert isinstance(prompt, str)
        assert prompt.count("<") == count + 1
        assert prompt.count(f"<{document.fields['q']}>") == 1


def test_the_seed_counts_whoever_sets_the_number_of_exemplars(make_task: MakeTask) -> None:
    """FC-FS-01: seeded by the task's own count, too."""
    task = make_task({"fewshot_split": "train", "num_fewshot": 5}, train=rows(50), test=rows(3))
    by_file = [[q.prompt for q in prompts.questions(task, seed=seed)] for seed in (7, 7, 8)]
    by_hand = [q.prompt for q in prompts.questions(task, seed=7, num_fewshot=5)]
    assert by_file[0] == by_file[1] == by_hand
    assert by_file[0] != by_file[2]


def test_a_direct_task_shows_no_reasoning_in_its_exemplars(make_task: MakeTask) -> None:
    """FC-FS-03: exemplars have the form that is asked for."""
    worked = {
        "q": "4 boats moor and 3 more follow?",
        "cot": "4 boats, then 3: 4+3=7. The answer is 7.",
        "a": "7",
    }
    keys = {
        "doc_to_text": "Question: {{q}}\nAnswer:",
        "fewshot_config": {"samples": [worked]},
        "num_fewshot": 1,
    }
    (question,) = prompts.questions(make_task(keys, test=[{"q": "1 and 1?", "a": "2"}]))
    assert question.prompt == (
        "Question: 4 boats moor and 3 more follow?\nAnswer: 7\n\nQuestion: 1 and 1?\nAnswer:"
    )


@pytest.mark.usefixtures("wheel")
def test_the_catalogues_direct_task_shows_final_answers_only() -> None:
    from resit import tasks

    (task,) = tasks.load(
        ["gsm8k_direct_maj"], reader=lambda *a, **o: [{"question": "How many?", "answer": "#### 3"}]
    )
    (question,) = prompts.questions(task)
    assert isinstance(question.prompt, str)
    shown = [part.rpartition("\nA:")[2] for part in question.prompt.split("\n\n")]
    assert len(shown) == 9
    assert all(answer.startswith(" The answer is ") and len(answer) < 25 for answer in shown[:-1])
    assert question.target == "3"
