"""However a command ends, no connection of its model stays open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from resit.models import openai
from resit.models.client import Loop

from .conftest import answering


@pytest.fixture
def adder() -> Iterator[str]:
    """Lists one model, which says two."""
    listed = {"data": [{"id": "adder"}]}
    said = {"choices": [{"text": "2", "finish_reason": "stop"}]}
    with answering(lambda method: (200, listed if method == "GET" else said)) as url:
        yield url


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> list[Loop]:
    """Every loop that a model opens."""
    opened: list[Loop] = []

    class Kept(Loop):
        def __init__(self) -> None:
            super().__init__()
            opened.append(self)

    monkeypatch.setattr(openai, "Loop", Kept)
    return opened


@pytest.fixture
def folder(tmp_path: Path, sums: Callable[..., Path]) -> Path:
    """With the tasks `seen` and `fresh`."""
    for name in ("seen", "fresh"):
        rows = [{"question": f"{name} {i}: 1 + 1?", "answer": "2"} for i in range(4)]
        sums(name, rows=rows, more="resit: {rules: [robust], options: {gold: whole}}\n")
    return tmp_path


def closed(loops: list[Loop]) -> bool:
    return bool(loops) and all(loop.loop.is_closed() for loop in loops)


def test_a_run_that_owes_nothing_and_one_of_another_identity(
    command: Callable[..., Any], adder: str, folder: Path, loops: list[Loop]
) -> None:
    words = ("run", "-M", "openai-completions", "-a", f"base_url={adder}", "-t", folder / "seen.yaml")
    assert command(*words, "-o", folder / "run").status == 0
    assert closed(loops)
    assert command(*words, "-o", folder / "run").status == 0
    assert closed(loops)
    assert command(*words, "-o", folder / "run", "--seed", 7).status == 3
    assert closed(loops)


def test_probes_that_are_all_on_file(
    command: Callable[..., Any], adder: str, folder: Path, loops: list[Loop]
) -> None:
    words = ("memorisation", "-M", "openai-completions", "-a", f"base_url={adder}", "--include-path", folder)
    probes = ("--probes", "gap", "--seen", "seen", "--fresh", "fresh", "-o", folder / "probed")
    for _ in range(2):
        done = command(*words, *probes)
        assert done.status == 0, done.err
        assert closed(loops)
