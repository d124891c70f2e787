"""Every benchmark, one after the other: `make bench`. Each can be run alone and says how at its top."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SHARED = Path(os.environ.get("RESIT_SHARED", HERE.parents[1] / "shared"))
ARGUMENTS = {
    "grading_throughput.py": ["--logs", str(SHARED / "logs")],
    "hf_side_by_side.py": ["--questions", "16"],
}
"""What a benchmark is given that cannot run without."""


def main() -> int:
    """Run them; the number of those that failed is the exit status."""
    failed = []
    for script in sorted(HERE.glob("[!_]*.py")):
        print(f"\n== {script.name}", flush=True)
        done = subprocess.run([sys.executable, str(script), *ARGUMENTS.get(script.name, [])], check=False)
        if done.returncode:
            failed.append(script.name)
    print(f"\nfailed: {', '.join(failed)}" if failed else "\nall ran")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
