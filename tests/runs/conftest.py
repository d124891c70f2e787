"""A small exam of the suite's own, and a scripted model to sit it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resit.cli.scoring import judge, score_folder
from resit.models import create, parse_model_args
from resit.runs.describe import about_run
from resit.runs.execute import Outcome, run
from resit.runs.folder import RunFolder
from resit.runs.plan import Settings, make_plan
from resit.runs.progress import ConsoleObserver
from resit.stats import wilson_interval
from resit.tasks import load

TASK = """\
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
doc_to_text: "Question: {{{{question}}}}\\nAnswer:"
doc_to_target: "{{{{answer}}}}"
generation_kwargs: {{until: ["Question:"], max_gen_toks: 32}}
repeats: {repeats}
filter_list:
  - name: strict-match
    filter:
      - {{function: regex, regex_pattern: "#### (\\\\-?[0-9\\\\.\\\\,]+)"}}
      - {{function: take_first}}
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
"""


@pytest.fixture
def exam(tmp_path: Path) -> Callable[..., Path]:
    """Writes a task file with `questions` questions, `i + i` for i from 1, and gives its path."""

    def write(name: str = "sums", questions: int = 4, repeats: int = 2) -> Path:
        data = tmp_path / f"{name}.jsonl"
        rows = [{"question": f"What is {i} + {i}?", "answer": str(2 * i)} for i in range(1, questions + 1)]
        data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        path = tmp_path / f"{name}.yaml"
        path.write_text(TASK.format(name=name, data=data, repeats=repeats), encoding="utf-8")
        return path

    return write


@pytest.fixture
def sit() -> Callable[..., tuple[Outcome, dict[str, Any]]]:
    """Runs and scores tasks as `resit run` does; gives what it took and the results."""

    def sit(
        folder: Path, *tasks: Path | str, model: str = "text=#### {target}", **options: Any
    ) -> tuple[Outcome, dict[str, Any]]:
        loaded = load([str(task) for task in tasks])
        rules = {task.name: task.rules for task in loaded}
        args = parse_model_args(model)
        scripted = create("scripted", args)
        plan = make_plan(scripted.identity(), loaded, Settings(**options))
        observer = ConsoleObserver(judge(rules), wilson_interval, io.StringIO())
        outcome = run(plan, scripted, folder, observer, about_run(plan, "scripted", "scripted", args))
        return outcome, score_folder(RunFolder(folder), rules)

    return sit
