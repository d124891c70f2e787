"""From a clone to the first score: `make demo` with no environment, no cache and no model at hand.

    python benchmarks/first_score.py

The clone is of this checkout's last commit, in a folder of its own, as is everything that is fetched: the
packages from the package index, the model and the generator of the problems. It ends with the table.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path

from _figures import at_most, record

MOST_SECONDS = 300.0
"""Wanted, on two cores."""
CACHES = ("RESIT_CACHE", "PIP_CACHE_DIR", "XDG_CACHE_HOME", "HF_HOME")
"""Variables that say where what was fetched is kept: all empty folders."""
LEFT_OUT = ("RESIT_MIRROR", "HF_HUB_CACHE", "VIRTUAL_ENV")
"""Variables by which more of this machine would be found."""


def main() -> None:
    """Print the table that the command prints, and the time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        clone = Path(scratch) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(Path(__file__).parents[1]), str(clone)], check=True)
        environment = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
        caches = {name: str(Path(scratch) / name.lower()) for name in CACHES}
        began = time.monotonic()
        subprocess.run(["make", "demo"], cwd=clone, env={**environment, **caches}, check=True)
        seconds = time.monotonic() - began
    print(f"\nmake demo, from a fresh clone: {seconds:.0f} s")
    record(at_most("make demo in a fresh clone: environment, model, 16 answers", seconds, "s", MOST_SECONDS))


if __name__ == "__main__":
    main()
