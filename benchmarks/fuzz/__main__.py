"""Feeds every reader of foreign bytes with hostile ones: only Resit's own errors may come out, and no hang.

    python -m benchmarks.fuzz [--minutes 10] [--seed 0] [--summary benchmarks/results/fuzz.md]
                              [--only tasks,studies,journal,lm-eval,jsonl,inspect,replies]

Cases are made by hypothesis from valid files and replies: values are exchanged, dropped and nested, bytes are
flipped, cut out and doubled. Each reader gets so many minutes. What is not Resit's own error is shrunk and
shown, and a case that takes longer than a minute ends the program with the place where it was. Exits with 1
where anything was found.
"""

from __future__ import annotations

import argparse
import faulthandler
import shutil
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings

from .readers import Target, targets

HANG = 60
"""Seconds; the slowest case that is no hang takes a fraction of one."""
ROUND = 300
"""Cases that are made from one seed."""


@dataclass(slots=True)
class Outcome:
    """What came of a reader."""

    cases: int = 0
    refused: int = 0
    slowest: float = 0.0
    seconds: float = 0.0
    found: str = ""


def fuzz(target: Target, minutes: float, seed: int) -> Outcome:
    """Try cases until the time is over or one of them shows a fault."""
    outcome, began = Outcome(), time.monotonic()
    with tempfile.TemporaryDirectory() as name:

        def one(case: Any) -> None:
            folder = Path(name) / "case"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            faulthandler.dump_traceback_later(HANG, exit=True)
            started = time.monotonic()
            try:
                target.read(folder, case)
            except target.own:
                outcome.refused += 1
            finally:
                faulthandler.cancel_dump_traceback_later()
            outcome.cases += 1
            outcome.slowest = max(outcome.slowest, time.monotonic() - started)

        while not outcome.found and time.monotonic() - began < 60 * minutes:
            rounds = hypothesis.seed(seed)(
                settings(
                    max_examples=ROUND,
                    database=None,
                    deadline=None,
                    suppress_health_check=list(HealthCheck),
                    phases=[Phase.generate, Phase.shrink],
                )(given(target.cases)(one))
            )
            try:
                rounds()
            except Exception:
                outcome.found = traceback.format_exc()
            seed += 1
    outcome.seconds = time.monotonic() - began
    return outcome


def main() -> None:
    """Try all, print, and keep a table."""
    known = targets()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--only", default=",".join(target.name for target in known))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--summary", type=Path)
    asked = parser.parse_args()
    rows = [
        "| reader | minutes | cases | refused in Resit's own words | slowest case, s | faults |",
        "|---|---|---|---|---|---|",
    ]
    bad = False
    for target in known:
        if target.name not in asked.only.split(","):
            continue
        done = fuzz(target, asked.minutes, asked.seed)
        bad |= bool(done.found)
        rows.append(
            f"| {target.name} | {done.seconds / 60:.1f} | {done.cases:,} | {done.refused:,} "
            f"| {done.slowest:.2f} | {1 if done.found else 0} |"
        )
        print(rows[-1], done.found, sep="\n" if done.found else "", flush=True)
    if asked.summary:
        asked.summary.parent.mkdir(parents=True, exist_ok=True)
        asked.summary.write_text("\n".join(rows) + "\n", encoding="utf-8")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
