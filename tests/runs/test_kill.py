"""A real llama.cpp run, killed at twenty random moments, ends where an undisturbed one ends."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

KILLS = 20

pytestmark = pytest.mark.slow


def command(folder: Path) -> list[str]:
    return [
        *(
            sys.executable,
            "-m",
            "resit",
            "run",
            "--model",
            "llamacpp",
            "--tasks",
            "gsm_fresh",
            "--limit",
            "16",
        ),
        *("--model_args", "pretrained=smollm2-135m", "--gen_kwargs", "max_gen_toks=48", "--batch_size", "4"),
        *("--output_path", str(folder)),
    ]


def journal(folder: Path) -> list[bytes]:
    path = folder / "generations.jsonl"
    return path.read_bytes().splitlines() if path.exists() else []


def texts(folder: Path) -> dict[int, str]:
    return {line["doc_id"]: line["text"] for line in map(json.loads, journal(folder))}


def killed_after(seconds: float, folder: Path, environment: dict[str, str]) -> bool:
    """Whether the command was still running when it was killed."""
    process = subprocess.Popen(
        command(folder), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return True
    assert process.returncode == 0
    return False


def killed_often(folder: Path, whole: float, environment: dict[str, str]) -> int:
    """How often a run was killed, at random moments, before it finished."""
    moments, kills = random.Random(20), 0
    while kills < KILLS:
        before = journal(folder)
        # mostly while samples are finishing, sometimes while the program is still starting
        if not killed_after(moments.uniform(0.05, 0.6) * whole, folder, environment):
            break
        kills += 1
        assert journal(folder)[: len(before)] == before, "what was finished stays as it was"
    return kills


def test_twenty_kills_lose_nothing_and_change_nothing(tmp_path: Path, model_cache: Path) -> None:
    environment = {**os.environ, "RESIT_CACHE": str(model_cache)}
    began = time.monotonic()
    subprocess.run(command(tmp_path / "whole"), env=environment, check=True, capture_output=True)
    whole = time.monotonic() - began
    for attempt in range(4):  # a machine that has become quicker since may finish before it is killed twice
        cut = tmp_path / f"cut-{attempt}"
        if killed_often(cut, whole / 2**attempt, environment) >= 2:
            break
    else:
        pytest.fail("the run was never killed twice")
    subprocess.run(command(cut), env=environment, check=True, capture_output=True)
    finished = [json.loads(line)["doc_id"] for line in journal(cut)]
    assert sorted(finished) == list(range(16)), "no finished sample was generated a second time"
    assert texts(cut) == texts(tmp_path / "whole")
    results = [(run / "results.json").read_bytes() for run in (cut, tmp_path / "whole")]
    assert results[0] == results[1]
