"""How OpenMP's threads wait for one another: asleep, and on a machine of their own after a short spin."""

from __future__ import annotations

import os
import time
from pathlib import Path
from statistics import median

SPINS = 30_000
"""libgomp's rounds of spinning before a waiting thread sleeps; about a millisecond."""
LOOKS, APART_SECONDS = 5, 0.01
"""How often it is looked at what else runs."""


def settle_waiting(root: Path = Path("/")) -> None:
    """Tell OpenMP, before it is loaded, how its threads wait; what the environment says of it stands.

    Threads that spin without end make a busy machine up to ten times slower; threads that sleep at once
    make an idle one a quarter slower (docs/design/hf.md).
    """
    if "OMP_WAIT_POLICY" in os.environ or "GOMP_SPINCOUNT" in os.environ:
        return
    os.environ["OMP_WAIT_POLICY"] = "passive"
    if _unlimited(root) and _idle(root):
        os.environ["GOMP_SPINCOUNT"] = str(SPINS)


def _unlimited(root: Path) -> bool:
    """Whether no control group limits our processor time, of which spinning would take its part."""
    for name in ("cpu.max", "cpu/cpu.cfs_quota_us"):
        try:
            limit = (root / "sys/fs/cgroup" / name).read_text().split()
        except OSError:
            continue
        if limit and limit[0] not in ("max", "-1"):
            return False
    return True


def _idle(root: Path) -> bool:
    """Whether hardly anything else runs on the machine; False where that cannot be said."""
    running = []
    try:
        for _ in range(LOOKS):
            running.append(_running(root))
            time.sleep(APART_SECONDS)
    except (OSError, ValueError, IndexError):
        return False
    return median(running) - 1 <= (os.cpu_count() or 1) // 4


def _running(root: Path) -> int:
    """How many threads of the machine run or could, this one with them: Linux, proc_loadavg(5)."""
    return int((root / "proc/loadavg").read_text().split()[3].partition("/")[0])
