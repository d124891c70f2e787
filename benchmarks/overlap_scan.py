"""How long `resit probe overlap` takes for a large text, and how much memory.

    python benchmarks/overlap_scan.py [--megabytes 1000] [--rounds 1] [--seed 0]

The text is JSON Lines: records of sentences drawn from GSM8K's training split, so that words, numbers and
turns of phrase are those of the test questions; now and then one of them is put between two sentences, whole.
Every one that was put in must be found. Needs GSM8K (network, or RESIT_MIRROR).
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import sys
import tempfile
from pathlib import Path

from _figures import Figure, at_most, record
from _processes import measure

from resit import assets

MOST_SECONDS_A_GIGABYTE, MOST_MB = 60.0, 200.0
"""Wanted, on one core."""
SENTENCES = 200
"""In a record."""
PUT_IN_EVERY = 1_000
"""Records."""
_SENTENCE = re.compile(r"[^.?!\n]+[.?!\n]")


def corpus(path: Path, megabytes: int, seed: int) -> set[str]:
    """Write the text; the questions that were put in."""
    draw = random.Random(seed)
    train, test = (assets.rows("openai/gsm8k", "main", split) for split in ("train", "test"))
    sentences = [
        found for row in train for found in _SENTENCE.findall(f"{row['question']}\n{row['answer']}\n")
    ]
    questions = [str(row["question"]) for row in test]
    put_in: set[str] = set()
    with path.open("w", encoding="utf-8") as file:
        number = 0
        while file.tell() < megabytes * 10**6:
            parts = draw.choices(sentences, k=SENTENCES)
            if number % PUT_IN_EVERY == PUT_IN_EVERY // 2:
                question = draw.choice(questions)
                put_in.add(question)
                parts.insert(draw.randrange(SENTENCES), f" {question} ")
            file.write(json.dumps({"text": "".join(parts)}, ensure_ascii=False) + "\n")
            number += 1
    return put_in


def main() -> None:
    """Print a line a round."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        text, report = Path(scratch) / "text.jsonl", Path(scratch) / "report.json"
        put_in = corpus(text, options.megabytes, options.seed)
        gigabytes = text.stat().st_size / 10**9
        command = [sys.executable, "-m", "resit", "probe", "overlap", str(text), "--tasks", "gsm8k", "--json"]
        found = []
        for _ in range(options.rounds):
            with report.open("wb") as output:
                found.append(measure(command, output))
            print(
                f"{gigabytes:.2f} GB: {found[-1].seconds:.1f} s, {found[-1].processor_seconds:.1f} s of "
                f"processor time, {found[-1].megabytes:.0f} MiB"
            )
        whole = int(json.loads(report.read_bytes())["whole"])
    print(f"{len(put_in)} questions put in, {whole} found whole")
    if whole < len(put_in):
        sys.exit(f"{len(put_in) - whole} questions that stand in the text were not found")
    seconds = statistics.median(one.seconds for one in found) / gigabytes
    processor = statistics.median(one.processor_seconds for one in found) / gigabytes
    what = f"resit probe overlap, a GB ({gigabytes:.2f} read)"
    record(
        at_most(what, seconds, "s", MOST_SECONDS_A_GIGABYTE, f"{processor:.1f} s of processor time"),
        at_most(f"{what}, memory", max(one.megabytes for one in found), "MiB", MOST_MB),
        Figure("questions found whole", whole, "questions", "put into the text", len(put_in)),
    )


if __name__ == "__main__":
    main()
