"""`resit run --model vllm` and `resit probe` as a user runs them, in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
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


def test_a_run_from_the_shell(exam: Path, checkpoint: Path, tmp_path: Path) -> None:
    args = f"pretrained={checkpoint},dtype=float32,enforce_eager=true,max_model_len=512"
    task = ("-t", "sums", "--include-path", exam, "-o", tmp_path / "run", "--json")
    done = resit("run", *WORDS, args, *task)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert results["resit"]["tasks"]["sums"]["samples"]["scored"] == 18
    lines = (tmp_path / "run" / "generations.jsonl").read_bytes().split(b"\n")
    samples = [json.loads(line) for line in lines if line]
    assert len({(s["doc_id"], s["repeat"]) for s in samples}) == 18
    assert len({s["seed"] for s in samples}) == 18
    again = resit("run", *WORDS, args, *task)  # nothing is owed: nothing is loaded
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["results"] == results["results"]


def test_unknown_arguments_are_usage_errors(checkpoint: Path) -> None:
    done = resit("prompts", "gsm_fresh", *WORDS, f"pretrained={checkpoint},tensor_paralel_size=2")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "did you mean 'tensor_parallel_size'" in done.stderr
