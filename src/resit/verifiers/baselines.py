"""What anyone could say of a solution without a verifier: how long it is, and how likely it reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from resit.jsonl import write_atomic
from resit.verifiers.backbone import load_backbone
from resit.verifiers.quality import auc
from resit.verifiers.settings import Settings
from resit.verifiers.solutions import Solution

FILE = "logprobs.json"
EVERY = 64


def brevity(solutions: Sequence[Solution], training: Sequence[Solution]) -> list[float]:
    """Characters of each solution, negative where short ones are right more often in the training part.

    Negative, too, where that part has no right or no wrong solution to tell.
    """
    lengths = np.array([float(len(one.text)) for one in training])
    right = np.array([one.correct > 0.5 for one in training], dtype=bool)
    told = 0 < right.sum() < len(right)
    sign = 1 if told and auc(lengths[right], lengths[~right]) > 0.5 else -1
    return [sign * float(len(one.text)) for one in solutions]


def log_probability(
    solutions: Sequence[Solution], settings: Settings, folder: Path, say: Callable[[str], None]
) -> list[float]:
    """Mean log-probability of each solution's tokens under the language model that the verifier began with.

    Kept in the folder as it comes. Raises AssetError as `load_backbone`.
    """
    import torch

    path = folder / FILE
    found: list[float] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    if len(found) >= len(solutions):
        return found[: len(solutions)]
    backbone = load_backbone(settings.model_copy(update={"mode": "full"}))
    for number in range(len(found), len(solutions)):
        one = backbone.encode(solutions[number], settings.max_length)
        ids = torch.tensor([[*one.question, *one.solution]])
        with torch.inference_mode():
            _, states, _ = backbone.states([one])
            start = len(one.question) - 1
            logits = backbone.vocabulary_logits(states[0, start:-1])
            chosen = torch.log_softmax(logits, -1).gather(1, ids[0, start + 1 :, None])
        found.append(float(chosen.mean()))
        if (number + 1) % EVERY == 0 or number + 1 == len(solutions):
            write_atomic(path, json.dumps(found).encode())
            say(f"log-probabilities of {number + 1} of {len(solutions)} solutions")
    return found
