"""The whole of `gsm8k_cot_self_consistency`, 84,416 samples, at a server that takes 20 ms a request.

    python benchmarks/self_consistency_server.py [--lm-eval PYTHON] [--limit N] [--seconds 0.02] [--rounds 1]

The sides take turns, each as a command of its own from its start to its last result: lm-eval's
local-completions, Resit with a request for each sample (`n=1`), Resit with as many texts a request as the
server gives (`n=auto`, 64). 64 requests are in flight; all read the same rows and, where `--lm-eval` names
the Python of an environment with lm_eval[api]==0.4.13, the same task file, lm-eval's own. Prints seconds,
samples a second, processor seconds and peak memory of each side, and how much faster Resit is.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from _figures import Figure, at_most, less, record
from client_throughput import IN_FLIGHT, MOST_MIB, server

TASK = "gsm8k_cot_self_consistency"
WANTED = {"resit, n=1": 2.0, "resit, n=auto": 10.0}
"""How many times faster than lm-eval each side should be."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one command took."""

    wall: float
    processor: float
    peak: float
    """MiB of the process itself."""


def cost_of(command: Sequence[str]) -> Cost:
    """Run a command. Raises CalledProcessError when it fails."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "none"}
    with tempfile.TemporaryFile() as log:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - began
        if process.returncode:
            log.seek(0)
            sys.stderr.write(log.read().decode(errors="replace")[-2000:])
            raise subprocess.CalledProcessError(process.returncode, command)
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def task_folder(scratch: Path, lm_eval: str) -> Path:
    """lm-eval's own task file with its rows in files."""
    from resit import assets

    where = "import lm_eval.tasks as t, os; print(os.path.dirname(t.__file__))"
    tasks = subprocess.run([lm_eval, "-c", where], capture_output=True, text=True, check=True).stdout.strip()
    files = {}
    for split in ("train", "test"):
        path = scratch / f"{split}.jsonl"
        rows = assets.rows("openai/gsm8k", "main", split)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        files[split] = str(path)
    task: dict[str, Any] = {
        "include": f"{tasks}/gsm8k/gsm8k-cot-self-consistency.yaml", "task": TASK, "dataset_path": "json",
        "dataset_name": None, "dataset_kwargs": {"data_files": files},
    }  # fmt: skip
    (scratch / f"{TASK}.yaml").write_text(yaml.safe_dump(task), encoding="utf-8")
    return scratch


def sides(url: str, scratch: Path, lm_eval: str | None, limit: list[str]) -> dict[str, list[str]]:
    """The command of each side; OUT stands for where it writes."""
    ours = [sys.executable, "-m", "resit", "run", "--model", "openai-completions", "--batch-size",
            str(IN_FLIGHT), "--output-path", "OUT", *limit]  # fmt: skip
    args = f"base_url={url},model=m"
    task = str(scratch / f"{TASK}.yaml") if lm_eval else TASK
    found = {
        "resit, n=1": [*ours, "--tasks", task, "--model-args", f"{args},n=1"],
        "resit, n=auto": [*ours, "--tasks", task, "--model-args", args],
    }
    if lm_eval:
        theirs = f"base_url={url}/completions,model=m,num_concurrent={IN_FLIGHT},tokenizer_backend=None"
        found["lm-eval"] = [
            lm_eval, "-m", "lm_eval", "--model", "local-completions", "--model_args",
            f"{theirs},tokenized_requests=False", "--tasks", TASK, "--include_path", str(scratch),
            "--output_path", "OUT", "--log_samples", *limit,
        ]  # fmt: skip
    return found


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--lm-eval", metavar="PYTHON")
    options.add_argument("--limit", type=int)
    options.add_argument("--seconds", type=float, default=0.02)
    options.add_argument("--rounds", type=int, default=1)
    asked = options.parse_args()
    limit = ["--limit", str(asked.limit)] if asked.limit else []
    samples = 64 * (asked.limit or 1319)
    best: dict[str, Cost] = {}
    with tempfile.TemporaryDirectory() as folder, server(asked.seconds) as url:
        scratch = Path(folder)
        if asked.lm_eval:
            task_folder(scratch, asked.lm_eval)
        for turn in range(asked.rounds):
            for name, command in sides(url, scratch, asked.lm_eval, limit).items():
                out = str(scratch / f"{name.replace(', ', '-')}-{turn}")
                cost = cost_of([out if word == "OUT" else word for word in command])
                if name not in best or cost.wall < best[name].wall:
                    best[name] = cost
    for name, cost in best.items():
        faster = f"{best['lm-eval'].wall / cost.wall:6.1f} x lm-eval" if "lm-eval" in best else ""
        print(
            f"{name:14} {cost.wall:7.1f} s  {samples / cost.wall:7.0f} samples/s  {cost.processor:7.1f} s of "
            f"processor  {cost.peak:6.0f} MiB  {faster}"
        )
    record(*figures(best, samples))


def figures(best: dict[str, Cost], samples: int) -> Iterator[Figure]:
    """What the table of all benchmarks shows."""
    theirs = best.get("lm-eval")
    for name, least in WANTED.items():
        ours, what = best[name], f"{samples:,} samples, {name}"
        if theirs:
            yield less(what, ours.wall, "s", "lm-eval", theirs.wall, least)
            yield less(f"{what}, memory", ours.peak, "MiB", "lm-eval", theirs.peak)
        else:
            yield Figure(what, ours.wall, "s")
        yield at_most(f"{what}, memory", ours.peak, "MiB", MOST_MIB)


if __name__ == "__main__":
    main()
