"""Resit's `hf` beside lm-eval's, on the same questions of the same model.

    python -m venv LM; LM/bin/pip install 'lm_eval[hf]==0.4.13' torch==2.13.0 'transformers>=5.24,<5.25'
    python benchmarks/hf_side_by_side.py --lm-eval LM/bin/python [--model FOLDER] [--cases gsm8k_cot,…]
        [--questions N] [--rounds N] [--resit-questions N] [--json FILE]

Without `--lm-eval` only Resit's side is run. `LM` must not hold Resit, or the two share an environment.

Each run is a process of its own: it loads the model, asks, and scores. The sides alternate; medians over the
rounds are shown. Both use float32 on the CPU, the same stop strings and token limit (those of the task), and
the same rows, which are given to lm-eval as files; its task files are its own. lm-eval's batch size is 16
(`--batch-size`), Resit's `auto`. `--resit-questions N` adds a run of ours alone with more questions, set
against lm-eval's time per question; it is marked as such. Where others use the machine, processor time tells
more than the clock; set OMP_WAIT_POLICY=passive then, so that waiting threads of neither side are counted.
Without `--model` the catalogue's SmolLM2-135M is dequantised to float32 first.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from _figures import Figure, less, record

HERE = Path(__file__).parent
SIDE = HERE / "_hf_side.py"
DEQUANTISED = HERE.parent / "tests" / "reference" / "dequantised.py"
LIMIT_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Case:
    """A task, the file of lm-eval's that asks the same, and how many questions are usual."""

    task: str
    file: str
    questions: int
    wanted: float
    """How many times faster Resit should be."""


CASES = {
    "gsm8k_cot": Case("gsm8k_cot", "gsm8k/gsm8k-cot.yaml", 64, 6.0),
    "gsm8k_cot_256": Case("gsm8k_cot", "gsm8k/gsm8k-cot.yaml", 256, 8.0),
    "gsm8k": Case("gsm8k", "gsm8k/gsm8k.yaml", 64, 2.5),
    "self_consistency": Case("gsm8k_cot_self_consistency", "gsm8k/gsm8k-cot-self-consistency.yaml", 4, 10.0),
}


@dataclass(slots=True)
class Side:
    """The runs of one side so far."""

    name: str
    python: str
    runs: list[dict[str, Any]] = field(default_factory=list)

    def run(self, asked: dict[str, Any], scratch: Path) -> None:
        """Run once more."""
        file = scratch / f"{self.name}.json"
        asked = {**asked, "folder": str(scratch / f"{asked['task']}-{asked['questions']}-{len(self.runs)}")}
        file.write_text(json.dumps(asked), encoding="utf-8")
        offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
        done = subprocess.run(
            [self.python, str(SIDE), self.name, str(file)],
            capture_output=True,
            env={**os.environ, **offline},
            timeout=LIMIT_SECONDS,
            check=False,
        )
        if done.returncode:
            sys.exit(f"{self.name} failed:\n{done.stderr.decode(errors='replace')[-3000:]}")
        self.runs.append(json.loads(done.stdout.splitlines()[-1]))

    def median(self, part: str) -> float:
        """Median seconds of a part of the process."""
        return float(statistics.median(run["seconds"][part] for run in self.runs))

    @property
    def peak(self) -> float:
        """The most memory that any run held, in GB."""
        return float(max(run["peak_bytes"] for run in self.runs)) / 1e9

    @property
    def texts(self) -> dict[str, list[str]]:
        """The last run's texts, by document."""
        return dict(self.runs[-1]["texts"])


