"""Judges that are models of transformers: a trained verifier, or a published reward model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from resit.errors import AssetError, UsageError
from resit.verifiers.solutions import Solution

BATCH = 16


class Judge(Protocol):
    """Says how likely solutions are right."""

    name: str
    taught: frozenset[str]
    """Questions that it was trained with: it knows their answers."""

    def scores(self, solutions: Sequence[Solution]) -> Iterator[float]:
        """One number from 0 to 1 a solution, in order; higher is likelier."""
        ...


class Verifier:
    """A verifier that `resit verifier train` made."""

    def __init__(self, folder: Path) -> None:
        try:
            from resit.verifiers.saving import HEAD, load_verifier, taught_with
        except ImportError as error:
            raise UsageError(
                f"a verifier needs torch and transformers ({error})", "pip install 'resit[hf]'"
            ) from None
        self._settings, self._backbone, self._head = load_verifier(folder)
        self.taught = taught_with(folder)
        weights = hashlib.sha256((folder / HEAD).read_bytes()).hexdigest()[:8]
        self.name = f"{folder.resolve().name}-{weights}"

    def scores(self, solutions: Sequence[Solution]) -> Iterator[float]:
        """The probability of each; solutions of one question should be neighbours, which is quicker."""
        import torch

        encoded = [self._backbone.encode(solution, self._settings.max_length) for solution in solutions]
        with torch.inference_mode():
            for states in self._backbone.features(encoded):
                yield float(torch.sigmoid(self._head(states).mean()))


class RewardModel:
    """A sequence-classification model with one output: its logistic reward.

    Its scores are kept under its name, so that must be another one where its weights are.
    """

    def __init__(self, name: str, folder: Path) -> None:
        try:
            import torch
            from transformers import AutoModelForSequenceClassification, AutoTokenizer
        except ImportError as error:
            raise UsageError(
                f"a reward model needs torch and transformers ({error})", "pip install 'resit[hf]'"
            ) from None
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(folder)
            model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32)
            self._model = model.eval()
        except (OSError, ValueError) as error:
            raise AssetError(f"no reward model can be loaded from {folder}: {error}") from error
        labels = self._model.config.num_labels
        if labels not in (1, 2):
            raise UsageError(f"{name} has {labels} outputs; a reward model has one, or two: wrong and right")
        self.name = name
        self.taught: frozenset[str] = frozenset()

    def scores(self, solutions: Sequence[Solution]) -> Iterator[float]:
        """The logistic of the reward, or the second class's probability."""
        import torch

        for start in range(0, len(solutions), BATCH):
            rows = [self._ids(solution) for solution in solutions[start : start + BATCH]]
            batch = self._tokenizer.pad({"input_ids": rows}, return_tensors="pt")
            with torch.inference_mode():
                logits: Any = self._model(**batch).logits
            rewards = logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
            yield from torch.sigmoid(rewards).tolist()

    def _ids(self, solution: Solution) -> list[int]:
        tokenizer = self._tokenizer
        if tokenizer.chat_template:
            turns = [
                {"role": "user", "content": solution.question},
                {"role": "assistant", "content": solution.text},
            ]
            return list(tokenizer.apply_chat_template(turns, tokenize=True, return_dict=False))
        return list(tokenizer.encode(f"{solution.question}\n{solution.text}"))
