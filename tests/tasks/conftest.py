"""Task files and rows written on the spot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Row = dict[str, Any]

MINIMAL = """\
task: sums
dataset_path: synthetic
training_split: train
test_split: test
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Writes a file below the test's folder and gives its path: `write("a.yaml", "task: …")`."""

    def written(name: str, text: str) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)

    return written


@pytest.fixture
def minimal() -> str:
    """The text of a small task file."""
    return MINIMAL


@pytest.fixture
def reader() -> Callable[..., list[Row]]:
    """Four rows of every split of every data set, with the columns of all that the catalogue asks."""

    def rows(path: str | None, name: str | None, split: str, **options: Any) -> list[Row]:
        return [
            {
                "question": f"{split} {i}: how many are {i} and {i}?",
                "answer": f"Twice {i}.\n#### {2 * i}",
                "answer_number": 2 * i,
                "input": f"How many are {i}?",
                "target": float(i),
                "Body": f"There are {i} figs",
                "Question": "How many figs?",
                "Answer": float(i),
            }
            for i in range(4)
        ]

    return rows
