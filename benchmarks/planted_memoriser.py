"""Does `resit memorisation` find a model that knows its exam by heart, and leave alone one that does not?

    python benchmarks/planted_memoriser.py [--model FOLDER] [--folder DIR] [--epochs N] [--seconds S]
        [--questions N] [--seeds N] [--dtype D] [--json FILE]

A small model is fine-tuned on 100 GSM8K test questions with their solutions, 78 of which have templates, and
asked by every probe: those questions against 100 others. Each probe must flag it. The untouched model is
asked the same, and then its 200 questions are dealt out anew by 20 seeds: at random into seen and fresh
halves, originals and variants by a coin a template, the order probe with blocks of GSM8K and shuffles drawn
by the seed. Each probe may flag it as often as its 5 % allow: the bound is the 99 % point of the binomial.

With `--folder` the work is kept, and the same command goes on where it was stopped. Without `--model` the
catalogue's SmolLM2-135M is dequantised to float32 first. The exit status is 1 when a probe misses the planted
model or flags the untouched one too often. Needs `pip install 'resit[hf,fresh]'`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scipy.stats import binom

sys.path.insert(0, str(Path(__file__).parent))
from _figures import Figure, at_least, at_most, record
from _planting import quick
from _resplit import Line, deal, dealt, lines, without_orders, write

from resit import assets
from resit.assets.templates import originals
from resit.models import Setup, create
from resit.probes.order import shards
from resit.records import Passage
from resit.reports import memorisation as report
from resit.reports.gaps import gap_of_runs
from resit.runs.likelihoods import RECORD as MEASURED
from resit.runs.likelihoods import measure

HERE = Path(__file__).parent
DEQUANTISED = HERE.parent / "tests" / "reference" / "dequantised.py"
GSM8K = ("openai/gsm8k", "main", "test")
PAIRED_SHARE = 0.78
"""Of the planted questions that have a template; the other paired half is one fresh variant of each."""
SHARD_ROWS, SHUFFLES, BLOCKS = 5, 1, 6
"""Of the order probe; `BLOCKS` are drawn for each seed."""
ALPHA = 0.05
NOT_ABOVE = 0.99
"""The number of flags of a probe that keeps its promise stays within the bound with this probability."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One probe's outcome on one folder."""

    effect: float
    low: float | None
    """Of the 95 % interval; None where the test has none."""
    high: float | None
    p: float
    """One-sided."""

    @property
    def flagged(self) -> bool:
        """Whether the probe speaks for memorisation at `ALPHA`."""
        return self.p < ALPHA

    @property
    def surely(self) -> bool:
        """The same, and the interval lies above zero."""
        return self.flagged and (self.low is None or self.low > 0)


def findings(folder: Path) -> dict[str, Finding]:
    """Every probe's outcome by its name, as Resit reads the folder."""
    found = report.read_memorisation(folder)
    gaps = {"gap": found.gap, "templates": found.templates, "completion, ROUGE-L": found.completion}
    tasks = found.asked.completions
    run = folder / report.COMPLETION
    gaps["completion, exact"] = gap_of_runs(run, run, *tasks, rule="recall_exact")
    rows = {
        name: Finding(gap.result.difference, gap.result.ci_low, gap.result.ci_high, gap.result.p_greater)
        for name, gap in gaps.items()
        if gap is not None
    }
    for one in found.contrasts:
        paired = ", paired" if one.paired_by else ""
        name = f"{one.signal}, {one.part}{paired}"
        rows[name] = Finding(one.difference, one.ci_low, one.ci_high, one.p_greater)
    if found.order is not None:
        rows["order"] = Finding(found.order.advantage, None, None, found.order.p_value)
    return rows


TASK: dict[str, Any] = {
    "test_split": "test",
    "num_fewshot": 0,
    "doc_to_text": "{{question}}\n",
    "doc_to_target": "{{answer}}",
    "generation_kwargs": {"until": ["\n\n"], "do_sample": False, "max_gen_toks": 128},
    "metric_list": [{"metric": "exact_match"}],
}
"""A question as the planted rows have it, without exemplars."""
REST: dict[str, Any] = {
    **TASK,
    "doc_to_text": "{% set words = question.split(' ') %}{{ words[:words|length // 2] | join(' ') }}",
    "doc_to_target": "{% set words = question.split(' ') %}{{ words[words|length // 2:] | join(' ') }}",
    "generation_kwargs": {"until": ["\n"], "do_sample": False, "max_gen_toks": 64},
    "resit": {"rules": ["recall_rouge_l", "recall_exact"], "options": {"gold": "whole"}},
}


