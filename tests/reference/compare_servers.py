"""Lists every question that several servers of one model answered differently, and where the texts part.

    python tests/reference/compare_servers.py RUN RUN… [--model MODEL-hf] [--base-url URL]

RUNs are greedy run folders of the same questions (`three_servers.py` makes them). With `--model` the weights
are evaluated in float64 at the place where two texts part: the gap between the two tokens that the servers
chose tells an accident of rounding (a near tie) from a difference in what was asked. With `--base-url` a
server that offers log-probabilities is asked for its own gap there. For `--model` install `resit[hf]`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resit.records import Generation, Question
from resit.runs.folder import RunFolder


@dataclass(frozen=True, slots=True)
class Parting:
    """Two runs' texts for one question, which differ."""

    question: Question
    runs: tuple[str, str]
    texts: tuple[str, str]
    tokens: tuple[int | None, int | None]
    """Of the prompt, as each server counted them."""

    @property
    def at(self) -> int:
        """Characters that both have."""
        pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(*self.texts, strict=False))
        return sum(1 for _ in pairs)


def answers(path: Path) -> dict[str, tuple[Question, Generation]]:
    """The samples of a run by their question's hash; the first repeat of each."""
    folder = RunFolder.existing(path)
    index = folder.index()
    with index.reader() as reader:
        return {
            question.document.doc_hash: (question, reader.samples(places)[0])
            for question in folder.questions()
            if (places := index.offsets(question.task, question.document.doc_hash))
        }


def partings(runs: dict[str, dict[str, tuple[Question, Generation]]]) -> Iterator[Parting]:
    """Every difference between two runs, in the order of the questions."""
    for (one, ours), (other, theirs) in itertools.combinations(runs.items(), 2):
        for key in ours.keys() & theirs.keys():
            question, mine = ours[key]
            yours = theirs[key][1]
            if mine.text != yours.text:
                counts = mine.prompt_tokens, yours.prompt_tokens
                yield Parting(question, (one, other), (mine.text, yours.text), counts)


class Weights:
    """The model in float64: what the engines' float32 only comes near to."""

    def __init__(self, folder: Path) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self._torch = torch
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        self._model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()

    def _prompt(self, question: Question) -> list[int]:
        if isinstance(question.prompt, str):
            return list(self._tokenizer(question.prompt)["input_ids"])
        turns = [{"role": turn.role, "content": turn.content} for turn in question.prompt]
        text = self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def told(self, parting: Parting) -> str:
        """The tokens that part, and the gap in their log-probabilities."""
        prompt = self._prompt(parting.question)
        one, other = (self._tokenizer(text, add_special_tokens=False)["input_ids"] for text in parting.texts)
        end = self._tokenizer.eos_token_id
        shared = next(
            (i for i, (a, b) in enumerate(zip([*one, end], [*other, end], strict=False)) if a != b),
            min(len(one), len(other)),
        )
        ids = self._torch.tensor([[*prompt, *one[:shared]]])
        with self._torch.no_grad():
            logits = self._model(ids, logits_to_keep=1).logits[0, -1]
        logprobs = self._torch.log_softmax(logits, -1)
        first, second = ([*one, end][shared], [*other, end][shared])
        best = self._torch.topk(logprobs, 2)
        ranks = [int((logprobs > logprobs[token]).sum()) + 1 for token in (first, second)]
        return (
            f"token {shared + 1}: {self._tokenizer.decode([first])!r} (rank {ranks[0]}) or "
            f"{self._tokenizer.decode([second])!r} (rank {ranks[1]}), "
            f"{abs(float(logprobs[first] - logprobs[second])):.2e} nats apart in float64; "
            f"top two {float(best.values[0] - best.values[1]):.2e} apart"
        )


def served_gap(base_url: str, parting: Parting) -> str:
    """What a server says of the two likeliest tokens after what both texts share."""
    if not isinstance(parting.question.prompt, str):
        return "a chat, whose begun turn this server cannot be asked for"
    body = {"prompt": parting.question.prompt + parting.texts[0][: parting.at], "max_tokens": 1,
            "temperature": 0, "logprobs": 2, "model": _model(base_url)}  # fmt: skip
    choice = _ask(f"{base_url}/completions", body)["choices"][0]
    given = choice.get("logprobs") or {}
    top = (given.get("top_logprobs") or [{}])[0]
    if given.get("content"):  # llama.cpp writes them as chats do
        top = {entry["token"]: entry["logprob"] for entry in given["content"][0]["top_logprobs"]}
    ordered = sorted(top.items(), key=lambda item: -item[1])[:2]
    if len(ordered) < 2:
        return "it gives no log-probabilities"
    (first, high), (second, low) = ordered
    return f"{first!r} before {second!r} by {high - low:.2e} nats"


def _ask(url: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    return json.loads(urllib.request.urlopen(request, timeout=120).read())


def _model(base_url: str) -> str:
    return str(_ask(f"{base_url}/models")["data"][0]["id"])


def report(paths: Sequence[Path], model: Path | None, base_url: str | None) -> None:
    """Print the agreement of each pair and then every difference."""
    runs = {path.name: answers(path) for path in paths}
    found = list(partings(runs))
    for one, other in itertools.combinations(runs, 2):
        shared = runs[one].keys() & runs[other].keys()
        differ = sum(parting.runs == (one, other) for parting in found)
        counts = sum(runs[one][key][1].prompt_tokens != runs[other][key][1].prompt_tokens for key in shared)
        print(
            f"{one} and {other}: {len(shared)} questions, {differ} texts differ, {counts} token counts differ"
        )
    weights = Weights(model) if model else None
    for parting in found:
        where = f"{' / '.join(parting.runs)}, document {parting.question.document.doc_id}"
        print(f"\n{where}: parts after {parting.at} characters; prompt tokens {parting.tokens}")
        for run, text in zip(parting.runs, parting.texts, strict=True):
            print(f"  {run:28} …{text[max(0, parting.at - 30) : parting.at + 40]!r}")
        if weights is not None:
            print(f"  {weights.told(parting)}")
        if base_url:
            print(f"  {base_url}: {served_gap(base_url, parting)}")


def main() -> None:
    """Compare the runs that are named."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("runs", nargs="+", type=Path)
    options.add_argument("--model", type=Path)
    options.add_argument("--base-url")
    asked = options.parse_args()
    report(asked.runs, asked.model, asked.base_url)


if __name__ == "__main__":
    main()
