"""Ctrl-C once finishes what is in flight; twice stops at once; neither loses anything."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .conftest import answering

QUESTIONS = 40
SAID = {"choices": [{"text": "2", "finish_reason": "stop"}]}


def words(folder: Path, delay: float) -> list[str]:
    return [
        *(sys.executable, "-m", "resit", "run", "--model", "scripted", "--model_args"),
        *(f"text={{target}},delay={delay}", "--tasks", str(folder / "sums.yaml"), "--batch_size", "2"),
        *("--output_path", str(folder / "run")),
    ]


@pytest.fixture
def folder(sums: Callable[..., Path]) -> Path:
    return sums(questions=QUESTIONS).parent


def finished(folder: Path) -> int:
    journal = folder / "run" / "generations.jsonl"
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def started(folder: Path, delay: float) -> subprocess.Popen[str]:
    """A run that has finished its first samples."""
    process = subprocess.Popen(
        words(folder, delay), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )
    deadline = time.monotonic() + 60
    while finished(folder) < 2 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_one_interrupt_finishes_what_is_in_flight_and_shows_it(folder: Path, kind: signal.Signals) -> None:
    process = started(folder, 0.3)
    process.send_signal(kind)
    out, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "press Ctrl-C again to stop at once" in said
    assert "Traceback" not in said
    kept = finished(folder)
    assert 2 <= kept < QUESTIONS
    results = json.loads((folder / "run" / "results.json").read_text("utf-8"))
    assert results["resit"]["tasks"]["sums"]["samples"]["missing"] == QUESTIONS - kept
    assert "sums" in out
    rest = subprocess.run(words(folder, 0), capture_output=True, text=True, check=True)
    assert f"{kept} of {QUESTIONS} samples are on file already" in rest.stderr
    assert finished(folder) == QUESTIONS


def test_a_second_interrupt_stops_at_once_and_loses_nothing(folder: Path) -> None:
    process = started(folder, 3.0)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert "press Ctrl-C again" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert finished(folder) >= 2


@pytest.fixture
def asked() -> list[str]:
    """A method for each request that the busy server had."""
    return []


@pytest.fixture
def busy(asked: list[str]) -> Iterator[str]:
    """Answers two questions; then it wants no requests for five minutes."""

    def answer(method: str) -> tuple[int, object]:
        asked.append(method)
        return (200, SAID) if len(asked) <= 2 else (429, {})

    with answering(answer) as url:
        yield url


def of_options(folder: Path, url: str) -> list[str]:
    return [
        *("--model", "openai-completions", "--model-args", f"base_url={url},model=m", "--batch-size", "4"),
        *("--output-path", str(folder / "run"), "--tasks", str(folder / "sums.yaml")),
    ]


def of_a_study(folder: Path, url: str) -> list[str]:
    args = {"base_url": url, "model": "m"}
    models = [{"name": "run", "model": "openai-completions", "model_args": args, "batch_size": 4}]
    study = {"models": models, "tasks": [str(folder / "sums.yaml")]}
    (folder / "study.yaml").write_text(json.dumps(study), encoding="utf-8")
    return [str(folder / "study.yaml"), "--output-path", str(folder)]


@pytest.mark.parametrize("words", [of_options, of_a_study])
def test_one_interrupt_ends_a_run_whose_server_is_waited_for(
    folder: Path, busy: str, asked: list[str], words: Callable[[Path, str], list[str]]
) -> None:
    """What a rate limit holds up is owed, and no error; nothing is asked after the interrupt."""
    command = [sys.executable, "-m", "resit", "run", *words(folder, busy)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = ""
    while "wants no requests for 300 s" not in said:
        said += (line := process.stderr.readline())
        assert line, said
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in rest) == (130, False), rest
    (journal,) = (folder / "run").rglob("generations.jsonl")
    lines = journal.read_text("utf-8").splitlines()
    assert [json.loads(line).get("error") for line in lines] == [None, None]
    assert len(asked) <= 6
