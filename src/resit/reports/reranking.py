"""What a verifier's scores make of a run's samples: the best of k, weighted votes, votes among the best."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from resit import jsonl
from resit.errors import UsageError
from resit.grading.values import read_value
from resit.records import Verdict
from resit.reports.claims import TaskScores
from resit.reports.repeats import question_votes
from resit.stats import (
    Difference,
    Estimate,
    best_of_k,
    estimate,
    maj_at_k,
    paired_difference,
    top_vote_at_k,
    weighted_vote_at_k,
)

FOLDER = "verifiers"
TOP = 3
"""How many of the best-scored samples vote, unless another number is asked for."""
DRAWS = 200
"""Subsets of a question's samples where there are more; over many questions their error averages out."""
GOLD = "right"
"""How right answers are called in a vote, however they were written."""

Key = tuple[str, str, int]
"""Task, document hash, repeat."""


@dataclass(frozen=True, slots=True)
class Point:
    """One way to choose among k samples, over questions."""

    method: str
    k: int
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Reranking:
    """Curves over k, and what each way adds to one sample at the largest k."""

    task: str
    verifier: str
    top: int
    points: list[Point]
    gains: dict[str, Difference]
    """By method, the accuracy at the largest k less the mean accuracy, paired by question."""
    unscored: int
    """Measured samples without a score; their questions use the others."""

    def as_json(self) -> dict[str, Any]:
        """One object."""
        return {**asdict(self), "points": [asdict(point) for point in self.points]}


def scores_file(run: Path, verifier: str) -> Path:
    """Where a verifier's scores of a run's samples are kept."""
    readable = "".join(c if c.isalnum() or c in "-_." else "-" for c in verifier).strip("-.") or "verifier"
    return run / FOLDER / f"{readable}.jsonl"


def read_verifier_scores(path: Path) -> dict[Key, float]:
    """By sample, its score. Raises UsageError for a file that is not there or damaged."""
    if not path.exists():
        raise UsageError(f"{path} does not exist", "resit verifier apply RUN --verifier V writes it")
    found = {}
    for line in jsonl.read(path):
        try:
            value = line.value or {}
            key = str(value["task"]), str(value["doc_hash"]), int(value["repeat"])
            found[key] = float(value["score"])
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{path}, line {line.number} is damaged: {error}", "remove the file") from error
    return found


def rerank(
    scores: TaskScores,
    repeats: Mapping[str, Sequence[int]],
    verified: Mapping[Key, float],
    verifier: str,
    top: int = TOP,
    confidence: float = 0.95,
) -> Reranking:
    """The curves of a task. `repeats` gives, by document hash, which repeat each of its samples is.

    UsageError where no question has a scored sample.
    """
    questions, unscored = [], 0
    for key, question in scores.questions.items():
        pairs = [
            (verdict, verified.get((scores.task, key, repeat)))
            for verdict, repeat in zip(question.verdicts, repeats[key], strict=True)
        ]
        scored = [(verdict, score) for verdict, score in pairs if score is not None]
        unscored += len(pairs) - len(scored)
        if scored:
            questions.append(scored)
    if not questions:
        raise UsageError(f"{verifier} has scored no sample of {scores.task}", "apply it to this run")
    most = min(map(len, questions))
    points = [
        Point(method, k, estimate([[_value(method, question, k, top)] for question in questions], confidence))
        for method in ("mean", "maj", "best", "weighted", "top")
        for k in (_ks(most) if method != "mean" else [1])
    ]
    mean = [_value("mean", question, 1, top) for question in questions]
    gains = {
        method: paired_difference(
            [_value(method, question, most, top) for question in questions], mean, confidence
        )
        for method in ("maj", "best", "weighted", "top")
        if len(questions) > 1
    }
    return Reranking(scores.task, verifier, top, points, gains, unscored)


def _ks(most: int) -> list[int]:
    """1, 2, 4, … and the most."""
    powers = [1 << shift for shift in range(most.bit_length()) if 1 << shift <= most]
    return powers if powers[-1] == most else [*powers, most]


def _value(method: str, scored: Sequence[tuple[Verdict, float]], k: int, top: int) -> float:
    """Probability that the way chooses a right answer among k of the question's samples."""
    verdicts, weights = [verdict for verdict, _ in scored], [score for _, score in scored]
    right = [float(verdict.correct == 1) for verdict in verdicts]
    if method == "mean":
        return sum(right) / len(right)
    if method == "best":
        return best_of_k(weights, right, k)
    if method == "maj":
        votes = question_votes(verdicts)
        return maj_at_k(votes.counts, k, 0, votes.abstentions)
    answers = [_class(verdict) for verdict in verdicts]
    if method == "weighted":
        return weighted_vote_at_k(answers, weights, k, GOLD, draws=DRAWS).value
    return top_vote_at_k(answers, weights, k, top, GOLD, draws=DRAWS).value


def _class(verdict: Verdict) -> Hashable | None:
    """What a sample votes for: right answers are one class, answers of equal value are one, None abstains."""
    if verdict.correct == 1:
        return GOLD
    return None if verdict.extracted is None else (read_value(verdict.extracted) or verdict.extracted.strip())
