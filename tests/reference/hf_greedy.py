"""Are our decode engine's greedy texts transformers' own? Every difference, with the logits that led to it.

    python tests/reference/hf_greedy.py MODEL [--tasks gsm8k,gsm8k_cot] [--limit N] [--tokens N]
        [--answers FILE]

Asks both for the same prompts in float32 on the CPU: our backend in batches with shared prefixes,
transformers' `generate` one prompt at a time. Where the tokens part, the logits of that place are computed in
one plain forward pass over everything before it, and the gap between the two likeliest is shown: below 1e-3
it is a tie that rounding may break either way. Exit status 1 for a difference that is none. `--answers` keeps
transformers' answers, so that a second run need not ask again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from resit.models import Setup, create
from resit.models.stops import cut
from resit.prompts import questions
from resit.records import Question, Request
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
    def gap(self, prompt: str, tokens: Sequence[int]) -> float:
        """How far the likeliest token lies before the second, after a prompt and some answer tokens."""
        ids = [*self.tokenizer(prompt).input_ids, *tokens]
        first, second = self.model(torch.tensor([ids])).logits[0, -1].topk(2).values.tolist()
        return float(first - second)


def ours(folder: str, asked: Sequence[Question], sampling: Any) -> tuple[dict[int, str], float]:
    """Our texts by document, and the seconds that they took."""
    requests = (Request(question, 0, sampling, 0) for question in asked)
    with create("hf", {"pretrained": folder, "dtype": "float32", "device": "cpu"}, Setup()) as model:
        began = time.monotonic()
        texts = {}
        for answer in model.generate(requests):
            if answer.error:
                sys.exit(f"document {answer.doc_id}: {answer.error}")
            texts[answer.doc_id] = answer.text
    return texts, time.monotonic() - began


def parting(plain: Plain, text: str, tokens: Sequence[int]) -> int:
    """The number of transformers' tokens after which our text goes another way."""
    for count in range(len(tokens) + 1):
        if not text.startswith(plain.text(tokens[:count]).rstrip("\ufffd")):
            return count - 1
    return len(tokens)


def compare(name: str, options: argparse.Namespace, kept: dict[str, list[int]]) -> tuple[int, int]:
    """Differences of one task, and how many of them are no near ties; printed as they are found."""
    (task,) = load([name])
    sampling = task.sampling({"max_gen_toks": options.tokens})
    asked = list(questions(task, num_fewshot=None, chat=None, system_instruction=None, limit=options.limit))
    plain = Plain(options.model, sampling.stop)
    texts, seconds = ours(options.model, asked, sampling)
    print(f"{name}: {len(asked)} questions, ours {seconds:.1f} s", flush=True)
    different = real = 0
    for question in asked:
        prompt, key = str(question.prompt), f"{name}/{options.tokens}/{question.document.doc_hash}"
        if key not in kept:
            kept[key] = plain.tokens(prompt, options.tokens)
            if options.answers:
                options.answers.write_text(json.dumps(kept), encoding="utf-8")
        text = texts[question.document.doc_id]
        if text == plain.text(kept[key]):
            continue
        place = parting(plain, text, kept[key])
        gap = plain.gap(prompt, kept[key][:place])
        different += 1
        real += gap >= NEAR_TIE
        told = "near tie" if gap < NEAR_TIE else "NO TIE"
        print(f"  document {question.document.doc_id}: parts after {place} tokens, gap {gap:.2e}: {told}")
    print(f"{name}: {len(asked) - different} of {len(asked)} texts equal", flush=True)
    return different, real


def main() -> None:
    """Compare the tasks that were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="a checkpoint of transformers'")
    parser.add_argument("--tasks", default="gsm8k,gsm8k_cot")
    parser.add_argument("--limit", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--answers", type=Path)
    options = parser.parse_args()
    held = options.answers and options.answers.is_file()
    kept = json.loads(options.answers.read_bytes()) if held else {}
    found = [compare(name, options, kept) for name in options.tasks.split(",")]
    sys.exit(any(real for _, real in found))


if __name__ == "__main__":
    main()
