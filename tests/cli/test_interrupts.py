"""Ctrl-C once finishes what is in flight; twice stops at once; neither loses anything."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

QUESTIONS = 40
TASK = """\
task: sums
dataset_path: json
dataset_kwargs: {data_files: {test: DATA}}
test_split: test
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
"""


def words(folder: Path, delay: float) -> list[str]:
    return [
        *(sys.executable, "-m", "resit", "run", "--model", "scripted", "--model_args"),
        *(f"text={{target}},delay={delay}", "--tasks", str(folder / "sums.yaml"), "--batch_size", "2"),
        *("--output_path", str(folder / "run")),
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [{"question": f"{i} + {i}?", "answer": str(2 * i)} for i in range(1, QUESTIONS + 1)]
    data = tmp_path / "sums.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "sums.yaml").write_text(TASK.replace("DATA", str(data)), encoding="utf-8")
    return tmp_path


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
