"""Are our decode engine's greedy texts transformers' own? Every difference, with the logits that led to it.

    python tests/reference/hf_greedy.py MODEL [--tasks gsm8k,gsm8k_cot] [--limit N] [--tokens N]
        [--generate N] [--answers FILE]

Our backend answers in batches with shared prefixes, in float32 on the CPU. Then, one prompt at a time:

- every answer: one plain forward pass of transformers' over prompt and answer; is each token of ours the
  likeliest in its place?
- the first `--generate` answers of a task (default: all): transformers' `generate`; is its text ours?

Where they part, the gap between the two likeliest logits of the place is shown: below 1e-3 it is a tie that
rounding may break either way. Exit status 1 for a difference that is none. `--answers` keeps what `generate`
said, so that a second run need not ask again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from resit.models import Setup, create
from resit.models.hf.model import HfModel
from resit.models.hf.rows import Finished, Row
from resit.models.stops import cut
from resit.prompts import questions
from resit.records import Question, Sampling
from resit.tasks import load

NEAR_TIE = 1e-3


class Plain:
    """The model as transformers runs it."""

    def __init__(self, folder: str, stops: Sequence[str]) -> None:
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.stops = list(stops)

    @torch.inference_mode()
    def tokens(self, prompt: str, limit: int) -> list[int]:
        """What `generate` adds to a prompt, greedily, until a stop string."""
        ids = self.tokenizer(prompt, return_tensors="pt").input_ids
        out = self.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=limit,
            do_sample=False,
            stop_strings=self.stops,
            tokenizer=self.tokenizer,
        )
        return [int(token) for token in out[0, ids.shape[1] :]]

    def text(self, tokens: Sequence[int]) -> str:
        """Tokens as the text before the first stop string."""
        return cut(self.tokenizer.decode(tokens, skip_special_tokens=True), self.stops)[0]

    @torch.inference_mode()
    def unlikely(self, prompt: Sequence[int], answer: Sequence[int]) -> list[tuple[int, float]]:
        """Places of tokens that are not the likeliest there, and the gap between the likeliest two."""
        ids = torch.tensor([[*prompt, *answer]])
        logits = self.model(ids, logits_to_keep=len(answer) + 1).logits[0, :-1]
        first, second = logits.topk(2).values.unbind(-1)
        wrong = (logits.argmax(-1) != torch.tensor(answer)).nonzero()[:, 0].tolist()
        return [(place, float(first[place] - second[place])) for place in wrong]

    def gap(self, prompt: Sequence[int], tokens: Sequence[int]) -> float:
        """How far the likeliest token lies before the second, after a prompt and some answer tokens."""
        with torch.inference_mode():
            logits = self.model(torch.tensor([[*prompt, *tokens]]), logits_to_keep=1).logits[0, -1]
        first, second = logits.topk(2).values.tolist()
        return float(first - second)


def ours(folder: str, asked: Sequence[Question], sampling: Sampling) -> tuple[list[Finished], float]:
    """Our answers in the order of the questions, and the seconds that they took."""
    with create("hf", {"pretrained": folder, "dtype": "float32", "device": "cpu"}, Setup()) as model:
        assert isinstance(model, HfModel)
        engine, encode = model._engine(), model._tokens.token_ids
        rows = (Row(n, encode(question.prompt), sampling) for n, question in enumerate(asked))
        began = time.monotonic()
        answers = sorted(engine.run(rows), key=lambda answer: int(str(answer.key)))
    if failed := [answer.error for answer in answers if answer.error]:
        sys.exit(failed[0])
    return answers, time.monotonic() - began


def parting(plain: Plain, text: str, tokens: Sequence[int]) -> int:
    """The number of transformers' tokens after which our text goes another way."""
    for count in range(len(tokens) + 1):
        if not text.startswith(plain.text(tokens[:count]).rstrip("\ufffd")):
            return count - 1
    return len(tokens)


def compare(name: str, options: argparse.Namespace, kept: dict[str, list[int]]) -> int:
    """How many differences of one task are no near ties; every difference is printed as it is found."""
    (task,) = load([name])
    sampling = task.sampling({"max_gen_toks": options.tokens})
    asked = list(questions(task, limit=options.limit))
    answers, seconds = ours(options.model, asked, sampling)
    tokens = sum(len(answer.token_ids) for answer in answers)
    print(f"{name}: {len(asked)} questions, {tokens} tokens, ours took {seconds:.1f} s", flush=True)
    plain = Plain(options.model, sampling.stop)
    real = agreeing = same = generated = 0
    for question, answer in zip(asked, answers, strict=True):
        prompt, who = plain.tokenizer(str(question.prompt)).input_ids, f"document {question.document.doc_id}"
        unlikely = plain.unlikely(prompt, answer.token_ids)
        agreeing += not unlikely
        for place, gap in unlikely:
            real += told(f"{who}: token {place} is not a forward pass's likeliest", gap)
        if generated < options.generate:
            generated += 1
            theirs = generate(plain, question, options, kept)
            if answer.text == plain.text(theirs):
                same += 1
                continue
            place = parting(plain, answer.text, theirs)
            real += told(
                f"{who}: parts from generate after {place} tokens", plain.gap(prompt, theirs[:place])
            )
    print(f"{name}: in {agreeing} of {len(asked)} answers every token is the likeliest of one forward pass")
    print(f"{name}: {same} of {generated} texts are those of generate", flush=True)
    return real


def told(what: str, gap: float) -> bool:
    """Print a difference; whether it is more than a near tie."""
    print(f"  {what}; gap {gap:.2e}: {'near tie' if gap < NEAR_TIE else 'NO TIE'}", flush=True)
    return gap >= NEAR_TIE


def generate(
    plain: Plain, question: Question, options: argparse.Namespace, kept: dict[str, list[int]]
) -> list[int]:
    """What transformers' `generate` answers, as far as it is not known already."""
    key = f"{question.task}/{options.tokens}/{question.document.doc_hash}"
    if key not in kept:
        kept[key] = plain.tokens(str(question.prompt), options.tokens)
        if options.answers:
            options.answers.write_text(json.dumps(kept), encoding="utf-8")
    return kept[key]


def main() -> None:
    """Compare the tasks that were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="a checkpoint of transformers'")
    parser.add_argument("--tasks", default="gsm8k,gsm8k_cot")
    parser.add_argument("--limit", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--generate", type=int, default=sys.maxsize, help="answers compared with generate's")
    parser.add_argument("--answers", type=Path)
    options = parser.parse_args()
    held = options.answers and options.answers.is_file()
    kept = json.loads(options.answers.read_bytes()) if held else {}
    real = sum(compare(name, options, kept) for name in options.tasks.split(","))
    sys.exit(1 if real else 0)


if __name__ == "__main__":
    main()
