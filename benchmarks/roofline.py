"""How much of the decode speed that the machine allows our engine for `hf` reaches.

    python benchmarks/roofline.py [--model FOLDER] [--rows 1,16,64] [--shared N] [--tokens N] [--rounds N]

Measures the machine: bytes read a second from main memory, and multiplications of large matrices a second,
in float32 with torch's threads, before and after each run of the engine. Counts what one step must do for a
number of rows that share a prefix, operation by operation: every weight is read once and used by every row,
the shared keys and values are read once, each row's own are read for it alone. The least time of an
operation is the larger of bytes over bandwidth and operations over throughput; that of a step is their sum.
The engine's step is the median time between the beginnings of two passes that hold one token of every row
and nothing else.

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
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from _figures import LIMIT, more, record

from resit.models.hf.engine import PREFILL, Engine
from resit.models.hf.rows import Row, Settings
from resit.records import Sampling

DEQUANTISED = Path(__file__).parents[1] / "tests" / "reference" / "dequantised.py"
FLOAT = 4
READ_BYTES = 2**29
SIDE = 2048
LEAST_SHARE = 0.6
"""Wanted of the speed that the machine allows."""
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


def between(before: Machine, after: Machine) -> Machine:
    """The mean of two measurements: a machine that others share changes from minute to minute."""
    return Machine(
        (before.bandwidth + after.bandwidth) / 2,
        (before.throughput + after.throughput) / 2,
    )


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


def steps(engine: Engine, model: Any, prompt: list[int], rows: int, tokens: int) -> list[float]:
    """Seconds from the beginning of one pass to that of the next, of passes with one token of every row."""
    asked = [
        Row(n, (*prompt, *(token + n for token in range(5, 5 + OWN))), Sampling(max_tokens=tokens))
        for n in range(rows)
    ]
    begun: list[tuple[float, int]] = []
    hook = model.register_forward_pre_hook(
        lambda _model, _args, given: begun.append((time.perf_counter(), given["input_ids"].shape[1])),
        with_kwargs=True,
    )
    try:
        ended = list(engine.run(asked))
    finally:
        hook.remove()
    assert all(len(row.token_ids) == tokens for row in ended), "a row ended early"
    return [
        next_began - began
        for (began, packed), (next_began, next_packed) in pairwise(begun)
        if packed == next_packed == rows
    ]


def passes(rows: int, shared: int) -> int:
    """Passes until the last row's prompt is computed, at most; the first rows decode meanwhile."""
    return 1 + -(-(shared + rows * OWN) // PREFILL["cpu"])


def own(rows: int, shared: int, tokens: int) -> float:
    """Own keys of a row in the median step."""
    return OWN + (passes(rows, shared) + tokens) / 2


def reached(model: Any, tokenizer: Any, rows: int, options: argparse.Namespace) -> float:
    """Seconds of one step of the engine, the median."""
    settings = Settings(context=4096, rows=rows, end_token_ids=frozenset({-1}))
    engine = Engine(model, tokenizer, settings, print)
    prompt = [1000 + 7 * n % 20000 for n in range(options.shared)]
    taken: list[float] = []
    for _ in range(options.rounds):
        taken += steps(engine, model, prompt, rows, passes(rows, options.shared) + options.tokens)
    engine.close()
    return statistics.median(taken)


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
    parser.add_argument("--tokens", type=int, default=24, help="steps that all rows take together")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    model, tokenizer = opened(options.model)
    print(f"float32 with {torch.get_num_threads()} threads; load {os.getloadavg()[0]:.1f}")
    print(
        f"{'rows':>5} {'GB/s':>6} {'GFLOP/s':>8} {'least ms':>9} {'engine ms':>10} {'tokens/s':>9} "
        f"{'possible':>9} {'share':>6}  most in"
    )
    for rows in map(int, options.rows.split(",")):
        before = measure()
        taken = reached(model, tokenizer, rows, options)
        machine = between(before, measure())
        operations = list(step(model, rows, options.shared, own(rows, options.shared, options.tokens)))
        least = sum(operation.seconds(machine) for operation in operations)
        moved = sum(
            o.seconds(machine)
            for o in operations
            if o.bytes / machine.bandwidth > o.flops / machine.throughput
        )
        bound = "memory" if moved > least / 2 else "arithmetic"
        print(
            f"{rows:5d} {machine.bandwidth / 1e9:6.1f} {machine.throughput / 1e9:8.0f} {1000 * least:9.1f} "
            f"{1000 * taken:10.1f} {rows / taken:9.1f} {rows / least:9.1f} {least / taken:6.0%}  {bound}",
            flush=True,
        )
        possible, note = rows / least, f"bound by {bound}"
        record(more(f"decoding {rows} rows", rows / taken, "tokens/s", LIMIT, possible, LEAST_SHARE, note))


if __name__ == "__main__":
    main()