def local_task(case: Case, lm_eval: str, scratch: Path) -> str:
    """Write lm-eval's task with its rows in files; the folder to include."""
    from resit import assets

    found = subprocess.run(
        [lm_eval, "-c", "import lm_eval.tasks as t, os; print(os.path.dirname(t.__file__))"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    folder = scratch / f"tasks-{case.task}"
    folder.mkdir(exist_ok=True)
    files = {}
    for split in ("train", "test"):
        file = folder / f"{split}.jsonl"
        rows = assets.rows("openai/gsm8k", "main", split)
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        files[split] = str(file)
    task = {
        "include": str(Path(found.stdout.strip()) / case.file),
        "task": case.task,
        "dataset_path": "json",
        "dataset_name": None,
        "dataset_kwargs": {"data_files": files},
    }
    (folder / f"{case.task}.yaml").write_text(yaml.safe_dump(task), encoding="utf-8")
    return str(folder)


def real_model(scratch: Path) -> str:
    """The catalogue's model as a float32 checkpoint."""
    from resit import assets

    folder = scratch / "model"
    source = assets.fetch("smollm2-135m")
    subprocess.run([sys.executable, str(DEQUANTISED), str(source), "--folder", str(folder)], check=True)
    return str(folder)


def load() -> str:
    """The machine's load, told beside every figure."""
    return "/".join(f"{value:.1f}" for value in os.getloadavg()) if hasattr(os, "getloadavg") else "?"


def compare(case: Case, options: argparse.Namespace, model: str, scratch: Path) -> dict[str, Any]:
    """Run a case on both sides in turn; the figures, also printed."""
    questions = options.questions or case.questions
    asked = {"task": case.task, "questions": questions, "model": model, "dtype": "float32"}
    theirs = {**asked, "batch_size": options.batch_size}
    sides = [Side("resit", sys.executable)]
    if options.lm_eval:
        theirs["include_path"] = local_task(case, options.lm_eval, scratch)
        sides.insert(0, Side("lm-eval", options.lm_eval))
    print(f"\n{case.task}, {questions} questions; load before {load()}", flush=True)
    for _ in range(options.rounds):
        for side in sides:
            side.run(theirs if side.name == "lm-eval" else asked, scratch)
    figures = {side.name: _figures(side) for side in sides}
    if len(sides) == 2:
        figures["compared"] = _compared(sides[0], sides[1], case, questions)
        record(*_beside(sides[0], sides[1], case, questions))
    else:
        record(Figure(f"{case.task}, {questions} questions", sides[0].median("whole"), "s"))
    if options.resit_questions and sides[0].name == "lm-eval":
        figures["ours alone"] = _more(case, options, asked, sides[0], questions, scratch)
    print(f"  load after {load()}", flush=True)
    return {"task": case.task, "questions": questions, "rounds": options.rounds, **figures}


def _figures(side: Side) -> dict[str, Any]:
    parts = {part: round(side.median(part), 1) for part in ("whole", "loading", "generating", "processor")}
    characters = sum(len(text) for texts in side.texts.values() for text in texts)
    print(
        f"  {side.name:8} whole process {parts['whole']:7.1f} s, generating {parts['generating']:7.1f} s, "
        f"processor {parts['processor']:7.1f} s, peak {side.peak:.2f} GB, {characters} characters"
    )
    every = [round(run["seconds"]["generating"], 1) for run in side.runs]
    return {"seconds": parts, "every": every, "peak_gb": round(side.peak, 3), "characters": characters}


def _compared(theirs: Side, ours: Side, case: Case, questions: int) -> dict[str, Any]:
    whole = theirs.median("whole") / ours.median("whole")
    generating = theirs.median("generating") / ours.median("generating")
    pairs = [(theirs.texts[doc], ours.texts[doc]) for doc in theirs.texts]
    same = sum(left == right for left, right in pairs)
    wanted = f" (wanted at {case.questions}: {case.wanted:g})"
    processor = theirs.median("processor") / ours.median("processor")
    print(f"  faster: {whole:.2f} times whole, {generating:.2f} times generating{wanted}")
    print(f"  processor time: {processor:.2f} times less")
    print(f"  memory: {ours.peak / theirs.peak:.2f} of lm-eval's; the same texts: {same} of {len(pairs)}")
    return {
        "whole": round(whole, 2),
        "generating": round(generating, 2),
        "processor": round(processor, 2),
        "same_texts": same,
    }


def _beside(theirs: Side, ours: Side, case: Case, questions: int) -> Iterator[Figure]:
    """What the table of all benchmarks shows; the target is of the case's own number of questions."""
    what, name = f"{case.task}, {questions} questions", theirs.name
    least = case.wanted if questions == case.questions else None
    same = sum(theirs.texts[doc] == ours.texts[doc] for doc in theirs.texts)
    note = f"same texts: {same} of {len(theirs.texts)}"
    yield less(f"{what}, whole process", ours.median("whole"), "s", name, theirs.median("whole"), least, note)
    processor = ours.median("processor"), theirs.median("processor")
    yield less(f"{what}, processor time", processor[0], "s", name, processor[1])
    yield less(f"{what}, memory", ours.peak, "GB", name, theirs.peak, 1.0)


def _more(
    case: Case,
    options: argparse.Namespace,
    asked: dict[str, Any],
    theirs: Side,
    questions: int,
    scratch: Path,
) -> dict[str, Any]:
    side, count = Side("resit", sys.executable), options.resit_questions
    side.run({**asked, "questions": count}, scratch)
    expected = theirs.median("generating") / questions * count
    ratio = expected / side.median("generating")
    what, note = f"{case.task}, {count} questions, generating", "theirs reckoned from fewer, not measured"
    record(less(what, side.median("generating"), "s", theirs.name, expected, note=note))
    print(f"  ours alone on {count} questions: generating {side.median('generating'):.1f} s;")
    print(
        f"  lm-eval at its {expected / count:.2f} s a question over {questions} would take {expected:.0f} s, "
        f"{ratio:.2f} times as long (reckoned, not measured)"
    )
    return {"questions": count, "seconds": side.median("generating"), "reckoned_ratio": round(ratio, 2)}


def main() -> None:
    """Run the cases that were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lm-eval", metavar="PYTHON", help="the Python of lm-eval's environment")
    parser.add_argument("--model", help="a float32 checkpoint (default: made of the catalogue's model)")
    parser.add_argument("--cases", default="gsm8k_cot", help=", ".join(CASES))
    parser.add_argument("--questions", type=int, help="instead of the case's own number")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--batch-size", default="16", help="lm-eval's")
    parser.add_argument("--resit-questions", type=int, help="a run of ours alone with so many questions")
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    options = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, float32")
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        model = options.model or real_model(scratch)
        figures = []
        for name in options.cases.split(","):
            figures.append(compare(CASES[name], options, model, scratch))
            if options.json:
                options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
