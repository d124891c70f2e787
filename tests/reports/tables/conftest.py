"""A scored run that every format of a report is made of."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from resit.cli.scoring import score_folder
from resit.runs.imports import from_jsonl
from resit.runs.imports.writer import File, Origin, Part, import_run
from resit.tasks import load

TASK = r"""
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
doc_to_text: "Question: {{{{question}}}}\nAnswer:"
doc_to_target: "{{{{answer}}}}"
generation_kwargs: {{until: ["Question:"], max_gen_toks: 64}}
filter_list:
  - name: strict-match
    filter:
      - {{function: regex, regex_pattern: "#### (\\-?[0-9\\.\\,]+)"}}
      - {{function: take_first}}
metric_list:
  - metric: exact_match
"""
ANSWERS: Sequence[str | None] = ["#### 2", "The answer is 4.", "#### 7", None, "I cannot say.", "#### 12"]
"""strict-match: 2 of 5; robust: 3 of 5; the fourth errored."""


@pytest.fixture
def scored(tmp_path: Path) -> Callable[..., Path]:
    """Write and score a run of six sums; `model` is how the model is called."""

    def write(
        name: str, answers: Sequence[str | None] = ANSWERS, task: str = "sums", model: str = ""
    ) -> Path:
        data, lines = tmp_path / f"{task}.rows.jsonl", tmp_path / f"{name}.{task}.jsonl"
        rows = [{"question": f"What is {i} + {i}?", "answer": str(2 * i)} for i in range(1, len(answers) + 1)]
        data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        yaml = tmp_path / f"{task}.yaml"
        yaml.write_text(TASK.format(name=task, data=data), encoding="utf-8")
        given = [_line(i, answer, rows[i]["question"]) for i, answer in enumerate(answers)]
        lines.write_text("".join(json.dumps(line) + "\n" for line in given), encoding="utf-8")
        loaded = load([str(yaml)])[0]
        part = Part(loaded, [File(lines, from_jsonl.entries(lines))])
        folder = import_run(tmp_path / name, Origin("jsonl", model or name), [part])
        score_folder(folder, {task: loaded.rules}, processes=1)
        return folder.path

    return write


def _line(doc_id: int, answer: str | None, asked: str) -> dict[str, Any]:
    own = {"response": answer} if answer is not None else {"error": "503"}
    return {"doc_id": doc_id, "finish_reason": "stop", "prompt": f"Question: {asked}\nAnswer:", **own}
