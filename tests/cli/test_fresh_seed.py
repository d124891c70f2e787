"""`--fresh-seed`: an exam of one's own, on every verb that asks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("reasoning_gym", reason="the generator of fresh problems (resit[demo])")

ASK = ("-M", "scripted", "-a", "text={target}", "-t", "gsm_fresh", "--limit", "2")


def asked(folder: Path) -> list[str]:
    lines = (folder / "prompts.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["doc"]["question"] for line in lines]


def test_another_seed_is_another_exam(command: Callable, tmp_path: Path) -> None:
    for name, words in {"own": ("--fresh-seed", 7391), "again": ("--fresh-seed", 7391), "all": ()}.items():
        assert command("run", *ASK, *words, "-o", tmp_path / name, "--json").status == 0
    assert asked(tmp_path / "own") == asked(tmp_path / "again")
    assert not {*asked(tmp_path / "own")} & {*asked(tmp_path / "all")}


def test_two_exams_do_not_share_a_folder(command: Callable, tmp_path: Path) -> None:
    assert command("run", *ASK, "--fresh-seed", 7391, "-o", tmp_path / "run").status == 0
    other = command("run", *ASK, "-o", tmp_path / "run")
    assert other.status == 3
    assert 'dataset_kwargs: the run has {"seed": 7391}' in other.err


def test_the_prompts_are_those_of_the_exam(command: Callable, tmp_path: Path) -> None:
    assert command("run", *ASK, "--fresh-seed", 5, "-o", tmp_path / "run").status == 0
    shown = command("prompts", "gsm_fresh", "--limit", 2, "--fresh-seed", 5, "--json").json["prompts"]
    assert all(
        question in prompt["prompt"] for question, prompt in zip(asked(tmp_path / "run"), shown, strict=True)
    )


def test_a_plan_asks_the_exam(command: Callable) -> None:
    assert command("plan", *ASK, "--fresh-seed", 5, "--calibrate", 2, "--json").status == 0


@pytest.mark.parametrize("verb", [("run", *ASK[:4], "-t"), ("plan", *ASK[:4], "-t"), ("prompts",)])
def test_nothing_generated_is_nothing_to_seed(
    command: Callable, tmp_path: Path, verb: tuple[str, ...]
) -> None:
    task = tmp_path / "plain.yaml"
    task.write_text(
        "task: plain\ndataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\n"
        "test_split: test\n"
        'num_fewshot: 0\ndoc_to_text: "{{question}}"\ndoc_to_target: "{{answer}}"\n',
        encoding="utf-8",
    )
    (tmp_path / "rows.jsonl").write_text('{"question": "1+1?", "answer": "2"}\n', encoding="utf-8")
    refused = command(*verb, task, "--fresh-seed", 5)
    assert refused.status == 2
    assert "--fresh-seed has no effect: none of the tasks is generated (plain)" in refused.err
