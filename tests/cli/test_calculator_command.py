"""`--calculator` from the option to the journal, the table, the exports and the identity."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resit.runs.folder import RunFolder

MORE = 'num_fewshot: 0\ngeneration_kwargs: {until: ["\\n"], max_gen_toks: 16}\n'
ASKED = ("run", "--model", "scripted", "--tasks", "sums.yaml")
TEXT = '{"text": "<<1+1=3>>3 <<x=1>>"}'


@pytest.fixture
def here(sums: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    task = sums(questions=2, more=MORE)
    monkeypatch.chdir(task.parent)
    return task.parent


def samples(run: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(run, "generations.jsonl").read_bytes().splitlines()]


def test_insertions_are_journaled_counted_and_exported(command: Callable[..., Any], here: Path) -> None:
    done = command(*ASKED, "--model-args", TEXT, "-o", "r", "--calculator")
    assert done.status == 0
    first = samples("r")[0]
    assert first["text"].startswith("<<1+1=2>><<1+1=2>>")
    assert first["insertions"][0] == {"at": 6, "text": "2>>", "expression": "1+1", "instead": "3>>"}
    assert all(first["text"][one["at"] :].startswith(one["text"]) for one in first["insertions"])
    counts = json.loads(Path("r/results.json").read_text("utf-8"))["resit"]["tasks"]["sums"]["calculator"]
    made = sum(len(sample["insertions"]) for sample in samples("r"))
    assert counts == {"samples": 2, "insertions": made, "corrected": made, "unread": 0}
    assert f"sums: the calculator gave {made} results in 2 samples" in done.out
    assert command("export", "r", "--format", "jsonl", "-o", "out").status == 0
    (exported,) = Path("out").rglob("*.jsonl")
    row = json.loads(exported.read_bytes().splitlines()[0])
    assert row["insertions"] == first["insertions"]
    assert row["uncalculated"] == 0


def test_without_it_nothing_says_so(command: Callable[..., Any], here: Path) -> None:
    done = command(*ASKED, "--model-args", TEXT, "-o", "r")
    assert done.status == 0
    assert "calculator" not in done.out
    assert "insertions" not in samples("r")[0]
    identity = RunFolder(Path("r")).record() or {}
    assert "calculator" not in identity["identity"]["tasks"]["sums"]["sampling"]


def test_it_is_part_of_the_identity(command: Callable[..., Any], here: Path) -> None:
    assert command(*ASKED, "--model-args", TEXT, "-o", "r").status == 0
    refused = command(*ASKED, "--model-args", TEXT, "-o", "r", "--calculator")
    assert refused.status == 3
    assert "sampling.calculator" in refused.err


def test_a_task_may_ask_for_it(command: Callable[..., Any], here: Path, sums: Callable[..., Path]) -> None:
    sums(questions=2, more=f"{MORE}resit: {{calculator: true}}\n")
    assert command(*ASKED, "--model-args", TEXT, "-o", "r").status == 0
    assert samples("r")[0]["insertions"]
    again = command(*ASKED, "--model-args", TEXT, "-o", "r", "--calculator")
    assert again.status == 0, "the option asks for what the task asks for"


def test_a_study_may_ask_for_it(command: Callable[..., Any], here: Path) -> None:
    study = (
        f"models: [{{name: m, model: scripted, model_args: {TEXT}}}]\n"
        "tasks: [{task: sums.yaml, calculator: true}]\n"
    )
    Path("study.yaml").write_text(study, encoding="utf-8")
    assert command("run", "study.yaml", "-o", "s").status == 0
    assert samples("s/m/sums")[0]["insertions"]


def test_a_run_that_has_it_is_replayed_and_scored_again(command: Callable[..., Any], here: Path) -> None:
    assert command(*ASKED, "--model-args", TEXT, "-o", "r", "--calculator").status == 0
    before = Path("r/results.json").read_bytes()
    assert command("score", "r").status == 0
    assert Path("r/results.json").read_bytes() == before
    replay = ("run", "--model", "replay", "--model-args", "file=r", "--tasks", "sums.yaml", "-o", "again")
    assert command(*replay, "--calculator").status == 0
    kept = ("text", "insertions", "uncalculated")
    for replayed, sample in zip(samples("again"), samples("r"), strict=True):
        assert {name: replayed[name] for name in kept} == {name: sample[name] for name in kept}
