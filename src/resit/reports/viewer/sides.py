"""What one run makes of each of its questions, counted over the samples with numpy."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from resit.reports.viewer.index import Array, RuleColumns, Snapshot


@dataclass(frozen=True, slots=True)
class RuleSides:
    """One rule's part; an entry a question."""

    right: Array
    """Sum of the samples' scores."""
    judged: Array
    """Samples that the rule judges."""
    unread: Array
    answer: Array
    """Number of the answer that most samples give, of equals the first; 0: none was found."""
    votes: Array
    """Samples that give it."""

    @property
    def mean(self) -> Array:
        """Mean score; NaN where no sample is judged."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.right / self.judged)


@dataclass(slots=True)
class Sides:
    """A run's questions, counted. Arrays have an entry a question of the snapshot; by rule on demand."""

    snapshot: Snapshot
    samples: Array = field(init=False)
    """Samples on file that are not errored."""
    measured: Array = field(init=False)
    """Those of them whose verdicts are known."""
    errored: Array = field(init=False)
    truncated: Array = field(init=False)
    disagree: Array = field(init=False)
    """Samples that some rules count as right and others as wrong."""
    length: Array = field(init=False)
    """Mean characters of a response."""
    order: Array = field(init=False)
    """Rows by question and repeat."""
    _rules: dict[str, RuleSides] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Count what no rule is needed for."""
        taken = self.snapshot
        self.order = np.lexsort((taken.repeat, taken.question))
        self.samples = self._count(~taken.errored)
        self.measured = self._count(~taken.errored & taken.scored)
        self.errored = self._count(taken.errored)
        self.truncated = self._count(taken.truncated & ~taken.errored)
        self.disagree = self._count(_disagreeing(taken))
        total = self._sum(taken.characters, ~taken.errored & (taken.place >= 0))
        self.length = total / np.maximum(1, self.samples)

    def rule(self, name: str) -> RuleSides:
        """A rule's part; all zeros for a rule that judged nothing."""
        if name not in self._rules:
            self._rules[name] = self._of_rule(name)
        return self._rules[name]

    def _of_rule(self, name: str) -> RuleSides:
        taken = self.snapshot
        nothing = np.full(taken.samples, np.nan, np.float32), np.zeros(taken.samples, np.int32)
        columns = taken.verdicts.get(name) or RuleColumns(*nothing)
        judged = taken.scored & ~taken.errored & ~np.isnan(columns.score)
        answer, votes = self._elected(columns.answer, judged)
        return RuleSides(
            right=self._sum(columns.score, judged),
            judged=self._count(judged),
            unread=self._count(judged & (columns.answer == 0)),
            answer=answer,
            votes=votes,
        )

    def _count(self, chosen: Array) -> Array:
        taken = self.snapshot
        return np.bincount(taken.question[chosen], minlength=len(taken.tasks))

    def _sum(self, values: Array, chosen: Array) -> Array:
        taken = self.snapshot
        weights = values[chosen].astype(np.float64)
        return np.bincount(taken.question[chosen], weights, minlength=len(taken.tasks))

    def _elected(self, answers: Array, judged: Array) -> tuple[Array, Array]:
        """By question, the number of the answer with most votes, and its votes."""
        taken = self.snapshot
        rows = self.order[judged[self.order]]
        question, given = taken.question[rows].astype(np.int64), answers[rows]
        pair = question << 32 | given
        _, first, votes = np.unique(pair, return_index=True, return_counts=True)
        ranking = np.lexsort((first, -votes, question[first]))
        ranked = question[first][ranking]
        best = ranking[np.concatenate(([True], ranked[1:] != ranked[:-1]))[: len(ranking)]]
        answer = np.zeros(len(taken.tasks), np.int32)
        most = np.zeros(len(taken.tasks), np.int64)
        answer[question[first][best]] = given[first][best]
        most[question[first][best]] = votes[best]
        return answer, most


def _disagreeing(taken: Snapshot) -> Array:
    """Samples that some rules count as right and others as wrong."""
    right = np.zeros(taken.samples, bool)
    wrong = np.zeros(taken.samples, bool)
    for columns in taken.verdicts.values():
        right |= columns.score > 0
        wrong |= columns.score == 0
    return right & wrong & taken.scored & ~taken.errored
