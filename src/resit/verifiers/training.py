"""Training a verifier: from graded solutions to a folder with its weights and how good they are.

Everything that is random follows from the settings' seed, and a checkpoint holds all that changes, so that a
training that was interrupted ends with the weights of one that was not.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from resit.errors import IdentityMismatch, UsageError
from resit.jsonl import write_atomic
from resit.verifiers.backbone import Backbone, load_backbone
from resit.verifiers.features import FeatureFile
from resit.verifiers.head import Head, pair_loss, solution_logits, solution_loss, token_loss
from resit.verifiers.saving import CHECKPOINT, read_checkpoint, save_verifier, write_checkpoint
from resit.verifiers.settings import Settings
from resit.verifiers.solutions import Solution, divided

STANDARDISED = 1000
"""Solutions whose states say how large the others' are."""

Say = Callable[[str], None]
"""Told how far the training is."""


class Material(Protocol):
    """Where the head's input comes from: stored features, or the language model as it is trained."""

    def logits(self, head: Head, batch: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        """(logits, mask, the language-model loss) of the solutions with these numbers."""
        ...

    def parameters(self) -> list[nn.Parameter]:
        """What is trained beside the head."""
        ...


@dataclass(slots=True)
class Progress:
    """All of a training that changes, besides weights and optimiser."""

    epoch: int = 0
    step: int = 0
    """Of the epoch."""
    best: float = math.inf
    """Lowest validation loss so far."""
    since_best: int = 0
    losses: list[float] = field(default_factory=list)
    """Validation loss after each epoch."""


@dataclass(frozen=True, slots=True)
class Trained:
    """The outcome: logits and labels of the test part, and how the training went."""

    logits: list[float]
    labels: list[float]
    solutions: list[Solution]
    losses: list[float]
    stopped_early: bool


def train(
    solutions: Sequence[Solution], settings: Settings, folder: Path, say: Say, stop_after: int | None = None
) -> Trained:
    """Train a verifier and write it into a folder; a folder with a checkpoint is gone on with.

    `stop_after` ends after so many steps as an interrupt would (for tests). Raises UsageError for data that
    teaches nothing, IdentityMismatch when the folder was begun with other settings or data, AssetError as
    `load_backbone`.
    """
    parts = divided(solutions, settings.seed)
    _check(parts["train"], parts["validation"])
    folder.mkdir(parents=True, exist_ok=True)
    _claim(folder, settings, solutions)
    torch.manual_seed(settings.seed)
    backbone = load_backbone(settings)
    everything = [*parts["train"], *parts["validation"], *parts["test"]]
    material = _material(backbone, everything, settings, folder, say)
    head = Head(backbone.width)
    ends = len(parts["train"]), len(parts["train"]) + len(parts["validation"])
    if isinstance(material, Stored):
        head.standardise([material.states(number) for number in range(min(ends[0], STANDARDISED))])
    labels = torch.tensor([solution.correct for solution in everything])
    trainer = Trainer(head, material, labels, _numbered(everything), settings, folder, say)
    stopped = trainer.run(range(ends[0]), range(ends[0], ends[1]), stop_after)
    if stopped is None:
        raise KeyboardInterrupt
    taught = dict.fromkeys(one.question_key for part in ("train", "validation") for one in parts[part])
    save_verifier(folder, settings, backbone, head, [*taught])
    logits = trainer.evaluate(range(ends[1], len(everything)))
    return Trained(
        logits.tolist(), labels[ends[1] :].tolist(), parts["test"], trainer.progress.losses, stopped
    )


def _numbered(solutions: Sequence[Solution]) -> Tensor:
    """A number for each solution's question, (solutions,)."""
    numbers: dict[str, int] = {}
    return torch.tensor([numbers.setdefault(one.question_key, len(numbers)) for one in solutions])


def _check(train: Sequence[Solution], validation: Sequence[Solution]) -> None:
    for name, part in (("training", train), ("validation", validation)):
        if len({solution.correct for solution in part}) < 2:
            raise UsageError(
                f"the {name} part has {len(part)} solutions, none right or none wrong: nothing can be learnt",
                "give runs with repeats at temperature, or with more questions",
            )


def _claim(folder: Path, settings: Settings, solutions: Sequence[Solution]) -> None:
    """Write down what the folder is for, or check that it is for the same."""
    import hashlib

    digest = hashlib.sha256()
    for one in solutions:
        digest.update(json.dumps([one.question_key, one.question, one.text, one.correct]).encode())
    claim = {"settings": settings.model_dump(), "solutions": len(solutions), "sha256": digest.hexdigest()}
    path = folder / "training.json"
    if path.exists():
        recorded = json.loads(path.read_text(encoding="utf-8"))
        differing = [key for key in claim if recorded.get(key) != claim[key]]
        if differing:
            raise IdentityMismatch(
                f"{folder} was begun with other {' and '.join(differing)}",
                "name another folder for this verifier",
            )
    write_atomic(path, json.dumps(claim, indent=2).encode() + b"\n")


def _material(
    backbone: Backbone, solutions: Sequence[Solution], settings: Settings, folder: Path, say: Say
) -> Material:
    encoded = [backbone.encode(solution, settings.max_length) for solution in solutions]
    if settings.mode != "frozen":
        return Live(backbone, encoded, settings)
    file = FeatureFile(folder, [len(one.solution) for one in encoded], backbone.width)
    file.fill(
        lambda start: backbone.features(encoded[start:]), lambda n: say(f"states of {n} of {len(encoded)}")
    )
    return Stored(file)


class Stored:
    """Hidden states that were computed once."""

    def __init__(self, file: FeatureFile) -> None:
        self._file = file

    def states(self, number: int) -> Tensor:
        """The states of a solution, (tokens, width)."""
        return self._file.states(number)

    def logits(self, head: Head, batch: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        states = [self._file.states(number) for number in batch]
        logits = nn.utils.rnn.pad_sequence([head(each) for each in states], batch_first=True)
        lengths = torch.tensor([len(each) for each in states])[:, None]
        return logits, torch.arange(logits.shape[1])[None] < lengths, torch.zeros(())

    def parameters(self) -> list[nn.Parameter]:
        return []


class Live:
    """The language model, trained with the head."""

    def __init__(self, backbone: Backbone, encoded: Sequence[Any], settings: Settings) -> None:
        self._backbone, self._encoded = backbone, encoded
        self._language = settings.language_loss > 0

    def logits(self, head: Head, batch: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        ids, states, answered = self._backbone.states([self._encoded[number] for number in batch])
        language = self._loss(ids, states, answered) if self._language else torch.zeros(())
        return head(states, answered), answered, language

    def _loss(self, ids: Tensor, states: Tensor, answered: Tensor) -> Tensor:
        """Cross-entropy of the solutions' tokens."""
        told = answered[:, 1:]
        logits = self._backbone.vocabulary_logits(states[:, :-1][told])
        return nn.functional.cross_entropy(logits, ids[:, 1:][told])

    def parameters(self) -> list[nn.Parameter]:
        return [parameter for parameter in self._backbone.model.parameters() if parameter.requires_grad]


class Trainer:
    """The loop: steps, epochs, checkpoints, early stopping."""

    def __init__(
        self,
        head: Head,
        material: Material,
        labels: Tensor,
        questions: Tensor,
        settings: Settings,
        folder: Path,
        say: Say,
    ) -> None:
        self.progress = Progress()
        self._head, self._material, self._labels, self._questions = head, material, labels, questions
        self._settings, self._folder, self._say = settings, folder, say
        self._trained = [*head.parameters(), *material.parameters()]
        decay = settings.weight_decay if settings.mode != "frozen" else 0.0  # its penalty is in the loss
        self._optimiser = torch.optim.AdamW(self._trained, settings.learning_rate, weight_decay=decay)
        self._best: list[Tensor] = []

    def run(self, train: Sequence[int], validation: Sequence[int], stop_after: int | None) -> bool | None:
        """Train to the end; True when patience ended it. None: `stop_after` steps were made first."""
        self._resume()
        steps = 0
        while (
            self.progress.epoch < self._settings.epochs and self.progress.since_best < self._settings.patience
        ):
            for batch in self._batches(train):
                self._slow_down(len(train))
                self._step(batch)
                self.progress.step += 1
                steps += 1
                if self.progress.step % self._settings.checkpoint_steps == 0:
                    self._save()
                if steps == stop_after:
                    return None
            self._end_epoch(validation)
        self._restore(self._best)
        return self.progress.since_best >= self._settings.patience

    def _batches(self, train: Sequence[int]) -> Iterator[list[int]]:
        """The epoch's batches in its own seeded order, less those that were done before an interrupt.

        A question's solutions are in one batch, if they fit into one.
        """
        chance = torch.Generator().manual_seed(self._settings.seed * 1_000_003 + self.progress.epoch)
        size, together = self._settings.batch_size, defaultdict[int, list[int]](list)
        for at in train:
            together[int(self._questions[at])].append(at)
        pieces = [group[at : at + size] for group in together.values() for at in range(0, len(group), size)]
        batches: list[list[int]] = [[]]
        for at in torch.randperm(len(pieces), generator=chance).tolist():
            if len(batches[-1]) + len(pieces[at]) > size:
                batches.append([])
            batches[-1] += pieces[at]
        yield from batches[self.progress.step :]

    def _slow_down(self, solutions: int) -> None:
        """The learning rate falls in a straight line to nothing at the end of the last epoch."""
        settings, progress = self._settings, self.progress
        share = min(1.0, progress.step * settings.batch_size / solutions)
        left = max(0.0, 1 - (progress.epoch + share) / settings.epochs)
        for group in self._optimiser.param_groups:
            group["lr"] = settings.learning_rate * left

    def _step(self, batch: Sequence[int]) -> None:
        logits, mask, language = self._material.logits(self._head, batch)
        labels, which = self._labels[list(batch)], self._questions[list(batch)]
        settings, whole = self._settings, solution_logits(logits, mask)
        if settings.mode == "frozen":  # no training makes a token's state know more: the mean is what counts
            loss = solution_loss(whole, labels) + settings.penalty * self._head.squared()
        else:
            loss = token_loss(logits, mask, labels) + settings.language_loss * language
        if settings.pair_loss:
            loss = loss + settings.pair_loss * pair_loss(whole, labels, which)
        self._optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self._trained, 1.0)
        self._optimiser.step()

    @torch.no_grad()
    def evaluate(self, numbers: Sequence[int]) -> Tensor:
        """One logit a solution, (numbers,)."""
        size, found = self._settings.batch_size, []
        for start in range(0, len(numbers), size):
            logits, mask, _ = self._material.logits(self._head, numbers[start : start + size])
            found.append(solution_logits(logits, mask))
        return torch.cat(found) if found else torch.zeros(0)

    def _end_epoch(self, validation: Sequence[int]) -> None:
        loss = float(
            nn.functional.binary_cross_entropy_with_logits(
                self.evaluate(validation), self._labels[list(validation)]
            )
        )
        progress = self.progress
        progress.losses.append(loss)
        progress.epoch, progress.step = progress.epoch + 1, 0
        progress.since_best += 1
        if loss < progress.best:
            progress.best, progress.since_best = loss, 0
            self._best = [parameter.detach().clone() for parameter in self._trained]
        self._save()
        self._say(f"epoch {progress.epoch} of {self._settings.epochs}: validation loss {loss:.4f}")

    def _restore(self, weights: Sequence[Tensor]) -> None:
        with torch.no_grad():
            for parameter, best in zip(self._trained, weights, strict=True):
                parameter.copy_(best)

    def _save(self) -> None:
        progress = self.progress
        state = {
            "progress": [progress.epoch, progress.step, progress.best, progress.since_best, progress.losses],
            "weights": [parameter.detach() for parameter in self._trained],
            "optimiser": self._optimiser.state_dict(),
            "best": self._best,
        }
        write_checkpoint(self._folder / CHECKPOINT, state)

    def _resume(self) -> None:
        state = read_checkpoint(self._folder / CHECKPOINT)
        if state is None:
            return
        self.progress = Progress(*state["progress"])
        self._restore(state["weights"])
        self._optimiser.load_state_dict(state["optimiser"])
        self._best = state["best"]
        self._say(f"going on at epoch {self.progress.epoch + 1}, step {self.progress.step}")
