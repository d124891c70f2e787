"""What a summary needs of a run's samples, from the index: scores by question, lengths and votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from resit.errors import UsageError
from resit.records import Verdict
from resit.reports.charts.lengths import Measured
from resit.reports.charts.votes import outcome
from resit.reports.claims import QuestionSamples, TaskScores
from resit.reports.page.gathering import Gathered
from resit.reports.page.prompts import SharedBeginning
from resit.reports.page.rows import TaskRows
from resit.reports.viewer.index import Array, RuleColumns, Snapshot
from resit.reports.viewer.sides import Sides

MOST_LENGTHS = 20_000
"""Samples of a run from which the chart of lengths is drawn; of more, evenly chosen ones."""


def task_scores(
    sides: Sides, name: str, about: Mapping[str, Any], model: str | None, task: str, rule: str
) -> TaskScores:
    """One task under one rule, with one mean a question in place of its verdicts.

    `about` is the task's entry of the results. UsageError when the rule judged none of its samples.
    """
    taken, own = sides.snapshot, sides.rule(rule)
    numbers = np.nonzero(_of_task(taken, task) & (own.judged > 0))[0]
    if not len(numbers):
        raise UsageError(f"{name}: task {task!r} has no verdicts of the rule {rule!r}")
    first = _first_answers(sides, rule)
    questions = {}
    for number, mean in zip(numbers.tolist(), own.mean[numbers].tolist(), strict=True):
        verdict = Verdict(rule, taken.answers[first[number]], mean)
        doc_hash = taken.doc_hashes[number]
        questions[doc_hash] = QuestionSamples(taken.doc_ids[number], doc_hash, (verdict,))
    samples = about.get("samples", {})
    return TaskScores(
        name=name,
        task=task,
        rule=rule,
        questions=questions,
        samples=int(own.judged[numbers].sum()),
        errored=int(sides.errored[_of_task(taken, task)].sum()),
        truncated=int(sides.truncated[numbers].sum()),
        unextracted=int(own.unread[numbers].sum()),
        planned=samples.get("planned"),
        model=model,
        protocol=about.get("protocol"),
    )


def _of_task(taken: Snapshot, task: str) -> Array:
    return np.array([name == task for name in taken.tasks], bool)


def _first_answers(sides: Sides, rule: str) -> Array:
    """By question, the number of the answer of its first judged sample."""
    taken = sides.snapshot
    columns = taken.verdicts[rule]
    rows = sides.order[_judged(taken, columns)[sides.order]]
    first = np.zeros(len(taken.tasks), np.int64)
    first[taken.question[rows[::-1]]] = columns.answer[rows[::-1]]
    return first


def _judged(taken: Snapshot, columns: RuleColumns) -> Array:
    return np.asarray(taken.scored & ~taken.errored & ~np.isnan(columns.score))


def gathered(task: str, sides: Sequence[Sides], rules: Sequence[str], quoted: str) -> Gathered:
    """What the charts of a task are drawn from; its rows are left to `TaskListing`."""
    counts = [_counted(side, task, quoted) for side in sides]
    return Gathered(
        rows=TaskRows(task, len(sides), rules),
        quoted=quoted,
        lengths=[lengths for lengths, _ in counts],
        votes=[votes for _, votes in counts],
        shared=[SharedBeginning() for _ in sides],
    )


def _counted(sides: Sides, task: str, rule: str) -> tuple[list[Measured], Counter[tuple[int, int, str]]]:
    """`Measured` of the responses; questions by (right samples, samples, what the vote elects)."""
    taken = sides.snapshot
    columns = taken.verdicts.get(rule)
    if columns is None:
        return [], Counter()
    judged = _judged(taken, columns) & _of_task(taken, task)[taken.question]
    rows = np.nonzero(judged & (taken.place >= 0))[0]
    some = rows[:: max(1, len(rows) // MOST_LENGTHS)]
    parts = (taken.characters[some], columns.score[some], taken.question[some])
    lengths = list(zip(*(part.tolist() for part in parts), strict=True))
    return lengths, _votes(taken, columns, np.nonzero(judged)[0])


def _votes(taken: Snapshot, columns: RuleColumns, rows: Array) -> Counter[tuple[int, int, str]]:
    """As `question_votes`: answers of equal value are one class, and right if any of them is."""
    found: Counter[tuple[int, int, str]] = Counter()
    scores = columns.score[rows]
    if not len(rows) or not np.isin(scores, (0.0, 1.0)).all():
        return found
    question = taken.question[rows].astype(np.int64)
    classes = taken.answer_classes[columns.answer[rows]]
    pairs, pair = np.unique(question << 32 | classes, return_inverse=True)
    count = np.bincount(pair)
    right = np.bincount(pair, scores) > 0
    owner, answered = pairs >> 32, (pairs & 0xFFFFFFFF) != 0
    order = np.argsort(owner, kind="stable")
    starts = np.concatenate(([0], np.nonzero(np.diff(owner[order]))[0] + 1, [len(order)]))
    for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        own = order[begin:end]
        size = int(count[own].sum())
        if size > 1:
            hits = int(count[own][right[own]].sum())
            wrong = count[own][~right[own] & answered[own]].tolist()
            found[hits, size, outcome(hits, wrong)] += 1
    return found
