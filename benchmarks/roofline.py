"""How much of the decode speed that the machine allows our engine for `hf` reaches.

    python benchmarks/roofline.py [--model FOLDER] [--rows 1,16,64] [--shared N] [--tokens N] [--rounds N]

Measures the machine: bytes read a second from main memory, and multiplications of large matrices a second, in
float32 with torch's threads. Counts what one step must do for a number of rows that share a prefix, operation
by operation: every weight is read once and used by every row, the shared keys and values are read once, each
row's own are read for it alone. The least time of an operation is the larger of bytes over bandwidth and
operations over throughput; that of a step is their sum. The engine's step is measured as the difference
between runs of few and of many tokens, so that loading and the prompts do not count.

Without `--model` the catalogue's SmolLM2-135M is dequantised to float32 first.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from resit.models.hf.engine import Engine
from resit.models.hf.rows import Row, Settings
from resit.records import Sampling

DEQUANTISED = Path(__file__).parents[1] / "tests" / "reference" / "dequantised.py"
FLOAT = 4
READ_BYTES = 2**29
SIDE = 2048
FEW = 4
OWN = 70
"""Tokens of a question of GSM8K, which each row computes for itself."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What the machine can do: bytes and multiply-adds' operations (two each) a second."""

    bandwidth: float
    throughput: float


@dataclass(frozen=True, slots=True)
class Operation:
    """What has to be moved and computed at least."""

    name: str
    bytes: float
    flops: float

    def seconds(self, machine: Machine) -> float:
        """The least time it takes."""
        return max(self.bytes / machine.bandwidth, self.flops / machine.throughput)


def best(work: Callable[[], Any], times: int = 7) -> float:
    """The least of several times, in seconds; what disturbs a run only makes it longer."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return min(taken)


def measure() -> Machine:
    """The machine's bandwidth and throughput, in float32."""
    stream = torch.ones(READ_BYTES // FLOAT)
    left, right = torch.randn(SIDE, SIDE), torch.randn(SIDE, SIDE)
    return Machine(READ_BYTES / best(stream.sum), 2 * SIDE**3 / best(lambda: left @ right))


def step(model: Any, rows: int, shared: int, own: float) -> Iterator[Operation]:
    """The operations of one decode step: `rows` rows behind `shared` common tokens and `own` of each."""
    config = model.config
    for name, module in model.named_modules():
        if hasattr(module, "in_features"):
            size = module.in_features * module.out_features
            moved = rows * (module.in_features + module.out_features)
            yield Operation(name, FLOAT * (size + moved), 2 * size * rows)
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    kept = 2 * config.num_key_value_heads * width * FLOAT
    work = 4 * config.num_attention_heads * width
    for layer in range(config.num_hidden_layers):
        yield Operation(f"shared keys {layer}", kept * shared, work * shared * rows)
        yield Operation(f"own keys {layer}", kept * own * rows, work * own * rows)


def decoded(engine: Engine, prompt: list[int], rows: int, tokens: int) -> float:
    """Seconds that the rows take for so many tokens, all told."""
    vocabulary = range(5, 5 + OWN)
    asked = [
        Row(n, (*prompt, *(token + n for token in vocabulary)), Sampling(max_tokens=tokens))
        for n in range(rows)
    ]
    began = time.perf_counter()
    ended = list(engine.run(asked))
    taken = time.perf_counter() - began
    assert all(len(row.token_ids) == tokens for row in ended), "a row ended early"
    return taken


def reached(model: Any, tokenizer: Any, rows: int, options: argparse.Namespace) -> float:
    """Seconds of one step of the engine, the median over the rounds."""
    settings = Settings(context=4096, rows=rows, end_token_ids=frozenset({-1}))
    engine = Engine(model, tokenizer, settings, print)
    prompt = [1000 + 7 * n % 20000 for n in range(options.shared)]
    decoded(engine, prompt, rows, 2)
    steps: list[float] = []
    for _ in range(options.rounds):
        few, many = (decoded(engine, prompt, rows, tokens) for tokens in (FEW, FEW + options.tokens))
        steps.append((many - few) / options.tokens)
    engine.close()
    return float(statistics.median(steps))


def opened(folder: str | None) -> tuple[Any, Any]:
    """Model and tokenizer."""
    import transformers

    package: Any = transformers
    package.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as scratch:
        if folder is None:
            from resit import assets

            folder = f"{scratch}/model"
            source = str(assets.fetch("smollm2-135m"))
            subprocess.run([sys.executable, str(DEQUANTISED), source, "--folder", folder], check=True)
        model = package.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        return model.requires_grad_(False), package.AutoTokenizer.from_pretrained(folder)


def main() -> None:
    """Print a line for each number of rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model")
    parser.add_argument("--rows", default="1,16,64", help="rows decoded together")
    parser.add_argument("--shared", type=int, default=730, help="tokens that all rows share")
    parser.add_argument("--tokens", type=int, default=24, help="tokens by which the two runs differ")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    machine = measure()
    model, tokenizer = opened(options.model)
    print(
        f"{machine.bandwidth / 1e9:.1f} GB/s read, {machine.throughput / 1e9:.0f} GFLOP/s in float32 with "
        f"{torch.get_num_threads()} threads; load {os.getloadavg()[0]:.1f}"
    )
    print(
        f"{'rows':>5} {'least ms':>9} {'engine ms':>10} {'tokens/s':>9} {'possible':>9} {'share':>6}  most in"
    )
    for rows in map(int, options.rows.split(",")):
        operations = list(step(model, rows, options.shared, OWN + FEW + options.tokens / 2))
        least = sum(operation.seconds(machine) for operation in operations)
        moved = sum(
            o.seconds(machine)
            for o in operations
            if o.bytes / machine.bandwidth > o.flops / machine.throughput
        )
        bound = "memory" if moved > least / 2 else "arithmetic"
        taken = reached(model, tokenizer, rows, options)
        print(
            f"{rows:5d} {1000 * least:9.1f} {1000 * taken:10.1f} {rows / taken:9.1f} {rows / least:9.1f} "
            f"{least / taken:6.0%}  {bound}",
            flush=True,
        )
    again = measure()
    print(f"afterwards {again.bandwidth / 1e9:.1f} GB/s, {again.throughput / 1e9:.0f} GFLOP/s")


if __name__ == "__main__":
    main()
