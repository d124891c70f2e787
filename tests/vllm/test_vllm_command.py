"""`resit run --model vllm` and `resit probe` as a user runs them, in processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

WORDS = ("-M", "vllm", "-a")


@pytest.fixture(scope="module")
def exam(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six sums of our own as a task with three repeats."""
    folder = tmp_path_factory.mktemp("exam")
    rows = [{"q": f"Q: {n} + 2 = ?\nA:", "a": str(n + 2)} for n in range(6)]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    task: dict[str, Any] = {
        "task": "sums", "dataset_path": "json", "test_split": "test", "repeats": 3,
        "dataset_kwargs": {"data_files": {"test": str(folder / "rows.jsonl")}},
        "doc_to_text": "{{q}}", "doc_to_target": "{{a}}", "output_type": "generate_until",
        "generation_kwargs": {
            "until": ["Q:"], "max_gen_toks": 16, "do_sample": True, "temperature": 0.8
        },
    }  # fmt: skip
    (folder / "sums.yaml").write_text(json.dumps(task), encoding="utf-8")
    return folder


def resit(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "resit", *map(str, words)], capture_output=True, text=True, timeout=600
    )


def test_a_run_that_ctrl_c_ended_goes_on(exam: Path, checkpoint: Path, tmp_path: Path) -> None:
    """Ctrl-C reaches every process of the terminal; what is in flight is finished all the same."""
    args = f"pretrained={checkpoint},dtype=float32,enforce_eager=true,max_model_len=512"
    task = ("-t", "sums", "--include-path", exam, "-o", tmp_path / "run", "-b", 2, "--json")
    words = [sys.executable, "-m", "resit", *map(str, ("run", *WORDS, args, *task))]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
        while running.poll() is None and not samples(tmp_path / "run"):
            time.sleep(0.02)
        os.killpg(running.pid, signal.SIGINT)
        _, told = running.communicate(timeout=300)
    assert running.returncode == 130, told
    before = samples(tmp_path / "run")
    assert 0 < len(before) < 18
    assert not [sample for sample in before if sample.get("error")]

    done = resit("run", *WORDS, args, *task)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert results["resit"]["tasks"]["sums"]["samples"]["scored"] == 18
    after = samples(tmp_path / "run")
    assert after[: len(before)] == before
    assert len({(s["doc_id"], s["repeat"]) for s in after}) == 18
    assert len({s["seed"] for s in after}) == 18


def samples(run: Path) -> list[dict[str, Any]]:
    path = run / "generations.jsonl"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def test_unknown_arguments_are_usage_errors(checkpoint: Path) -> None:
    done = resit("prompts", "gsm_fresh", *WORDS, f"pretrained={checkpoint},tensor_paralel_size=2")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "did you mean 'tensor_parallel_size'" in done.stderr
