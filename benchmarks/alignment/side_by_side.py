"""Both programs ask one server the same questions of a real model, greedily; then sample is laid on sample.

lm-eval reads the data set from a folder of its working directory that is named as the data set is, so it
needs no network; its task files are its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resit import assets, jsonl

from .comparing import NOTHING, Sample, Side, compare, digest
from .serving import Door, served

SECONDS = 4 * 3600
"""After which a side counts as stuck."""
CARD = """---
configs:
- config_name: main
  data_files:
  - {split: train, path: main/train.jsonl}
  - {split: test, path: main/test.jsonl}
---
"""
END_OF_TEXT = "<|im_end|>"
"""lm-eval wants a stop string for the end of a text; this one stands in the tasks already."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What both sides are asked, and with what."""

    lm_eval: Path
    """The Python that has lm-eval."""
    model: Path
    limit: int
    concurrent: int
    output: Path
    threads: int | None = None


def run(asked: Asked, tasks: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(task, findings), each as soon as it is known. A side that was asked before is not asked again."""
    asked.output.mkdir(parents=True, exist_ok=True)
    with served(asked.model, asked.concurrent, asked.threads) as door:
        for task in tasks:
            yield task, _task(asked, task, door)


def _task(asked: Asked, task: str, door: Door) -> dict[str, Any]:
    folder = asked.output / task
    folder.mkdir(exist_ok=True)
    if not (folder / "resit.sent.json").exists():
        _ask(_resit(asked, task, door.root), folder / "resit", door)
    if not (folder / "lm-eval.sent.json").exists():
        _write_data(folder / "data")
        _ask(_lm_eval(asked, task, door.root), folder / "lm-eval", door, folder / "data")
    findings = compare(our_samples(folder / "run", task), their_samples(folder / "lm-eval", task))
    sides = {"ours": "resit", "theirs": "lm-eval"}
    sent = {side: json.loads((folder / f"{name}.sent.json").read_bytes()) for side, name in sides.items()}
    return {**findings, "sent": _split(sent["ours"], sent["theirs"])}


def _split(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """The settings that both sent, and those that differ."""
    both = {key: value for key, value in ours.items() if key in theirs and theirs[key] == value}
    return {
        "both": both,
        "ours_only": {key: value for key, value in ours.items() if key not in both},
        "theirs_only": {key: value for key, value in theirs.items() if key not in both},
    }


def _resit(asked: Asked, task: str, root: str) -> list[str]:
    server = f"base_url={root},server_name=alignment,num_concurrent={asked.concurrent},timeout={SECONDS}"
    return [
        sys.executable, "-m", "resit", "run", "--model", "openai-completions", "--model-args", server,
        "--tasks", task, "--limit", str(asked.limit),
        "--output-path", str(asked.output / task / "run"),
    ]  # fmt: skip


def _lm_eval(asked: Asked, task: str, root: str) -> list[str]:
    served_as = (
        f"model=alignment,base_url={root}/completions,num_concurrent={asked.concurrent},max_retries=1,"
        f"tokenizer_backend=None,tokenized_requests=False,eos_string={END_OF_TEXT},timeout={SECONDS}"
    )
    return [
        str(asked.lm_eval), "-m", "lm_eval", "run", "--model", "local-completions",
        "--model_args", served_as, "--tasks", task, "--limit", str(asked.limit), "--batch_size", "1",
        "--output_path", str((asked.output / task / "lm-eval").absolute()), "--log_samples",
    ]  # fmt: skip


def _ask(command: list[str], name: Path, door: Door, folder: Path | None = None) -> None:
    """Run one side and keep its settings; its own words go to a log."""
    offline = {"HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "unused", "TQDM_DISABLE": "1"}
    log = name.with_suffix(".log")
    door.settings()
    with log.open("wb") as words:
        done = subprocess.run(
            command, cwd=folder, stdout=words, stderr=words, env={**os.environ, **offline}, timeout=SECONDS
        )
    if done.returncode:
        sys.exit(f"{name.name} failed with status {done.returncode}; its log is {log}")
    settings = json.dumps(door.settings(), ensure_ascii=False)
    name.with_name(f"{name.name}.sent.json").write_text(settings, encoding="utf-8")


def _write_data(folder: Path) -> None:
    """GSM8K as lm-eval finds it without a hub: a folder with the data set's name, and a card."""
    home = folder / "openai" / "gsm8k"
    (home / "main").mkdir(parents=True, exist_ok=True)
    (home / "README.md").write_text(CARD, encoding="utf-8")
    for split in ("train", "test"):
        rows = assets.rows("openai/gsm8k", "main", split)
        text = "".join(json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows)
        (home / "main" / f"{split}.jsonl").write_text(text, encoding="utf-8")


def our_samples(run: Path, task: str) -> Side:
    """What Resit's run folder holds of a task."""
    asked = {line["doc_id"]: line for line in _lines(run / "prompts.jsonl") if line["task"] == task}
    texts = {line["doc_id"]: line["text"] for line in _lines(run / "generations.jsonl")}
    return {
        line["doc_id"]: Sample(
            prompt=asked[line["doc_id"]]["prompt_sha256"],
            target=str(asked[line["doc_id"]]["target"]),
            text=texts[line["doc_id"]],
            verdicts={
                rule: (verdict["extracted"] or NOTHING, float(verdict["correct"]))
                for rule, verdict in line["verdicts"].items()
            },
        )
        for line in _lines(run / "scores.jsonl")
        if line["task"] == task
    }


def their_samples(output: Path, task: str) -> Side:
    """What lm-eval's newest log of samples holds."""
    logs = sorted(output.rglob(f"samples_{task}_*.jsonl"))
    if not logs:
        sys.exit(f"lm-eval wrote no samples of {task} below {output}")
    found: dict[int, Sample] = {}
    verdicts: dict[int, dict[str, tuple[str, float]]] = {}
    for line in _lines(logs[-1]):
        doc = int(line["doc_id"])
        verdicts.setdefault(doc, {})[line["filter"]] = (line["filtered_resps"][0], float(line["exact_match"]))
        arguments = line["arguments"]["gen_args_0"]["arg_0"]
        found[doc] = Sample(digest(arguments), str(line["target"]), line["resps"][0][0], verdicts[doc])
    return found


def _lines(file: Path) -> list[dict[str, Any]]:
    return [line.value for line in jsonl.read(file) if line.value is not None]
