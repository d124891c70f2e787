"""Changes the code that grades and counts in small ways, and counts how often a test notices.

    python release/mutants.py [--sample 200] [--seed 13] [--packages grading,stats] [--at-once 2]

mutmut makes every mutant and learns which test runs which function; so many of them, drawn at random, are
then tried. Prints the share that is killed with its Wilson interval and names the survivors:
`mutmut show NAME` shows one. A mutant that no test reaches has survived; one that makes the tests hang is
killed. Exits with 1 where less than 85 % are killed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from resit.stats import wilson_interval

MUTANTS = Path("mutants") / "src" / "resit"
FIRST = "resit.stats.clusters.x_standard_error__mutmut_1"
"""Any mutant: trying it alone makes all and times the tests."""
SURVIVED = {0, 5, 33}
"""mutmut's statuses: the tests pass, there are none, none reaches the mutant."""
WANTED = 0.85


def mutmut(*words: str) -> None:
    """Run it; what it says is shown. From `mutants/`, where the tests run, they would not find `shared`."""
    environment = {"RESIT_SHARED": str(Path("../shared").resolve()), **os.environ}
    subprocess.run([sys.executable, "-m", "mutmut", *words], check=True, env=environment)


def statuses(packages: Sequence[str]) -> dict[str, int | None]:
    """What came of each mutant of the packages, by name; None: it was not tried."""
    found: dict[str, int | None] = {}
    for package in packages:
        for path in (MUTANTS / package).rglob("*.meta"):
            found |= json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
    return found


def main() -> None:
    """Draw, try and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--packages", default="grading,stats")
    parser.add_argument("--at-once", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    packages = asked.packages.split(",")
    mutmut("run", FIRST)
    known = sorted(statuses(packages))
    drawn = random.Random(asked.seed).sample(known, min(asked.sample, len(known)))
    mutmut("run", "--max-children", str(asked.at_once), *drawn)
    tried = {name: status for name, status in statuses(packages).items() if name in drawn}
    survivors = sorted(name for name, status in tried.items() if status is None or status in SURVIVED)
    killed = len(drawn) - len(survivors)
    low, high = wilson_interval(killed, len(drawn))
    share = f"{killed / len(drawn):.1%} [{low:.1%}, {high:.1%}]"
    print(f"{killed} of {len(drawn)} mutants killed, {share}; there are {len(known)}")
    print(*survivors, sep="\n")
    if killed < WANTED * len(drawn):
        sys.exit(1)


if __name__ == "__main__":
    main()
