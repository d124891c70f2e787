"""How long the 1319 prompts of a GSM8K task take to render, beside lm-eval on the same rows.

    python benchmarks/render_prompts.py [--task gsm8k_cot] [--rounds 3]

Needs one environment that holds Resit and `lm_eval[api]==0.4.13`; without lm_eval only Resit is measured.
Each round renders with the one, then with the other, documents loaded beforehand and nothing kept from the
round before; the prompts must be equal. Wall time of one core; the target is a ratio of at least 50.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from resit import assets, prompts, tasks

Rows = list[dict[str, Any]]


def ours(name: str, rows: Rows) -> Callable[[], list[Any]]:
    """Resit's rendering of the rows; a fresh task each time, so that nothing is left from the last round."""
    from resit.prompts.templates import compiled

    def reader(path: str, config: str | None, split: str, **options: Any) -> Rows:
        return rows if split == "test" else assets.rows(path, config, split)

    def render() -> list[Any]:
        compiled.cache_clear()
        return [question.prompt for question in prompts.questions(task)]

    (task,) = tasks.load([name], reader=reader)
    task.documents()
    return render


def theirs(name: str, rows: Rows) -> Callable[[], list[Any]]:
    """lm-eval's building of requests for the same rows."""
    datasets: Any = importlib.import_module("datasets")
    from lm_eval.tasks import TaskManager

    spec = importlib.util.find_spec("lm_eval")
    assert spec is not None
    assert spec.origin is not None

    class Splits(dict[str, Any]):
        def __missing__(self, split: str) -> Any:
            own = rows if split == "test" else assets.rows("openai/gsm8k", "main", split)
            self[split] = datasets.Dataset.from_list(own)
            return self[split]

    datasets.load_dataset = lambda *args, **kwargs: Splits()
    folder = Path(spec.origin).parent / "tasks" / "gsm8k"
    manager = TaskManager(include_path=str(folder), include_defaults=False)
    (task,) = manager.load([name])["tasks"].values()

    def render() -> list[Any]:
        task.set_fewshot_seed(seed=1234)
        task.build_all_requests()
        first = {instance.doc_id: instance for instance in reversed(task.instances)}
        return [first[i].args[0] for i in sorted(first)]

    return render


def timed(render: Callable[[], list[Any]]) -> tuple[float, list[Any]]:
    """Seconds, and what was rendered."""
    started = time.perf_counter()
    made = render()
    return time.perf_counter() - started, made


def main() -> int:
    """Measure in turns and print medians; 1 when the prompts differ or the target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", default="gsm8k_cot")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.environ["TQDM_DISABLE"] = "1"
    logging.disable(logging.CRITICAL)
    rows = assets.rows("openai/gsm8k", "main", "test")
    renderers = {"resit": ours(options.task, rows)}
    if importlib.util.find_spec("lm_eval"):
        renderers["lm-eval"] = theirs(options.task, rows)
    seconds: dict[str, list[float]] = {name: [] for name in renderers}
    made: dict[str, list[Any]] = {}
    for _ in range(options.rounds):
        for name, render in renderers.items():
            spent, made[name] = timed(render)
            seconds[name].append(spent)
    median = {name: statistics.median(spent) for name, spent in seconds.items()}
    print(f"{options.task}: {len(rows)} prompts, median of {options.rounds} rounds\n")
    for name, value in median.items():
        print(f"| {name} | {value:.3f} s | {1e6 * value / len(rows):.0f} µs a prompt |")
    if "lm-eval" not in median:
        print("\nlm_eval is not installed in this environment: nothing to compare with")
        return 0
    same, ratio = made["resit"] == made["lm-eval"], median["lm-eval"] / median["resit"]
    print(f"\nratio {ratio:.0f}, prompts {'equal' if same else 'DIFFERENT'}")
    return 0 if same and ratio >= 50 else 1


if __name__ == "__main__":
    sys.exit(main())
