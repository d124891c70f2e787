"""What memory there is, and what running out of it looks like."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="needs `pip install 'resit[hf]'`")

import torch

from resit.models.hf import memory
from resit.models.hf.memory import affordable_rows, free_bytes, ran_out


def test_a_container_allows_less_than_the_machine_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit, used = tmp_path / "limit", tmp_path / "used"
    limit.write_text("5000000\n")
    used.write_text("2000000\n")
    monkeypatch.setattr(memory, "_CGROUP", ((limit, used),))
    assert free_bytes(torch.device("cpu")) == 3_000_000
    used.write_text("6000000\n")
    assert free_bytes(torch.device("cpu")) == 0


def test_a_container_without_limit_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_CGROUP", ())
    machine = free_bytes(torch.device("cpu"))
    limit, used = tmp_path / "limit", tmp_path / "used"
    limit.write_text("max\n")
    used.write_text("2000000\n")
    monkeypatch.setattr(memory, "_CGROUP", ((limit, used),))
    assert free_bytes(torch.device("cpu")) == pytest.approx(machine, rel=0.5)
    assert machine > 2**20


@given(st.integers(0, 10**12), st.integers(1, 10**6), st.integers(1, 10**5))
def test_affordable_rows_fit(budget: int, token_bytes: int, tokens: int) -> None:
    rows = affordable_rows(budget, token_bytes, tokens)
    assert rows >= 1
    assert rows == 1 or rows * token_bytes * tokens <= budget
    assert (rows + 1) * token_bytes * tokens > budget


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (MemoryError(), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"), True),
        (RuntimeError("MPS backend out of memory (MPS allocated: 9 GB)"), True),
        (RuntimeError("size mismatch"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_which_errors_say_that_memory_ran_out(error: Exception, expected: bool) -> None:
    assert ran_out(error) == expected
