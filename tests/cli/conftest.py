"""The command in this process, and run folders that hold whatever scores a test needs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from resit import jsonl
from resit.records import SampleScore, Verdict
from resit.reports.scores import score_line


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run `resit WORDS…` in this process, on a wide terminal."""
    from resit.cli import main

    def run(*words: object) -> Outcome:
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
        monkeypatch.setattr(sys, "argv", ["resit", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), captured.out, captured.err)

    return run


Answers = Mapping[str, Sequence[str | None]]
"""By question, the answer of each sample; the right one is `18`, None finds no answer, `!` errored."""


@pytest.fixture
def scored_run(tmp_path: Path) -> Callable[..., Path]:
    """Write a run folder as `resit score` leaves it; the right answer of every question is 18."""

    def write(
        name: str,
        answers: Answers,
        *,
        task: str = "gsm8k",
        model: str | None = None,
        protocol: Mapping[str, Any] | None = None,
        planned: int | None = None,
        more: Mapping[str, Answers] | None = None,
    ) -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        tasks = {task: answers, **(more or {})}
        lines = [
            jsonl.encode(score_line(sample(of_task, number, key, repeat, answer)))
            for of_task, questions in tasks.items()
            for number, (key, found) in enumerate(questions.items())
            for repeat, answer in enumerate(found)
        ]
        (folder / "scores.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
        about = {
            of_task: {
                "protocol": dict(protocol or {"num_fewshot": 5}),
                "samples": {"planned": planned or sum(map(len, questions.values()))},
            }
            for of_task, questions in tasks.items()
        }
        results = {"config": {"model_name": model or name}, "resit": {"tasks": about}}
        (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
        return folder

    return write


def sample(task: str, number: int, key: str, repeat: int, answer: str | None) -> SampleScore:
    if answer == "!":
        return SampleScore(task, number, key, repeat, {}, error="429")
    verdict = Verdict("robust", answer, float(answer == "18"))
    return SampleScore(task, number, key, repeat, {"robust": verdict, "strict-match": verdict})
