from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def task(sums: Callable[..., Path]) -> Path:
    return sums(questions=200, text="Question: {{question}}\nAnswer:")


Command = Callable[..., Any]


def test_a_calibrated_forecast_comes_true(command: Command, task: Path) -> None:
    words = ["plan", "-M", "scripted", "-a", "delay=0.05", "-t", task, "--repeats", 10, "-b", 8]
    found = command(*words, "--calibrate", 64, "--workers", 4, "--worker-hour", 36, "--json").json
    assert (found["questions"], found["samples"], found["workers"]) == (200, 2000, 4)
    ideal = 2000 * 0.05 / 8 / 4
    assert found["seconds"]["estimate"] == pytest.approx(ideal, rel=0.35)
    assert found["worker_cost"]["estimate"] == pytest.approx(4 * found["seconds"]["estimate"] / 100)
    assert "completion_tokens" not in found, "the script counts none"


def test_a_forecast_from_a_run(command: Command, task: Path, tmp_path: Path) -> None:
    command("run", "-M", "scripted", "-a", "delay=0.01", "-t", task, "--limit", 10, "-o", tmp_path / "run")
    found = command("plan", "--from", tmp_path / "run", "-b", 4, "--json").json
    assert (found["questions"], found["samples"], found["calibrated_on"]) == (200, 200, 10)
    assert found["worker_seconds"]["estimate"] == pytest.approx(200 * 0.01 / 4)
    without = command("plan", "--from", tmp_path / "run", "--limit", 0.5, "--repeats", 3, "--json").json
    assert (without["questions"], without["samples"]) == (100, 300)
    assert "seconds" not in without, "nobody said how many samples are in flight"
    refused = command("plan", "--from", tmp_path / "run", "--limit", -5)
    assert (refused.status, "--limit must be a number above 0" in refused.err) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ["--seed", 7],
        ["--fresh-seed", 7],
        ["--gen-kwargs", "temperature=1"],
        ["-M", "scripted"],
        ["--calculator"],
    ],
)
def test_a_run_on_file_cannot_be_asked_otherwise(
    command: Command, task: Path, tmp_path: Path, words: list[Any]
) -> None:
    command("run", "-M", "scripted", "-t", task, "--limit", 4, "-o", tmp_path / "run")
    refused = command("plan", "--from", tmp_path / "run", *words)
    assert refused.status == 2
    assert "has no effect with --from" in refused.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "needs --model and --tasks, or --from"),
        (["--from", "nowhere"], "is not a run folder"),
        (["-M", "scripted", "-t", "TASK", "--worker-hour", "inf"], "--worker-hour"),
        (["-M", "scripted", "-t", "TASK", "--calibrate", "9" * 400], "--calibrate"),
        (["-M", "scripted", "-t", "TASK", "--prices", "nowhere.yaml"], "expected prices as MODEL"),
        (
            ["-M", "scripted", "-a", "error_docs=" + ";".join(map(str, range(200))), "-t", "TASK"],
            "nothing can be predicted: no sample of sums was measured",
        ),
    ],
)
def test_what_cannot_be_planned(command: Command, task: Path, words: list[str], said: str) -> None:
    refused = command("plan", *(str(task) if word == "TASK" else word for word in words))
    assert refused.status == 2
    assert said in refused.err


def test_prices_are_those_of_the_model(command: Command, task: Path, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("other: {prompt: 1, completion: 2}\n")
    refused = command("plan", "-M", "scripted", "-t", task, "--prices", prices)
    assert "has no price for 'scripted'" in refused.err
