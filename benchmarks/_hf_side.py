"""One side of `hf_side_by_side.py`, in a process of its own: lm-eval's or Resit's, told on the command line.

    python _hf_side.py lm-eval|resit ASKED.json

Prints one JSON line: seconds of the whole process, of loading the model and of generating, seconds of
processor time, the most memory that was resident, and the texts. Imports nothing of the other side.
"""

from __future__ import annotations

import contextlib
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

BEGAN = time.monotonic()
SPENT = {"loading": 0.0, "generating": 0.0}


@contextlib.contextmanager
def timed(part: str) -> Iterator[None]:
    """Add what the block takes to a part's seconds."""
    began = time.monotonic()
    try:
        yield
    finally:
        SPENT[part] += time.monotonic() - began


def lm_eval(asked: dict[str, Any]) -> dict[str, list[str]]:
    """The texts of lm-eval's `hf`, by document."""
    from lm_eval import simple_evaluate
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    generate: Callable[..., Any] = HFLM.generate_until

    def measured(self: Any, *args: Any, **kwargs: Any) -> Any:
        with timed("generating"):
            return generate(self, *args, **kwargs)

    HFLM.generate_until = measured
    with timed("loading"):
        model = HFLM(
            pretrained=asked["model"], dtype=asked["dtype"], device="cpu", batch_size=asked["batch_size"]
        )
    results = simple_evaluate(
        model=model,
        tasks=[asked["task"]],
        task_manager=TaskManager(include_path=asked["include_path"], include_defaults=False),
        limit=asked["questions"],
        bootstrap_iters=0,
        log_samples=True,
    )
    samples = results["samples"][asked["task"]]
    return {str(sample["doc_id"]): sample["resps"][0] for sample in samples}


def resit(asked: dict[str, Any]) -> dict[str, list[str]]:
    """The texts of Resit's `hf`, by document, from the journal of a whole run."""
    from resit.cli.launch import Launch, launch
    from resit.models.hf.model import HfModel
    from resit.runs.plan import Settings

    engine, generate = HfModel._engine, HfModel.generate

    def loaded(self: Any) -> Any:
        with timed("loading"):
            return engine(self)

    def measured(self: Any, requests: Any) -> Iterator[Any]:
        loaded(self)
        with timed("generating"):
            yield from generate(self, requests)

    HfModel._engine, HfModel.generate = loaded, measured  # type: ignore[method-assign]
    folder = Path(asked["folder"])
    arguments = {"pretrained": asked["model"], "dtype": asked["dtype"], "device": "cpu"}
    with contextlib.redirect_stdout(sys.stderr):
        launch(
            Launch(
                model="hf",
                model_args=json.dumps(arguments),
                tasks=[asked["task"]],
                settings=Settings(limit=asked["questions"]),
                output_path=folder,
            )
        )
    texts: dict[str, list[str]] = {}
    lines = [json.loads(line) for line in (folder / "generations.jsonl").read_bytes().split(b"\n") if line]
    for line in sorted(lines, key=lambda line: line["repeat"]):
        texts.setdefault(str(line["doc_id"]), []).append(line["text"])
    return texts


def main() -> None:
    """Run the side that was named."""
    side = {"lm-eval": lm_eval, "resit": resit}[sys.argv[1]]
    texts = side(json.loads(Path(sys.argv[2]).read_bytes()))
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    whole = {"whole": time.monotonic() - BEGAN, "processor": used.ru_utime + used.ru_stime, **SPENT}
    print(json.dumps({"seconds": whole, "peak_bytes": peak, "texts": texts}))


if __name__ == "__main__":
    main()
