"""How long `resit score` takes for a whole self-consistency run, 84,416 samples, and how much memory.

    python benchmarks/score_run.py [--questions 1319] [--samples 64] [--repetitions 3] [--keep FOLDER]

Each text is a real response of shared/logs (all models, drawn by seed), preceded by the working of others,
about 1 KB in all; without that folder, sums in words of our own. The command runs in processes of its own:
processor time is that of all of them, memory the largest sum of their resident sets. Needs GSM8K's test split
(network, or RESIT_MIRROR).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from _figures import at_most, record
from _processes import Measured, measure

from resit.runs.imports import from_jsonl
from resit.runs.imports.writer import File, Origin, Part, import_run
from resit.tasks import load

TASK = "gsm8k_cot_self_consistency"
SHARED = Path(os.environ.get("RESIT_SHARED", Path(__file__).parents[2] / "shared"))
LENGTH = 1024
MOST_SECONDS, MOST_MB = 10.0, 600.0
"""Wanted for the whole run."""
_CONCLUSION = re.compile(r"The answer is[^\n]*|#### .*|Q:.*", re.DOTALL)


def main() -> None:
    """Print one line a repetition and the median."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--questions", type=int, default=1319)
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="write the run here and leave it")
    options = parser.parse_args()
    if (SHARED / "mirror").is_dir():
        os.environ.setdefault("RESIT_MIRROR", str(SHARED / "mirror"))
    with tempfile.TemporaryDirectory() as scratch:
        run = options.keep or Path(scratch) / "run"
        size = make_run(run, Path(scratch), options.questions, options.samples)
        samples = options.questions * options.samples
        print(f"{samples} samples, {size / samples:.0f} bytes of journal each, 3 filters and `robust`\n")
        print(
            "| repetition | wall, s | processor, s | peak memory, MB | samples/s |\n|---|---:|---:|---:|---:|"
        )
        command = [sys.executable, "-m", "resit", "score", str(run), "--json"]
        found = [measure(command) for _ in range(options.repetitions)]
        for number, one in enumerate(found, 1):
            print(_row(str(number), one, samples))
        median = Measured(
            statistics.median(one.seconds for one in found),
            statistics.median(one.processor_seconds for one in found),
            max(one.megabytes for one in found),
        )
        print(_row("median", median, samples))
    what = f"resit score, {samples:,} samples"
    record(
        at_most(
            what, median.seconds, "s", MOST_SECONDS, f"{median.processor_seconds:.1f} s of processor time"
        ),
        at_most(f"{what}, memory of its processes", median.megabytes, "MB", MOST_MB),
    )


def _row(name: str, one: Measured, samples: int) -> str:
    figures = (
        f"{one.seconds:.2f} | {one.processor_seconds:.2f} | {one.megabytes:.0f} | {samples / one.seconds:.0f}"
    )
    return f"| {name} | {figures} |"


def make_run(run: Path, scratch: Path, questions: int, samples: int) -> int:
    """Write the run folder; the size of its journal in bytes."""
    answers = scratch / "answers.jsonl"
    with answers.open("w", encoding="utf-8") as file:
        for doc_id, texts in enumerate(_responses(questions, samples)):
            file.write(json.dumps({"doc_id": doc_id, "responses": texts, "finish_reason": "stop"}) + "\n")
    part = Part(load([TASK])[0], [File(answers, from_jsonl.entries(answers))])
    return import_run(run, Origin("benchmark", "benchmark"), [part]).generations.stat().st_size


def _responses(questions: int, samples: int) -> Iterator[list[str]]:
    by_document = _logged() if (SHARED / "logs").is_dir() else []
    for doc_id in range(questions):
        draw = random.Random(doc_id)
        texts = by_document[doc_id] if by_document else [_sum(draw) for _ in range(6)]
        yield [_lengthened(draw.choice(texts), texts, draw) for _ in range(samples)]


def _logged() -> list[list[str]]:
    """By document, what each logged model answered."""
    found: list[list[str]] = []
    for path in sorted((SHARED / "logs").glob("*.jsonl")):
        for line in path.read_bytes().split(b"\n"):
            if line:
                entry = json.loads(line)
                found.extend([] for _ in range(entry["doc_id"] + 1 - len(found)))
                found[entry["doc_id"]].append(entry["response"])
    return found


def _sum(draw: random.Random) -> str:
    first, second = draw.randrange(2, 90), draw.randrange(2, 90)
    total = first + second + draw.choice((0, 0, 0, 1, 10))
    return f"There are {first}, then {second} more come. {first} + {second} = {total}. The answer is {total}."


def _lengthened(response: str, others: Sequence[str], draw: random.Random) -> str:
    """The response with working before it that concludes nothing, so that its answer stays what it is."""
    working = ""
    while len(working) + len(response) < LENGTH:
        working += (
            _CONCLUSION.sub("", draw.choice(others)).strip() + f" Let me check that again, {len(working)}.\n"
        )
    return working + response


if __name__ == "__main__":
    main()
