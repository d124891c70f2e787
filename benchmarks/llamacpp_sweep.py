"""Which layout of llama.cpp's server answers fastest: slots, batch sizes, threads, a unified cache.

    python benchmarks/llamacpp_sweep.py [--pretrained FILE] [--questions N] [--tokens N]
        [--threads N] [--only WORD,…]

Two loads, each on a fresh server: questions that share eight exemplars, and two questions with many repeats,
which share the whole prompt. Printed are seconds, processor seconds (of the whole process, which is what to
go by on a machine with other work), prompt tokens evaluated rather than found in a cache, and a digest of the
texts: rows of the same digest are the same texts.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from _figures import Figure, less, record

from resit.models import Setup, create
from resit.models.llamacpp import LlamaCppModel
from resit.records import Document, Question, Request, Sampling

SHOTS = "".join(
    f"Q: Ana has {n} pens and buys {n + 1} more. Then she gives {n // 2} away. How many pens has she?\n"
    f"A: She has {n} + {n + 1} = {2 * n + 1} pens, then {2 * n + 1} - {n // 2} = {2 * n + 1 - n // 2}. "
    f"The answer is {2 * n + 1 - n // 2}.\n\n"
    for n in range(3, 11)
)
LONG = "He found them in the garden, under the old tree, and means to share the rest with his two sisters. "


@dataclass(frozen=True)
class Case:
    """One layout, beside the defaults."""

    name: str
    slots: int = 8
    args: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    shares_repeats: bool = True


CASES = (
    Case("defaults: 8 slots"),
    Case("each slot for itself", shares_repeats=False),
    Case("4 slots", slots=4),
    Case("16 slots", slots=16),
    Case("32 slots", slots=32),
    Case("ubatch 64", more={"n_ubatch": 64}),
    Case("ubatch 128", more={"n_ubatch": 128}),
    Case("ubatch 2048", more={"n_ubatch": 2048}),
    Case("batch 256", more={"n_batch": 256, "n_ubatch": 256}),
    Case("unified cache", more={"kv_unified": True}),
    Case("cache reuse 32", more={"n_cache_reuse": 32}),
    Case("1 thread", args={"n_threads": "1"}),
    Case("4 threads", args={"n_threads": "4"}),
    Case("not steady", args={"steady": "false"}),
    Case("not steady, 16 slots", slots=16, args={"steady": "false"}),
)


def requests(questions: int, repeats: int, tokens: int) -> Iterator[Request]:
    """Sampled, so that repeats differ; a question's repeats come together, as in a run."""
    sampling = Sampling(tokens, temperature=0.8 if repeats > 1 else 0.0, extra={"ignore_eos": True})
    for number in range(questions):
        text = f"{SHOTS}Q: Tom has {number + 10} nuts and eats two of them. {LONG}How many has he left?\nA:"
        question = Question("t", Document(number, str(number), {}), text, "")
        for repeat in range(repeats):
            yield Request(question, repeat, sampling, 1000 * number + repeat)


@dataclass(frozen=True)
class Measured:
    """What one layout did with one load."""

    seconds: float
    processor: float
    written: int
    evaluated: int
    digest: str

    def __str__(self) -> str:
        rate = self.written / self.seconds
        times = f"{self.seconds:6.1f} s {self.processor:6.1f} s"
        return f"{times} {rate:5.0f} tokens/s {self.evaluated:6} {self.digest}"


def measure(case: Case, base: Mapping[str, str], questions: int, repeats: int, tokens: int) -> Measured:
    """One load on a fresh server."""
    args = {"n_ctx": "1536", **base, **case.args}
    with create("llamacpp", args, Setup(concurrency=case.slots)) as model:
        assert isinstance(model, LlamaCppModel)
        model._layout = replace(model._layout, more=case.more)
        model.shares_repeats = case.shares_repeats
        model.load()
        began, used = time.perf_counter(), time.process_time()
        found = list(model.generate(requests(questions, repeats, tokens)))
        seconds, processor = time.perf_counter() - began, time.process_time() - used
    failed = [generation.error for generation in found if generation.error]
    assert not failed, failed[0]
    evaluated = sum((g.prompt_tokens or 0) - (g.cached_tokens or 0) for g in found)
    written = sum(g.completion_tokens or 0 for g in found)
    texts = sorted((g.doc_id, g.repeat, g.text) for g in found)
    digest = hashlib.sha256(repr(texts).encode()).hexdigest()[:6]
    return Measured(seconds, processor, written, evaluated, digest)


def figure(load: str, found: Mapping[str, Measured]) -> Figure:
    """The defaults, beside the quickest other layout that writes the same texts: by processor time."""
    name, *others = found
    ours = found[name]
    what, note = f"{load}, {name}", f"{ours.written / ours.seconds:.0f} tokens/s; processor time"
    alike = [other for other in others if found[other].digest == ours.digest]
    if not alike:
        return Figure(what, ours.processor, "s", note=note)
    best = min(alike, key=lambda other: found[other].processor)
    return less(
        what, ours.processor, "s", f"the quickest other layout: {best}", found[best].processor, note=note
    )


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pretrained", default="smollm2-135m")
    options.add_argument("--questions", type=int, default=32)
    options.add_argument("--tokens", type=int, default=32)
    options.add_argument("--threads", help="of llama.cpp, but where a case is about them")
    options.add_argument("--only", default="", help="cases whose names hold one of these, comma-separated")
    asked = options.parse_args()
    base = {"pretrained": asked.pretrained, **({"n_threads": asked.threads} if asked.threads else {})}
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; seconds, processor seconds, tokens/s, ")
    print(
        f"prompt tokens evaluated, texts: {asked.questions} questions | 2 questions x {asked.questions // 2}"
    )
    found: dict[str, dict[str, Measured]] = {"shared exemplars": {}, "repeats": {}}
    for case in CASES:
        if any(word in case.name for word in asked.only.split(",")):
            shared = measure(case, base, asked.questions, 1, asked.tokens)
            repeated = measure(case, base, 2, asked.questions // 2, asked.tokens)
            print(f"{case.name:22} {shared} | {repeated}  (load {os.getloadavg()[0]:.1f})", flush=True)
            found["shared exemplars"][case.name], found["repeats"][case.name] = shared, repeated
    record(*(figure(load, layouts) for load, layouts in found.items() if layouts))


if __name__ == "__main__":
    main()
