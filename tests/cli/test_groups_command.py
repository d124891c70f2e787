"""A group's file runs its tasks and gives their aggregate."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def test_a_group_file_is_run_and_aggregated(tmp_path: Path, command: Callable[..., Any]) -> None:
    for name, answers in (("easy", [2, 4]), ("hard", [2, 0, 0, 0])):
        rows = [{"question": f"{i}", "answer": str(answer)} for i, answer in enumerate(answers)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
        (tmp_path / f"{name}.yaml").write_text(
            f"task: {name}\ndataset_path: json\n"
            f"dataset_kwargs: {{data_files: {{test: {tmp_path / name}.jsonl}}}}\n"
            'test_split: test\ndoc_to_text: "{{question}}"\ndoc_to_target: "{{answer}}"\n',
            encoding="utf-8",
        )
    (tmp_path / "both.yaml").write_text(
        "group: both\ntask: [easy, hard]\naggregate_metric_list:\n  - {metric: exact_match}\n",
        encoding="utf-8",
    )
    done = command(
        *("run", "--model", "scripted", "--model_args", "text=2", "--include_path", str(tmp_path)),
        *("--tasks", "both", "--output_path", str(tmp_path / "run"), "--json"),
    )
    results = done.json
    assert results["groups"]["both"]["exact_match,none"] == pytest.approx((1 + 1) / 6)
    assert results["group_subtasks"]["both"] == ["easy", "hard"]
