"""One pass over a task's samples: its rows, and the counts that its charts are drawn from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from resit.reports.charts.lengths import Measured
from resit.reports.charts.votes import outcome
from resit.reports.page.prompts import SharedBeginning
from resit.reports.page.rows import TaskRows, side_of
from resit.reports.page.source import Answered, RunSource
from resit.reports.repeats import question_votes

FEW = 10
"""Up to so many samples a question the vote chart has a bar for each count, above it one for each tenth."""


@dataclass(slots=True)
class Gathered:
    """What one pass finds in a task. Lists have one entry a run."""

    rows: TaskRows
    quoted: str
    lengths: list[list[Measured]]
    """Characters of each measured response, its score under the quoted rule, and its question."""
    votes: list[Counter[tuple[int, int, str]]]
    """Questions by (right samples, samples, what the vote elects)."""
    shared: list[SharedBeginning] = field(default_factory=list)

    @property
    def repeats(self) -> int:
        """The most samples that any question has."""
        sides = (side for row in self.rows.rows.values() for side in row["sides"] if side)
        return max((side["samples"] + side["errored"] for side in sides), default=0)

    def add(self, run: int, item: Answered) -> None:
        """Take in a question of a run."""
        measured = [
            (generation, score)
            for generation, score in zip(item.generations, item.scores, strict=True)
            if score.error is None
        ]
        lengths = [len(generation.text) for generation, _ in measured]
        self.rows.add(run, item.question, side_of(item.scores, self.rows.rules, lengths))
        verdicts = [score.verdicts[self.quoted] for _, score in measured if self.quoted in score.verdicts]
        if len(verdicts) == len(measured):
            question = item.question.document.doc_hash
            self.lengths[run] += (
                (length, verdict.correct, question) for length, verdict in zip(lengths, verdicts, strict=True)
            )
        if len(verdicts) > 1 and all(verdict.correct in (0, 1) for verdict in verdicts):
            votes = question_votes(verdicts)
            self.votes[run][votes.right, votes.samples, outcome(votes.right, votes.wrong)] += 1


def gather(task: str, sources: Sequence[RunSource | None], rules: Sequence[str], quoted: str) -> Gathered:
    """Read every source's samples of a task once; None where a run has not that task."""
    found = Gathered(
        TaskRows(task, len(sources), rules),
        quoted,
        [[] for _ in sources],
        [Counter() for _ in sources],
        [SharedBeginning() for _ in sources],
    )
    for run, source in enumerate(sources):
        if source is not None:
            for item in source.answered(task):
                found.shared[run].add(item.question.prompt)
                found.add(run, item)
    return found
