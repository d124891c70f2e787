"""How much memory caches may take, and what running out of it looks like."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import torch

_CGROUP = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)

_UNKNOWN = 2**31
"""Bytes assumed to be free where nothing says how many are."""


def free_bytes(device: torch.device) -> int:
    """Bytes that this process can still take on a device."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(free + unused)
    if device.type == "mps":
        return int(torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory())
    return _free_host_bytes()


def _free_host_bytes() -> int:
    """What the machine has available, or what the container still allows, whichever is less."""
    known = []
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        known.append(int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) * 1024)
    for limit, used in _CGROUP:
        with suppress(OSError, ValueError):  # "max" is no limit
            known.append(max(int(limit.read_text()) - int(used.read_text()), 0))
    return min(known, default=_UNKNOWN)


def affordable_rows(budget: int, token_bytes: int, tokens_a_row: int) -> int:
    """Rows whose caches fit into so many bytes; at least one, which then has to be tried."""
    return max(1, budget // max(1, token_bytes * tokens_a_row))


def ran_out(error: BaseException) -> bool:
    """Whether an error says that there is no more memory, on whatever device."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and ("out of memory" in text or "can't allocate memory" in text)
