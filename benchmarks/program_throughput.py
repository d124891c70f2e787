"""Programs of models a second: in the sandbox, and in a new interpreter for each, in turns.

python benchmarks/program_throughput.py [--programs 100] [--rounds 3]

The physical limit beside them is a bare fork that ends at once.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from _figures import LIMIT, more, record

from resit.grading.sandbox import Sandbox

PROGRAM = "def solution():\n    eggs = 16 - 3 - 4\n    return eggs * {}\nprint(solution())"


def rate(programs: int, run: Callable[[str], None]) -> float:
    """Programs a second."""
    began = time.perf_counter()
    for number in range(programs):
        run(PROGRAM.format(number))
    return programs / (time.perf_counter() - began)


def interpreter(source: str) -> None:
    """One program in an interpreter of its own."""
    subprocess.run([sys.executable, "-I", "-S", "-c", source], check=True, stdout=subprocess.DEVNULL)


def fork(source: str) -> None:
    """What the sandbox cannot be quicker than."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def main() -> None:
    """Print the median rate of each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    box = Sandbox()
    box.start()
    ways: dict[str, Callable[[str], object]] = {
        "sandbox": box.run,
        "new interpreter": interpreter,
        "bare fork": fork,
    }
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(options.rounds):
        for name, run in ways.items():
            rates[name].append(rate(options.programs, run))  # type: ignore[arg-type]
    box.close()
    print(f"load {os.getloadavg()[0]:.1f}, locked by the kernel: {box.locked}")
    for name, found in rates.items():
        print(f"{name:>16}: {statistics.median(found):7.0f} programs a second")
    median = {name: statistics.median(found) for name, found in rates.items()}
    what, ours = "programs of models in the sandbox", median["sandbox"]
    record(
        more(what, ours, "1/s", "a new interpreter for each", median["new interpreter"]),
        more(what, ours, "1/s", LIMIT, median["bare fork"], note="a bare fork that ends at once"),
    )


if __name__ == "__main__":
    main()
