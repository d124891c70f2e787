"""How long the shortest commands take, whole process, beside the bare interpreter and, if given, lm-eval.

python benchmarks/start_up.py [--rounds 7] [--lm-eval PATH]

The commands take turns; the median of each is printed, in seconds of wall and of processor time. Targets:
`resit --help` 0.35 s, `resit tasks list` 0.5 s, all of `gsm8k` (1,319 questions, asked, journaled, graded)
with a model that answers at once 1.5 s.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping

from _figures import Figure, at_most, less, record

TARGETS = {"resit --help": 0.35, "resit tasks list": 0.5, "resit run, gsm8k": 1.5}
"""Seconds that each may take."""
COUNTERPARTS = {"resit --help": "lm_eval --help", "resit tasks list": "lm_eval ls tasks"}


def measure(command: list[str]) -> tuple[float, float]:
    """(wall, processor) seconds of one run of a command; raises CalledProcessError when it fails."""
    before, began = os.times(), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall, after = time.perf_counter() - began, os.times()
    return wall, sum(after[2:4]) - sum(before[2:4])


def main() -> None:
    """Print a line for each command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--lm-eval", help="the lm_eval program of another environment")
    options = parser.parse_args()
    resit = [sys.executable, "-m", "resit"]
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "resit --help": [*resit, "--help"],
        "resit tasks list": [*resit, "tasks", "list"],
        "resit run, gsm8k": [*resit, "run", "--model", "dummy", "--tasks", "gsm8k", "--output-path", "OUT"],
    }
    if options.lm_eval:
        commands["lm_eval --help"] = [options.lm_eval, "--help"]
        commands["lm_eval ls tasks"] = [options.lm_eval, "ls", "tasks"]
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(options.rounds):
        for name, command in commands.items():
            with tempfile.TemporaryDirectory() as out:
                taken[name].append(measure([f"{out}/run" if word == "OUT" else word for word in command]))
    for name, times in taken.items():
        wall, processor = (statistics.median(column) for column in zip(*times, strict=True))
        print(f"{name:20} {wall:7.3f} s wall {processor:7.3f} s processor")
    record(*figures({name: statistics.median(wall for wall, _ in times) for name, times in taken.items()}))


def figures(seconds: Mapping[str, float]) -> Iterator[Figure]:
    """What the table of all benchmarks shows."""
    for name, most in TARGETS.items():
        yield at_most(name, seconds[name], "s", most)
        theirs = COUNTERPARTS.get(name, "")
        if theirs in seconds:
            yield less(name, seconds[name], "s", "lm-eval", seconds[theirs], note=theirs)


if __name__ == "__main__":
    main()
