"""What a command costs together with all processes that it starts."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

EVERY = 0.05
"""Seconds between two looks at the memory."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of a command."""

    seconds: float
    processor_seconds: float
    megabytes: float
    """The largest sum of what its processes held at one time, in units of 2**20 bytes."""


def measure(command: Sequence[str], output: IO[bytes] | None = None) -> Measured:
    """Run a command once; its output goes to a file or nowhere. Ends the program where it fails."""
    before, started, peak = os.times(), time.perf_counter(), 0.0
    with subprocess.Popen(command, stdout=output or subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, held_by(process.pid))
            time.sleep(EVERY)
    seconds, after = time.perf_counter() - started, os.times()
    if process.returncode:
        sys.exit(f"{' '.join(command[:5])} … ended with status {process.returncode}")
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return Measured(seconds, spent, peak)


def held_by(pid: int) -> float:
    """Memory that a process and all that it started hold now, in units of 2**20 bytes."""
    return sum(_resident(member) for member in _family(pid)) / 2**20


def _family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(member for child in children for member in _family(int(child)))]


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
