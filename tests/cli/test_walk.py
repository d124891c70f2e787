"""docs/walk.md says what really happens: its exam is made, run and compared, and the figures are its own."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def walked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable) -> Callable[..., Any]:
    """The exam, in the current folder, with both runs."""
    spec = importlib.util.spec_from_file_location("make_screenshots", DOCS / "make_screenshots.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.write_exam(tmp_path)
    monkeypatch.chdir(tmp_path)
    return command


def spaced(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_the_walk_is_true(walked: Callable) -> None:
    said = spaced((DOCS / "walk.md").read_text(encoding="utf-8"))
    for name in ("first", "second"):
        model = ("--model", "scripted", "--model_args", f"file={name}.jsonl")
        done = walked("run", *model, "--tasks", "market.yaml", "--output_path", f"runs/{name}")
        assert done.status == 0
        if name == "first":
            for line in done.out.splitlines()[1:5]:  # the table's rows, its footnote, the warning
                assert spaced(line).strip() in said
    compared = spaced(walked("compare", "runs/first", "runs/second", "--rule", "robust").out)
    assert "Not distinguishable (−7.5 points; 95 % interval −17.0 to +1.1 points, p = 0.092" in compared
    assert compared.partition("market, rule robust: ")[2].partition(" 3 questions")[0] in said
    strict = spaced(walked("compare", "runs/first", "runs/second", "--rule", "strict-match").out)
    assert "second scores 17.5 points above first (95 % interval +7.3 to +28.5 points" in strict
    assert "17.5 points above the first (95 % interval +7.3 to +28.5)" in said


def test_its_pictures_are_there_and_small() -> None:
    named = re.findall(r"\]\((walk/[^)]+)\)", (DOCS / "walk.md").read_text(encoding="utf-8"))
    assert len(named) == 4
    assert sum((DOCS / name).stat().st_size for name in named) < 800_000
