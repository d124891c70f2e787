"""lm-eval's side of a replay, in a process of lm-eval's environment: `python _lm_eval.py ASKED.json`.

Builds every request of lm-eval's own task file over the rows given, puts the responses in place of a model's
and lets lm-eval's filters and metrics read them. Writes one JSON file a set of responses and says so.
Imports nothing of the other side.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

SEED = 1234


def task_of(file: Path, splits: dict[str, str]) -> Any:
    """lm-eval's task over the rows of those files, with every request built."""
    import datasets  # type: ignore[import-not-found]
    from lm_eval.tasks import TaskManager

    class Splits(dict[str, Any]):
        def __missing__(self, split: str) -> Any:
            if split not in splits:  # looked for even where nothing is taken from it
                return datasets.Dataset.from_list([])
            lines = Path(splits[split]).read_text(encoding="utf-8").split("\n")
            return datasets.Dataset.from_list([json.loads(line) for line in lines if line])

    datasets.load_dataset = lambda *args, **kwargs: Splits()
    manager = TaskManager(include_path=str(file.parent), include_defaults=False)
    (task,) = manager.load([str(file)])["tasks"].values()
    if task.get_config("num_fewshot") is None:
        task.set_config(key="num_fewshot", value=0)
    task.set_fewshot_seed(seed=SEED)
    task.build_all_requests(fewshot_as_multiturn=False)
    return task


def judged(task: Any, responses: list[list[str]]) -> list[dict[str, Any]]:
    """What lm-eval makes of the responses to each document."""
    for instance in task.instances:
        instance.resps = list(responses[instance.doc_id])
        instance.filtered_resps = {}
    task.apply_filters()
    return [_sample(task, instance) for instance in sorted(task.instances, key=lambda i: i.doc_id)]


def _sample(task: Any, instance: Any) -> dict[str, Any]:
    verdicts = {}
    for name, answer in instance.filtered_resps.items():
        metrics = task.process_results(instance.doc, [answer])
        verdicts[name] = [answer, float(metrics["exact_match"])]
    return {
        "doc_id": instance.doc_id,
        "prompt": hashlib.sha256(instance.args[0].encode()).hexdigest(),
        "target": str(task.doc_to_target(instance.doc)),
        "verdicts": verdicts,
    }


def main() -> None:
    """Carry out every job of the file."""
    for job in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        import lm_eval

        home = Path(str(lm_eval.__file__)).parents[1]
        task = task_of(home / job["file"], job["splits"])
        for replay in job["replays"]:
            responses = json.loads(Path(replay["responses"]).read_text(encoding="utf-8"))
            found = judged(task, responses)
            Path(replay["found"]).write_text(json.dumps(found), encoding="utf-8")
            print(f"written: {replay['found']}", flush=True)


if __name__ == "__main__":
    main()
