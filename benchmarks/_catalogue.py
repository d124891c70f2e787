"""How `python -m benchmarks` runs each script: which words, which size, and what must be there for it.

Words are as one would type them. `{name}` stands for a place (below); what stands in square brackets is left
out where its place is missing; a script whose other places are missing is not run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A script of this folder."""

    title: str
    """What is measured, as the table's heading has it."""
    usual: str | None = ""
    """Words; None where it takes more than ten minutes: then it runs with `--long` only."""
    long: str | None = None
    """Words with `--long`; None where they are the usual ones."""
    quick: str | None = ""
    """Words of a size that shows only that it runs; None where no size is quick."""
    needs: tuple[str, ...] = ()
    """Places that no word names."""
    python: str = ""
    """The place whose Python runs it; Resit's own by default."""

    def words(self, size: str) -> str | None:
        """The words for `usual`, `long` or `quick`; None where it does not run at that size."""
        wanted = {"usual": self.usual, "quick": self.quick, "long": self.long}[size]
        return self.usual if size == "long" and wanted is None else wanted


@dataclass(frozen=True, slots=True)
class Place:
    """Something that a script is given."""

    shown: str
    """How the record of a result calls it; no folder of a machine gets in there."""
    path: str = ""
    """Where it is; empty where it is missing."""
    remedy: str = ""
    """What to do where it is missing."""


Places = Mapping[str, Place]

CATALOGUE: dict[str, Benchmark] = {
    "start_up.py": Benchmark(
        "Short commands, whole process", "[--lm-eval {lm-eval-program}]", quick="--rounds 1", needs=("gsm8k",)
    ),
    "first_score.py": Benchmark("From a clone to the first score", quick=None),
    "render_prompts.py": Benchmark(
        "Rendering prompts", "[--lm-eval {lm-eval}]", quick="--rounds 1", needs=("gsm8k",)
    ),
    "grading_throughput.py": Benchmark(
        "Grading",
        "--logs {logs}",
        quick="--logs {logs} --rounds 1 --peer-sample 20 --questions 20",
        needs=("math_verify",),
    ),
    "program_throughput.py": Benchmark("Programs of models", quick="--programs 5 --rounds 1"),
    "maj_at_k.py": Benchmark("Exact votes", quick="--questions 20 --samples 16"),
    "interval_coverage.py": Benchmark(
        "Promises of intervals and tests", None, long="", quick="--repetitions 40"
    ),
    "score_run.py": Benchmark(
        "Scoring a stored run", quick="--questions 20 --samples 4 --repetitions 1", needs=("gsm8k",)
    ),
    "client_throughput.py": Benchmark(
        "Asking a server", long="--million", quick="--requests 200 --rounds 1 --memory 200"
    ),
    "self_consistency_server.py": Benchmark(
        "Self-consistency at a server", "[--lm-eval {lm-eval}]", quick="--limit 4", needs=("gsm8k",)
    ),
    "hf_side_by_side.py": Benchmark(
        "Models of transformers, on the processor",
        None,
        long="--model {model} [--lm-eval {lm-eval}] --cases gsm8k_cot,gsm8k,self_consistency,gsm8k_cot_256",
        quick="--model {model} --questions 2",
        needs=("gsm8k", "transformers"),
    ),
    "roofline.py": Benchmark(
        "Decoding, of what the machine allows",
        "--model {model}",
        quick="--model {model} --rows 1 --tokens 4 --rounds 1",
        needs=("transformers",),
    ),
    "vllm_overhead.py": Benchmark(
        "What the harness adds to vLLM",
        None,
        long="--pretrained {model}",
        quick="--pretrained {model} --questions 2 --tokens 4 --rounds 1",
        python="vllm",
    ),
    "llamacpp_sweep.py": Benchmark(
        "Layouts of llama.cpp's server",
        None,
        long="",
        quick="--questions 2 --tokens 4 --only defaults",
        needs=("xllamacpp",),
    ),
    "ray_scaling.py": Benchmark(
        "Workers of Ray", quick="--workers 1 --seconds 1 --queue 1000", needs=("ray",)
    ),
    "fleet_simulation.py": Benchmark(
        "A fleet on paper", quick="--workers 8 --costs 6,9,12,85", needs=("ray",)
    ),
    "report_page.py": Benchmark(
        "The report as a file", quick="--rounds 1", needs=("logs", "gsm8k", "playwright", "chromium")
    ),
    "viewer.py": Benchmark(
        "The viewer, self-consistency", quick="--questions 20 --samples 4 --repetitions 1", needs=("gsm8k",)
    ),
    "overlap_scan.py": Benchmark("Test questions in training text", quick="--megabytes 5", needs=("gsm8k",)),
    "verifier.py": Benchmark(
        "A verifier", None, long="{model} --folder {scratch}", quick=None, needs=("transformers",)
    ),
    "planted_memoriser.py": Benchmark(
        "A planted memoriser",
        None,
        long="--model {model}",
        quick=None,
        needs=("gsm8k", "transformers", "reasoning_gym"),
    ),
}

_NAME = re.compile(r"\{([\w-]+)\}")
_OPTIONAL = re.compile(r"\[([^\]]*)\]")


def missing(benchmark: Benchmark, words: str, places: Places) -> list[str]:
    """The places without which it cannot run and that are not there."""
    named = _NAME.findall(_OPTIONAL.sub("", words))
    wanted = [*benchmark.needs, *filter(None, [benchmark.python]), *named]
    return [name for name in dict.fromkeys(wanted) if not places[name].path]


def left_out(words: str, places: Places) -> list[str]:
    """The places that are not there and that it does without."""
    named = [name for part in _OPTIONAL.findall(words) for name in _NAME.findall(part)]
    return [name for name in named if not places[name].path]


def named(benchmark: Benchmark, words: str) -> set[str]:
    """Every place that it has to do with."""
    return {*benchmark.needs, *filter(None, [benchmark.python]), *_NAME.findall(words)}


def spoken(words: str, places: Places, shown: bool = False) -> list[str]:
    """The words to run it with; `shown` for the record, with no path of this machine."""

    def optional(found: re.Match[str]) -> str:
        return found[1] if all(places[name].path for name in _NAME.findall(found[1])) else ""

    def place(found: re.Match[str]) -> str:
        return places[found[1]].shown if shown else places[found[1]].path

    return [_NAME.sub(place, word) for word in shlex.split(_OPTIONAL.sub(optional, words))]
