"""What Resit adds to vLLM: the same requests by `LLM.generate` alone, and through the harness.

    .venv-vllm/bin/python benchmarks/vllm_overhead.py --pretrained FOLDER
        [--questions N] [--tokens N] [--rounds N]

One engine serves both sides, which take turns; its prefix cache is emptied before each. The bare side hands
over texts and waits for all. Ours makes prompts as they are pulled, gives every sample its seed, and journals
and grades each as it ends. Then four questions with sixteen repeats each: one request with `n=16`, where vLLM
chooses the seeds, against sixteen requests with a seed each. On a machine with other work the processor time
of this process (the engine has its own) says more than the clock.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _figures import Figure, at_most, less, record

from resit.grading.scoring import scorer
from resit.models import Setup, create
from resit.models.vllm.engine import _One
from resit.models.vllm.model import VllmModel
from resit.records import (
    Document,
    FilterChain,
    FilterStep,
    MetricSpec,
    Question,
    Request,
    Sampling,
    ScoringRules,
)
from resit.runs.journal import AppendFile, to_line

SHOTS = "".join(
    f"Question: Ana has {n} pens and buys {n + 1} more. "
    f"Then she gives {n // 2} away. How many pens has she?\n"
    f"Answer: She has {n} + {n + 1} = {2 * n + 1} pens, then {2 * n + 1} - {n // 2} = {2 * n + 1 - n // 2}. "
    f"The answer is {2 * n + 1 - n // 2}.\n\n"
    for n in range(3, 11)
)
REGEX = {"regex_pattern": r"The answer is (\-?[0-9\.\,]+)."}
RULES = ScoringRules(
    filters=(FilterChain("strict-match", (FilterStep("regex", REGEX), FilterStep("take_first"))),),
    metrics=(MetricSpec("exact_match"),),
)
REPEATED, REPEATS = 4, 16
MOST_ADDED = 3.0
"""Per cent of `LLM.generate`'s time that the harness may add."""


@dataclass(frozen=True)
class Load:
    """What both sides are asked."""

    questions: int
    repeats: int
    sampling: Sampling

    def texts(self) -> list[str]:
        """The prompts; all share eight exemplars."""
        return [f"{SHOTS}Question: Tom has {n} nuts and eats two of them. How many has he left?\nAnswer:"
                for n in range(10, 10 + self.questions)]  # fmt: skip

    def requests(self) -> Iterator[Request]:
        """The same as Resit's requests."""
        for number, text in enumerate(self.texts()):
            question = Question("t", Document(number, f"{number:064x}", {}), text, str(number + 8))
            for repeat in range(self.repeats):
                yield Request(question, repeat, self.sampling, self.seed(number, repeat))

    def seed(self, number: int, repeat: int) -> int:
        """Consecutive within a question, as vLLM's own are, so that both sides write the same texts."""
        return 1000 * number + repeat


def llm(model: VllmModel) -> Any:
    """vLLM's own object in the model."""
    driver = model._engine().driver
    assert isinstance(driver, _One)
    return driver.llm


def bare(model: VllmModel, load: Load, n: int) -> list[str]:
    """The texts of `LLM.generate`, a request for each prompt, and for each `n` of its repeats."""
    import vllm

    sampling = load.sampling
    prompts, params = [], []
    for number, text in enumerate(load.texts()):
        for repeat in range(0, load.repeats, n):
            prompts.append(text)
            params.append(
                vllm.SamplingParams(
                    n=n,
                    temperature=sampling.temperature,
                    max_tokens=sampling.max_tokens,
                    stop=list(sampling.stop),
                    seed=load.seed(number, repeat),
                    ignore_eos=True,
                )
            )
    outputs = llm(model).generate(prompts, params, use_tqdm=False)
    return [text.text for output in outputs for text in output.outputs]


