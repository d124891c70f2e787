"""How long the 1319 prompts of a GSM8K task take to render, beside lm-eval on the same rows.

    python benchmarks/render_prompts.py [--task gsm8k_cot] [--rounds 3] [--lm-eval PYTHON]

PYTHON is that of an environment with `lm_eval[api]==0.4.13`; without it only Resit is measured. Each round
renders with the one, then with the other, documents loaded beforehand and nothing kept from the round before;
the prompts must be equal. Wall time of one core; the target is a ratio of at least 50.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from _figures import Figure, less, record

from resit import assets, prompts, tasks

Rows = list[dict[str, Any]]
Timed = Callable[[], tuple[float, list[Any]]]
"""Renders once: the seconds, and what was rendered."""
LEAST_RATIO = 50.0


def ours(name: str, rows: Rows) -> Timed:
    """Resit's rendering of the rows; a fresh task each time, so that nothing is left from the last round."""
    from resit.prompts.templates import compiled

    def reader(path: str, config: str | None, split: str, **options: Any) -> Rows:
        return rows if split == "test" else assets.rows(path, config, split)

    def render() -> tuple[float, list[Any]]:
        began = time.perf_counter()
        compiled.cache_clear()
        made = [question.prompt for question in prompts.questions(task)]
        return time.perf_counter() - began, made

    (task,) = tasks.load([name], reader=reader)
    task.documents()
    return render


@contextlib.contextmanager
def theirs(python: str, name: str, rows: Rows) -> Iterator[Timed]:
    """lm-eval's building of requests for the same rows, in its own environment."""
    script = Path(__file__).with_name("_lm_eval_rendering.py")
    splits = {"train": assets.rows("openai/gsm8k", "main", "train"), "test": rows}
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    with subprocess.Popen(
        [python, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
        env=environment,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        asked, answers = process.stdin, process.stdout
        print(json.dumps({"task": name, "splits": splits}), file=asked, flush=True)

        def render() -> tuple[float, list[Any]]:
            print(file=asked, flush=True)
            if not (line := answers.readline()):
                sys.exit("lm-eval's side ended without an answer; what it said stands above")
            answer = json.loads(line)
            return answer["seconds"], answer["prompts"]

        yield render
        asked.close()


def main() -> int:
    """Measure in turns and print medians; 1 when the prompts differ or the target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", default="gsm8k_cot")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lm-eval", metavar="PYTHON")
    options = parser.parse_args()
    os.environ["TQDM_DISABLE"] = "1"
    logging.disable(logging.CRITICAL)
    rows = assets.rows("openai/gsm8k", "main", "test")
    renderers = {"resit": ours(options.task, rows)}
    seconds: dict[str, list[float]] = {}
    made: dict[str, list[Any]] = {}
    with contextlib.ExitStack() as stack:
        if options.lm_eval:
            renderers["lm-eval"] = stack.enter_context(theirs(options.lm_eval, options.task, rows))
        for _ in range(options.rounds):
            for name, render in renderers.items():
                spent, made[name] = render()
                seconds.setdefault(name, []).append(spent)
    median = {name: statistics.median(spent) for name, spent in seconds.items()}
    print(f"{options.task}: {len(rows)} prompts, median of {options.rounds} rounds\n")
    for name, value in median.items():
        print(f"| {name} | {value:.3f} s | {1e6 * value / len(rows):.0f} µs a prompt |")
    what = f"rendering {len(rows)} prompts of {options.task}"
    if "lm-eval" not in median:
        print("\nwithout --lm-eval there is nothing to compare with")
        record(Figure(what, median["resit"], "s"))
        return 0
    same, ratio = made["resit"] == made["lm-eval"], median["lm-eval"] / median["resit"]
    equal = f"prompts {'equal' if same else 'DIFFERENT'}"
    print(f"\nratio {ratio:.0f}, {equal}")
    record(less(what, median["resit"], "s", "lm-eval", median["lm-eval"], LEAST_RATIO, equal))
    return 0 if same and ratio >= LEAST_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
