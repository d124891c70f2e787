"""What the calculator changes in a stored greedy run: slips and scores, with and without.

    python tests/reference/calculator_gain.py RUN --model llamacpp --model-args pretrained=smollm2-135m

The run is one without the calculator. Its texts are taken as the first that the model gives; from where a
result is wrong the model is asked to go on, as `--calculator` does. Greedy texts that do not depend on what
else is in flight (llama.cpp's `steady`) make this the run with the calculator, for the price of its
continuations.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from resit.grading import grade
from resit.models import Model, Setup, create, parse_model_args
from resit.models.calculating import generations
from resit.models.calculator import annotations_in
from resit.records import Generation, Prompt, Question, Request, Sampling
from resit.runs.folder import RunFolder
from resit.stats import wilson_interval

RULES = ("lm_eval_flexible", "robust")


class Begun:
    """A model that begins with what is on file."""

    name = "begun"

    def __init__(self, model: Model, stored: dict[str, Generation]) -> None:
        self._model = model
        self._stored = stored
        self.continuations = 0

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
        """The stored sample of a question; the model's own answer to any later request for it."""
        for request in requests:
            first = self._stored.pop(request.question.document.doc_hash, None)
            if first is not None:
                yield first
            else:
                self.continuations += 1
                yield from self._model.generate([request])

    def encode(self, prompt: Prompt) -> Any:
        """As the model encodes it."""
        return self._model.encode(prompt)


def slips(texts: Iterable[str]) -> tuple[int, int]:
    """Annotations in the texts that the calculator can read, and how many of them have another result."""
    found = [(a, text) for text in texts for a in annotations_in(text) if a.result is not None]
    return len(found), sum(not text.startswith(str(a.result), a.at) for a, text in found)


def show(label: str, questions: dict[str, Question], samples: dict[str, Generation]) -> None:
    """Print slips and scores of one set of samples."""
    annotated, wrong = slips(sample.text for sample in samples.values())
    print(
        f"{label}: {len(samples)} samples, {annotated} annotations that can be read, "
        f"{wrong} with another result than the calculator's"
    )
    for rule in RULES:
        right = sum(
            int(
                grade(
                    sample.text, str(questions[key].target), rule, finish_reason=sample.finish_reason
                ).correct
            )
            for key, sample in samples.items()
        )
        low, high = wilson_interval(right, len(samples))
        print(f"  {rule}: {right}/{len(samples)} = {right / len(samples):.4f} [{low:.4f}, {high:.4f}]")


def main() -> None:
    """Continue, compare, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--model", default="llamacpp")
    parser.add_argument("--model-args", default="pretrained=smollm2-135m")
    arguments = parser.parse_args()
    folder = RunFolder.existing(arguments.run)
    (name,) = folder.tasks()
    questions = {question.document.doc_hash: question for question in folder.questions(name)}
    index = folder.index()
    with index.reader() as reader:
        stored = {key: reader.samples(index.offsets(name, key)) for key in questions}
    before = {key: samples[0] for key, samples in stored.items() if samples and samples[0].error is None}
    sampling = _sampling(folder, name)
    requests = [Request(questions[key], 0, sampling, sample.seed) for key, sample in before.items()]
    with create(arguments.model, parse_model_args(arguments.model_args), Setup(concurrency=1)) as model:
        begun = Begun(model, dict(before))
        after = {sample.doc_hash: sample for sample in generations(begun, requests)}
    show("without", questions, before)
    show("with", questions, after)
    made = sum(len(sample.insertions or ()) for sample in after.values())
    unread = sum(sample.uncalculated or 0 for sample in after.values())
    changed = sum(before[key].text != after[key].text for key in before)
    print(f"{made} results put in, {unread} expressions not read, {changed} texts changed")
    print(f"{begun.continuations} continuations for {len(before)} samples")


def _sampling(folder: RunFolder, name: str) -> Sampling:
    """The run's sampling, with the calculator. Raises SystemExit for a run that is not greedy or has one."""
    settings = (folder.record() or {})["identity"]["tasks"][name]["sampling"]
    if settings["temperature"] or settings.get("calculator"):
        raise SystemExit("expected a greedy run without the calculator")
    return Sampling(**{**settings, "stop": tuple(settings["stop"]), "calculator": True})


if __name__ == "__main__":
    main()
