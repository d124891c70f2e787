"""What a run must give for its page. `cli` makes it from a run's folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from resit.records import Generation, Question, SampleScore, ScoringRules


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with its samples and their verdicts, both by rising repeat."""

    question: Question
    generations: Sequence[Generation]
    scores: Sequence[SampleScore]


class RunSource(Protocol):
    """A scored run."""

    @property
    def path(self) -> Path:
        """Its folder, which holds `results.json` and `scores.jsonl`."""
        ...

    @property
    def record(self) -> Mapping[str, Any]:
        """What `run.json` says."""
        ...

    def rules(self, task: str) -> ScoringRules:
        """The rules by which a task was scored."""
        ...

    def questions(self, task: str) -> Iterator[Question]:
        """Every question that was asked so far."""
        ...

    def answered(self, task: str) -> Iterator[Answered]:
        """The questions that have scored samples, one at a time, in the order of `scores.jsonl`."""
        ...
