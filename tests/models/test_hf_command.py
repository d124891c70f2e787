"""`resit run` and `resit prompts` with a model of transformers, as processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs resit[hf]")

QUESTIONS = 24
TASK = """\
task: sums
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
doc_to_text: "Question: {{{{question}}}}\\nAnswer:"
doc_to_target: "{{{{answer}}}}"
generation_kwargs: {{until: ["\\u0001"], max_gen_toks: 200, do_sample: true, temperature: 0.7}}
repeats: 2
filter_list:
  - {{name: first, filter: [{{function: take_first}}]}}
metric_list:
  - {{metric: exact_match, aggregation: mean, higher_is_better: true}}
"""


@pytest.fixture(scope="module")
def exam(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exam")
    rows = [{"question": f"What is {i} + {i}?", "answer": str(2 * i)} for i in range(QUESTIONS)]
    (folder / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "sums.yaml").write_text(TASK.format(data=folder / "sums.jsonl"), encoding="utf-8")
    return folder / "sums.yaml"


@pytest.fixture(scope="module")
def folder(small_model: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_model(tmp_path_factory.mktemp("models") / "tiny", "llama", num_key_value_heads=2)


def resit(*words: object) -> list[str]:
    return [sys.executable, "-m", "resit", *map(str, words)]


def lines(run: Path) -> list[dict[str, Any]]:
    path = run / "generations.jsonl"
    whole = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in whole]


def texts(run: Path) -> dict[tuple[int, int], str]:
    found = lines(run)
    assert all(line.get("error") is None for line in found)
    assert len({(line["doc_id"], line["repeat"]) for line in found}) == len(found), "nothing is done twice"
    return {(line["doc_id"], line["repeat"]): line["text"] for line in found}


@pytest.mark.slow
def test_a_run_that_was_killed_ends_as_one_that_was_not(folder: Path, exam: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "RESIT_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}

    def command(run: str, rows: int) -> list[str]:
        model = ("--model", "hf", "--model_args", f"pretrained={folder},device=cpu")
        return resit("run", *model, "--tasks", exam, "--batch_size", rows, "--output_path", tmp_path / run)

    subprocess.run(command("whole", 16), env=environment, check=True, capture_output=True)
    process = subprocess.Popen(
        command("cut", 5), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + 120
    while len(lines(tmp_path / "cut")) < 3 and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    process.kill()
    process.wait()
    before = len(lines(tmp_path / "cut"))
    assert 3 <= before < 2 * QUESTIONS
    subprocess.run(command("cut", 3), env=environment, check=True, capture_output=True)
    assert len(texts(tmp_path / "cut")) == 2 * QUESTIONS
    assert texts(tmp_path / "cut") == texts(tmp_path / "whole")


@pytest.mark.slow
def test_the_prompts_are_shown_with_their_bos_once(folder: Path, exam: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "RESIT_CACHE": str(tmp_path / "cache")}
    model = ("--model", "hf", "--model_args", f"pretrained={folder}")
    done = subprocess.run(
        resit("prompts", exam, *model, "--limit", 1, "--jsonl"),
        env=environment, check=True, capture_output=True,
    )  # fmt: skip
    shown = json.loads(done.stdout)
    assert shown["bos"] is True
    assert shown["token_ids"].count(1) == 1
    assert shown["text"] == shown["prompt"]
