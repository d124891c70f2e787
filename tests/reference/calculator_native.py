"""Same prompts, greedy: hf's own calculator against stop-and-continue on the same model.

    python tests/reference/calculator_native.py CHECKPOINT [--limit 32] [--tokens 100] [--task gsm8k]

Prints the questions whose texts differ, and how many continuations stop-and-continue needed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from resit import prompts, tasks
from resit.models import Model, create
from resit.models.calculating import generations
from resit.records import Generation, Prompt, Request


class Plain:
    """A model that knows nothing of the calculator, and counts what it is asked."""

    name = "plain"

    def __init__(self, model: Model) -> None:
        self._model = model
        self.asked = 0

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
        """The model's generations, as if nobody had asked for a calculator."""
        return self._model.generate(map(self._without, requests))

    def _without(self, request: Request) -> Request:
        self.asked += 1
        return replace(request, sampling=replace(request.sampling, calculator=False))

    def encode(self, prompt: Prompt) -> Any:
        """As the model encodes it."""
        return self._model.encode(prompt)


def requests_of(name: str, limit: int, tokens: int) -> list[Request]:
    """One greedy request a question, with the calculator."""
    (task,) = tasks.load([name])
    sampling = replace(task.sampling({"max_gen_toks": tokens}), calculator=True)
    return [Request(question, 0, sampling, 0) for question in prompts.questions(task, limit=limit)]


def timed(model: Any, requests: list[Request]) -> tuple[dict[int, Generation], float]:
    """The generations by document, and the seconds that they took."""
    began = time.monotonic()
    return {g.doc_id: g for g in generations(model, requests)}, time.monotonic() - began


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoint")
    parser.add_argument("--limit", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--task", default="gsm8k")
    arguments = parser.parse_args()
    requests = requests_of(arguments.task, arguments.limit, arguments.tokens)
    with create("hf", {"pretrained": arguments.checkpoint}) as model:
        native, native_seconds = timed(model, requests)
        plain = Plain(model)
        continued, seconds = timed(plain, requests)
    different = [doc for doc in native if native[doc].text != continued[doc].text]
    for doc in different:
        print(f"document {doc}:\n  native    {native[doc].text!r}\n  continued {continued[doc].text!r}")
    made = sum(len(g.insertions or ()) for g in native.values())
    again = plain.asked - len(requests)
    wasted = sum(g.completion_tokens or 0 for g in continued.values()) - sum(
        g.completion_tokens or 0 for g in native.values()
    )
    print(
        f"{len(requests)} questions, {len(requests) - len(different)} with the same text; {made} results; "
        f"{again} continuations and {wasted} more tokens than natively; "
        f"{native_seconds:.0f} s natively, {seconds:.0f} s with continuations"
    )


if __name__ == "__main__":
    main()