def ours(model: VllmModel, load: Load) -> list[str]:
    """The same texts through Resit, journaled and graded."""
    questions: dict[int, Question] = {}

    def remembered() -> Iterator[Request]:
        for request in load.requests():
            questions[request.question.document.doc_id] = request.question
            yield request

    score, texts = scorer(RULES), {}
    with tempfile.TemporaryDirectory() as folder:
        journal = AppendFile(Path(folder) / "generations.jsonl")
        for generation in model.generate(remembered()):
            journal.append(to_line(generation))
            score(questions[generation.doc_id], [generation])
            texts[generation.doc_id, generation.repeat] = generation.text
        journal.close()
    return [texts[key] for key in sorted(texts)]


Side = Callable[[], list[str]]


def alternate(model: VllmModel, sides: dict[str, Side], rounds: int) -> Iterator[Figure]:
    """Let the sides take turns and print medians; the first is what the others are measured against."""
    clock: dict[str, list[float]] = {name: [] for name in sides}
    processor: dict[str, list[float]] = {name: [] for name in sides}
    written: dict[str, list[str]] = {}
    for number in range(rounds + 1):
        for name, side in sides.items():
            llm(model).reset_prefix_cache()
            began, used = time.perf_counter(), time.process_time()
            written[name] = side()
            if number:  # the first round warms up
                clock[name].append(time.perf_counter() - began)
                processor[name].append(time.process_time() - used)
    first, *_ = sides
    base, own = statistics.median(clock[first]), statistics.median(processor[first])
    for name in sides:
        seconds, mine = statistics.median(clock[name]), statistics.median(processor[name])
        same = sum(a == b for a, b in zip(written[first], written[name], strict=True))
        ratios = statistics.median(a / b - 1 for a, b in zip(clock[name], clock[first], strict=True))
        print(
            f"{name:34} {seconds:7.2f} s ({ratios:+.1%} against its turn's first)   this process "
            f"{mine:6.2f} s ({(mine - own) / base:+.2%} of the whole)   same texts "
            f"{same} of {len(written[name])}",
            flush=True,
        )
        if name.startswith("resit"):
            added = f"this process alone {(mine - own) / base:+.2%} of the whole"
            yield less(f"{len(written[name])} texts, {name}", seconds, "s", first, base, note=added)
            yield at_most(
                f"{len(written[name])} texts, time added to {first}", 100 * ratios, "%", MOST_ADDED, added
            )


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--pretrained", default=os.environ.get("RESIT_TEST_CHECKPOINT"))
    options.add_argument("--questions", type=int, default=32)
    options.add_argument("--tokens", type=int, default=32)
    options.add_argument("--rounds", type=int, default=3)
    asked = options.parse_args()
    if importlib.util.find_spec("vllm") is None or not asked.pretrained:
        print("skipped: needs vLLM (make test-vllm makes its environment) and --pretrained")
        return
    args: dict[str, Any] = {
        "pretrained": asked.pretrained,
        "dtype": "float32",
        "enforce_eager": True,
        "max_model_len": 1024,
        "gpu_memory_utilization": 0.5,  # on a processor, of the memory, which others use as well
    }
    with create("vllm", args, Setup(concurrency=32)) as model:
        assert isinstance(model, VllmModel)
        model.load()
        drawn = Sampling(asked.tokens, ("Question:",), 0.8, extra={"ignore_eos": True})
        single, several = Load(asked.questions, 1, drawn), Load(REPEATED, REPEATS, drawn)
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        print(f"{asked.questions} questions, {asked.tokens} tokens each")
        sides: dict[str, Side] = {
            "LLM.generate": lambda: bare(model, single, 1),
            "resit, journaled and graded": lambda: ours(model, single),
        }
        record(*alternate(model, sides, asked.rounds))
        print(f"{REPEATED} questions, {REPEATS} repeats each")
        sides = {
            f"LLM.generate, n={REPEATS}": lambda: bare(model, several, REPEATS),
            "LLM.generate, a request a sample": lambda: bare(model, several, 1),
            "resit, a seed a sample": lambda: ours(model, several),
        }
        record(*alternate(model, sides, asked.rounds))
        print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
