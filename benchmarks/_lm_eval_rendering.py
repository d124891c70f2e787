"""lm-eval's side of `render_prompts.py`, in a process of its own: run by the Python of lm-eval's environment.

    python _lm_eval_rendering.py

Reads one line of JSON, {"task", "splits": {"train": rows, "test": rows}}; then, for each line that comes,
renders the test split's prompts and answers {"seconds", "prompts"}. Imports nothing of Resit.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import logging
import sys
import time
from pathlib import Path
from typing import Any


def loaded(name: str, splits: dict[str, list[dict[str, Any]]]) -> Any:
    """lm-eval's own task over the rows that were given."""
    datasets: Any = importlib.import_module("datasets")
    from lm_eval.tasks import TaskManager

    spec = importlib.util.find_spec("lm_eval")
    assert spec is not None
    assert spec.origin is not None
    rows = {split: datasets.Dataset.from_list(own) for split, own in splits.items()}
    datasets.load_dataset = lambda *args, **kwargs: rows
    folder = Path(spec.origin).parent / "tasks" / "gsm8k"
    manager = TaskManager(include_path=str(folder), include_defaults=False)
    (task,) = manager.load([name])["tasks"].values()
    return task


def render(task: Any) -> list[Any]:
    """The prompts, as lm-eval builds its requests."""
    task.set_fewshot_seed(seed=1234)
    task.build_all_requests()
    first = {instance.doc_id: instance for instance in reversed(task.instances)}
    return [first[i].args[0] for i in sorted(first)]


def main() -> None:
    """Answer until nobody asks any more."""
    answers, sys.stdout = sys.stdout, sys.stderr  # lm-eval may print as it likes
    logging.disable(logging.CRITICAL)
    asked = json.loads(sys.stdin.readline())
    task = loaded(asked["task"], asked["splits"])
    for _ in sys.stdin:
        began = time.perf_counter()
        prompts = render(task)
        seconds = time.perf_counter() - began
        print(json.dumps({"seconds": seconds, "prompts": prompts}), file=answers, flush=True)


if __name__ == "__main__":
    main()
