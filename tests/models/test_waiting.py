"""Threads that wait: what they are told on idle, busy and limited machines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from resit.models.waiting import SPINS, settle_waiting

NAMES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.setenv(name, "")  # so that what the test sets is undone
        monkeypatch.delenv(name)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)


def told() -> tuple[str | None, str | None]:
    policy, spins = (os.environ.get(name) for name in NAMES)
    return policy, spins


def machine(root: Path, running: int, limits: dict[str, str]) -> Path:
    for name, text in {"proc/loadavg": f"0.40 0.30 0.20 {running}/345 6789\n", **limits}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("running", "limits", "spins"),
    [
        (1, {}, True),
        (3, {"sys/fs/cgroup/cpu.max": "max 100000\n"}, True),
        (1, {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n"}, True),
        (4, {}, False),
        (1, {"sys/fs/cgroup/cpu.max": "200000 100000\n"}, False),
        (1, {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000\n"}, False),
        (1, {"proc/loadavg": "odd\n"}, False),
    ],
)
def test_threads_spin_only_on_a_machine_of_their_own(
    tmp_path: Path, running: int, limits: dict[str, str], spins: bool
) -> None:
    settle_waiting(machine(tmp_path, running, limits))
    assert told() == ("passive", str(SPINS) if spins else None)


def test_where_nothing_is_known_they_sleep(tmp_path: Path) -> None:
    settle_waiting(tmp_path)
    assert told() == ("passive", None)


@pytest.mark.parametrize("name", NAMES)
def test_what_the_environment_says_stands(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "7")
    settle_waiting(machine(tmp_path, 1, {}))
    assert told() == (("7", None) if name == NAMES[0] else (None, "7"))