def write_exam(folder: Path, questions: int, seed: int) -> None:
    """The rows of the sets, each in published order, and the six tasks that ask them."""
    rows = assets.rows(*GSM8K)
    published = {original.row for original in originals().values()}
    others = [at for at in range(len(rows)) if at not in published]
    random.Random(f"split {seed}").shuffle(others)
    paired = {
        split: assets.rows("resit/gsm_templates", None, split, variants=1)[: int(questions * PAIRED_SHARE)]
        for split in ("originals", "variants")
    }
    more = questions - len(paired["originals"])
    planted = [*(row["original"] for row in paired["originals"]), *others[:more]]
    untrained = others[more : more + questions]
    folder.mkdir(parents=True, exist_ok=True)
    for name, chosen in (("planted", planted), ("untrained", untrained)):
        _write_set(folder, name, [rows[at] for at in sorted(chosen)], {name: TASK, f"{name}_rest": REST})
    for split, of_split in paired.items():
        _write_set(folder, f"planted_{split}", of_split, {f"planted_{split}": TASK})


def _write_set(folder: Path, name: str, rows: list[Line], tasks: Mapping[str, Mapping[str, Any]]) -> None:
    file = folder / f"{name}.jsonl"
    write(file, rows)
    data = {"dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(file.absolute())}}}
    for task, form in tasks.items():  # JSON is YAML
        (folder / f"{task}.yaml").write_text(json.dumps({"task": task, **form, **data}), encoding="utf-8")


def resit(*words: object) -> dict[str, Any]:
    """What a command of Resit's prints as JSON; its progress goes to stderr. Ends the program if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "resit", *map(str, words), "--json"], stdout=subprocess.PIPE, check=False
    )
    if done.returncode:
        sys.exit(f"resit {' '.join(map(str, words))} ended with status {done.returncode}")
    return dict(json.loads(done.stdout))


@dataclass(frozen=True, slots=True)
class Trial:
    """Where everything lies."""

    folder: Path
    model: str
    dtype: str
    questions: int
    """Of each set."""

    @property
    def exam(self) -> Path:
        """Rows and tasks."""
        return self.folder / "exam"

    @property
    def checkpoint(self) -> Path:
        """The model that was planted."""
        return self.folder / "checkpoint"

    def args(self, model: str | Path) -> str:
        """A model as `--model-args` names it."""
        return f"pretrained={model},dtype={self.dtype}"

    def plant(self, epochs: int, seconds: float) -> None:
        """Fine-tune, unless that is done."""
        if (self.checkpoint / "config.json").exists():
            return
        words = [self.model, self.exam / "planted.jsonl", self.checkpoint]
        limits = ["--epochs", epochs, "--seconds", seconds, "--rows-together", SHARD_ROWS]
        script = HERE / "_planting.py"
        subprocess.run([sys.executable, str(script), *map(str, [*words, *limits])], check=True)

    def probe(self, name: str, model: str | Path, other: str | Path) -> Path:
        """Ask a model by every probe; the other one is its reference. Returns the folder."""
        folder = self.folder / name
        resit(
            *("memorisation", "-M", "hf", "-a", self.args(model), "-o", folder),
            *("--include-path", self.exam, "--limit", self.questions),
            *("--seen", "planted", "--fresh", "untrained", "--completions", "planted_rest,untrained_rest"),
            *("--templates", "planted_originals,planted_variants"),
            *("--shard-rows", SHARD_ROWS, "--shuffles", SHUFFLES),
            *("--reference-model", "hf", "--reference-args", self.args(other)),
        )
        return folder

    def probe_both(self) -> tuple[Path, Path]:
        """The planted model's folder and the untouched one's; each is the other's reference, asked once."""
        planted, untouched = self.folder / "planted", self.folder / "untouched"
        self._measure_likelihoods(untouched, self.model)
        lend(untouched, planted)
        self.probe("planted", self.checkpoint, self.model)
        lend(planted, untouched)
        self.probe("untouched", self.model, self.checkpoint)
        return planted, untouched

    def _measure_likelihoods(self, folder: Path, model: str) -> None:
        resit(
            *("memorisation", "-M", "hf", "-a", self.args(model), "-o", folder),
            *("--include-path", self.exam, "--limit", self.questions),
            *("--seen", "planted", "--fresh", "untrained", "--probes", "templates,likelihood"),
            *("--templates", "planted_originals,planted_variants"),
        )

    def orders(self, seeds: Sequence[int]) -> dict[int, list[Line]]:
        """For each seed, the untouched model's likelihoods of blocks of GSM8K in several orders."""
        rows = [row["question"] for row in assets.rows(*GSM8K)]
        passages = [passage for seed in seeds for passage in _blocks(rows, seed)]
        folder = self.folder / "orders"
        with create("hf", {"pretrained": self.model, "dtype": self.dtype}, Setup()) as model:
            measure(model, passages, folder, lambda done, planned: None, moments=False)
        found: dict[int, list[Line]] = {seed: [] for seed in seeds}
        for line in lines(folder / report.LIKELIHOODS):
            seed, _, key = line["key"].partition("|")
            if int(seed) in found:
                found[int(seed)].append({**line, "key": key})
        return found


def lend(owner: Path, user: Path) -> None:
    """Give what was measured of one model to another's folder, as its reference: it is not asked twice."""
    write(user / report.REFERENCE / report.LIKELIHOODS, without_orders(owner))
    shutil.copy(owner / MEASURED, user / report.REFERENCE / MEASURED)


def _blocks(rows: Sequence[str], seed: int) -> Iterator[Passage]:
    chance = random.Random(f"blocks {seed}")
    shift = chance.randrange(SHARD_ROWS)
    starts = chance.sample(range(shift, len(rows) - SHARD_ROWS, SHARD_ROWS), BLOCKS)
    drawn = [row for start in starts for row in rows[start : start + SHARD_ROWS]]
    for number, shard in enumerate(shards(drawn, SHARD_ROWS, SHUFFLES, seed)):
        for order, text in enumerate((shard.published, *shard.shuffled)):
            yield Passage(f"{seed}|{report.order_key(number, order)}", text)


def redealt(trial: Trial, untouched: Path, seeds: Sequence[int]) -> list[dict[str, Finding]]:
    """Every probe's outcome under each seed, of the model that has seen neither half."""
    orders = trial.orders(seeds)
    outcomes = []
    for seed in seeds:
        target = trial.folder / "deals" / str(seed)
        shutil.rmtree(target, ignore_errors=True)
        dealt(untouched, target, deal(untouched, seed), orders[seed])
        outcomes.append(findings(target))
    return outcomes


def overlaps(trial: Trial) -> dict[str, float]:
    """Of each set's questions, the share of which some 13 words stand in the text that was learnt."""
    shares = {}
    for name in ("planted", "untrained"):
        where = ("--include-path", trial.exam)
        found = resit("probe", "overlap", trial.exam / "planted.jsonl", "-t", name, *where)
        shares[name] = found["found"] / (found["questions"] - found["too_short"])
    return shares


def cell(found: Finding) -> str:
    """Effect, interval, p."""
    interval = "" if found.low is None else f" [{found.low:+.3f}, {found.high:+.3f}]"
    return f"{found.effect:+.3f}{interval} p={found.p:.2g}"


def compared(planted: Path, untouched: Path, deals: Sequence[dict[str, Finding]]) -> list[dict[str, Any]]:
    """A row a probe: both models' outcomes, and how many deals flagged the untouched one."""
    bound = int(binom.ppf(NOT_ABOVE, len(deals), ALPHA))
    other = findings(untouched)
    rows = []
    for name, found in findings(planted).items():
        flags = sum(one[name].flagged for one in deals if name in one)
        rows.append(
            {
                "probe": name,
                "planted": asdict(found),
                "untouched": asdict(other[name]) if name in other else None,
                "deals": sum(name in one for one in deals),
                "flagged": flags,
                "bound": bound,
                "found": found.surely,
                "honest": flags <= bound,
                "shown": (cell(found), cell(other[name]) if name in other else ""),
            }
        )
    return rows


def print_table(rows: Sequence[dict[str, Any]]) -> None:
    """The rows as Markdown."""
    print("\n| probe | planted | untouched, the same sets | untouched, dealt anew: flagged |")
    print("|---|---|---|---:|")
    for row in rows:
        marks = ("" if row["found"] else " MISSED", "" if row["honest"] else " TOO OFTEN")
        planted, untouched = row["shown"]
        share = f"{row['flagged']} of {row['deals']}{marks[1]}"
        print(f"| {row['probe']} | {planted}{marks[0]} | {untouched} | {share} |")


def real_model(folder: Path) -> str:
    """The catalogue's model as a float32 checkpoint, made once."""
    model = folder / "model"
    if not (model / "config.json").exists():
        source = assets.fetch("smollm2-135m")
        subprocess.run([sys.executable, str(DEQUANTISED), str(source), "--folder", str(model)], check=True)
    return str(model)


def quick_dtype() -> str:
    """bfloat16 where the processor multiplies it by itself, else float32."""
    return "bfloat16" if quick() else "float32"


def carry_out(options: argparse.Namespace, folder: Path) -> int:
    """Plant, probe, deal, tell; the exit status."""
    began = time.monotonic()
    spent: dict[str, float] = {}

    def done(part: str) -> None:
        spent[part] = round(time.monotonic() - began - sum(spent.values()), 1)
        print(f"{part}: {spent[part]:.0f} s", file=sys.stderr, flush=True)

    trial = Trial(
        folder, options.model or real_model(folder), options.dtype or quick_dtype(), options.questions
    )
    write_exam(trial.exam, options.questions, options.seed)
    trial.plant(options.epochs, options.seconds)
    done("planting")
    planted, untouched = trial.probe_both()
    done("probing")
    deals = redealt(trial, untouched, range(1, options.seeds + 1))
    done("dealing")
    rows, shares = compared(planted, untouched, deals), overlaps(trial)
    told = {"rows": rows, "overlap": shares, "seconds": spent, "dtype": trial.dtype}
    print_table(rows)
    print(
        f"\n13-grams in the text that was learnt: of {shares['planted']:.0%} of the planted questions, "
        f"{shares['untrained']:.0%} of the others"
    )
    print(f"at most {rows[0]['bound']} of {options.seeds} flags are within the promise; {spent}, {load()}")
    if options.json:
        options.json.write_text(json.dumps(told, indent=1), encoding="utf-8")
    record(*figures(rows, options.seeds))
    kept = all(row["found"] and row["honest"] for row in rows)
    return 0 if kept and shares == {"planted": 1.0, "untrained": 0.0} else 1


def figures(rows: Sequence[dict[str, Any]], deals: int) -> Iterator[Figure]:
    """What the table of all benchmarks shows."""
    found, most = sum(row["found"] for row in rows), max(row["flagged"] for row in rows)
    yield at_least("probes that flag the planted model", found, "probes", len(rows))
    yield at_most(f"most flags of a probe, untouched model, {deals} deals", most, "flags", rows[0]["bound"])


def load() -> str:
    """The machine's load, told beside the seconds."""
    return f"load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "load unknown"


def main() -> int:
    """Read the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", help="a float32 checkpoint (default: made of the catalogue's model)")
    parser.add_argument("--folder", type=Path, help="keep the work there (default: a temporary folder)")
    parser.add_argument("--questions", type=int, default=100, help="of each set, fewer for a quick look")
    parser.add_argument("--epochs", type=int, default=8, help="of fine-tuning")
    parser.add_argument("--seconds", type=float, default=1200.0, help="the most of fine-tuning")
    parser.add_argument("--seeds", type=int, default=20, help="deals of the untouched model's questions")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of questions")
    parser.add_argument("--dtype", help="in which the models are asked (default: the quicker one)")
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    options = parser.parse_args()
    if options.folder:
        return carry_out(options, options.folder)
    with tempfile.TemporaryDirectory() as folder:
        return carry_out(options, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
