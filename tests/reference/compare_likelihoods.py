"""Lists how far the log-probabilities of the same texts differ between backends, token by token.

    python tests/reference/compare_likelihoods.py --folder MODEL-hf [--gguf MODEL-f32.gguf]
        [--quantised MODEL.gguf] [--vllm ENV/bin/python] -o OUT [--task gsm8k] [--limit 50] [--json FILE]

Both files come from `dequantised.py`, so the weights are those of the quantised one, which may stand beside
them. `hf` is what the others are held against, in float32. Each backend's figures are kept as OUT/NAME.json
and not measured again. For `--vllm`, an environment with `resit[vllm]`. Exit status 1 where a token of vLLM's
is further away than 0.001, or a backend divides a text into other tokens.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

Figures: TypeAlias = Mapping[str, Mapping[str, Any]]
"""By text, what `resit probe loglikelihood --tokens` tells of it."""

PROMISED = 1e-3
"""Nats between hf and vLLM, for every token."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a backend is from `hf`, in nats."""

    backend: str
    texts: int
    tokens: int
    other_tokens: int
    """Texts that the backend divides otherwise; they are left out of the rest."""
    mean: float
    """Absolute difference of a token, mean over tokens."""
    highest: float
    bias: float
    """Signed difference of a token, mean over tokens."""
    highest_text: float
    """Largest absolute difference of a text's mean log-probability a token."""


def agreement(backend: str, ours: Figures, theirs: Figures) -> Agreement:
    """Compare two backends' figures. ValueError where no text can be compared."""
    same = [key for key in ours if key in theirs and _pieces(ours[key]) == _pieces(theirs[key])]
    rows = [_differences(ours[key], theirs[key]) for key in same]
    every = [difference for row in rows for difference in row]
    if not every:
        raise ValueError(f"{backend} and hf have no text in the same tokens")
    return Agreement(
        backend=backend,
        texts=len(same),
        tokens=len(every),
        other_tokens=len(ours) - len(same),
        mean=math.fsum(map(abs, every)) / len(every),
        highest=max(map(abs, every)),
        bias=math.fsum(every) / len(every),
        highest_text=max(abs(math.fsum(row)) / len(row) for row in rows),
    )


def _pieces(figures: Mapping[str, Any]) -> list[str]:
    return list(figures["pieces"])


def _differences(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[float]:
    return [b - a for a, b in zip(ours["logprobs"], theirs["logprobs"], strict=True)]


def commands(asked: argparse.Namespace) -> dict[str, list[str]]:
    """By name, how each backend is asked; `hf` first."""
    hf = f"pretrained={asked.folder},dtype=float32"
    backends = {"hf": [sys.executable, "hf", hf]}
    if asked.vllm:
        more = "enforce_eager=true,block_size=32,max_model_len=1024"
        backends["vllm"] = [asked.vllm, "vllm", f"{hf},{more}"]
    for name, file in (("llamacpp, float32", asked.gguf), ("llamacpp, quantised", asked.quantised)):
        if file:
            backends[name] = [sys.executable, "llamacpp", f"pretrained={file}"]
    texts = ["--task", asked.task, "--limit", str(asked.limit), "--parts", "whole", "--tokens", "--json"]
    return {
        name: [python, "-m", "resit", "probe", "loglikelihood", "-M", kind, "-a", args, *texts]
        for name, (python, kind, args) in backends.items()
    }


def figures(name: str, command: Sequence[str], folder: Path) -> Figures:
    """What a backend says of the texts, from the file of an earlier call if there is one."""
    file = folder / f"{name.replace(', ', '-')}.json"
    if not file.exists():
        env = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", **os.environ}
        done = subprocess.run(command, stdout=subprocess.PIPE, env=env, check=False)
        if done.returncode:
            sys.exit(f"{name}: {' '.join(command)} ended with status {done.returncode}")
        file.write_bytes(done.stdout[done.stdout.index(b"{") :])  # an engine may write before it
    return {text["key"]: text for text in json.loads(file.read_bytes())["texts"] if "logprobs" in text}


def main() -> int:
    """Measure, compare, print."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--folder", type=Path, required=True)
    options.add_argument("--gguf", type=Path)
    options.add_argument("--quantised", type=Path)
    options.add_argument("--vllm", metavar="PYTHON")
    options.add_argument("-o", "--out", type=Path, required=True)
    options.add_argument("--task", default="gsm8k")
    options.add_argument("--limit", type=int, default=50)
    options.add_argument("--json", type=Path)
    asked = options.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    found = {name: figures(name, command, asked.out) for name, command in commands(asked).items()}
    rows = [agreement(name, found["hf"], theirs) for name, theirs in found.items() if name != "hf"]
    print("| beside hf | texts | tokens | mean | highest | bias | highest of a text, a token |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        numbers = f"{row.mean:.2g} | {row.highest:.2g} | {row.bias:+.2g} | {row.highest_text:.2g}"
        print(f"| {row.backend} | {row.texts} | {row.tokens} | {numbers} |")
    if asked.json:
        asked.json.write_text(json.dumps([asdict(row) for row in rows], indent=1), encoding="utf-8")
    return int(any(row.other_tokens or (row.backend == "vllm" and row.highest > PROMISED) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
