"""Grades a run lot by lot, in several processes where it is large: grading one question needs no other."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING

from resit.grading import score_task
from resit.records import Question, QuestionScore, ScoringRules
from resit.reports.graded import Graded
from resit.reports.results import TaskTally
from resit.reports.scores import score_lines
from resit.reports.warnings import WarningTally
from resit.runs.journal import JournalReader
from resit.runs.rules import rules_to

if TYPE_CHECKING:  # a process that only grades needs none of what it imports
    from resit.runs.folder import RunFolder

SAMPLES = 2048
"""Samples of a lot: enough to make handing it over cheap, few enough to keep its texts out of the way."""
WORTH_PROCESSES = 16 * 2**20
"""Bytes of journal from which on a second process saves more than its start costs."""
MOST_PROCESSES = 61
"""More than that a process pool cannot wait for on Windows."""


@dataclass(frozen=True, slots=True)
class Lot:
    """Questions of one task, each with the places of its samples in the journal."""

    journal: Path
    task: str
    rules: ScoringRules
    questions: list[tuple[Question, Sequence[int]]]


@dataclass(slots=True)
class Share:
    """What grading a lot gives: its part of every derived file."""

    task: str
    tally: TaskTally = field(default_factory=TaskTally)
    suspicions: WarningTally = field(default_factory=WarningTally)
    lines: bytes = b""


def shares(
    folder: RunFolder, rules: Mapping[str, ScoringRules], processes: int | None = None
) -> Iterator[Share]:
    """The lots of a run, graded, in the order of its questions; the same whatever the number of processes."""
    if processes is None:
        processes = _processes(folder, rules)
    if processes == 1:
        yield from map(grade_lot, _lots(folder, rules))
        return
    # Fresh processes, not copies of this one: the engine that has just generated may still run threads.
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=fresh, initializer=_leave_interrupts) as pool:
        for _ in range(processes):
            pool.submit(os.getpid)  # they start while this one reads the journal
        yield from pool.map(grade_lot, _lots(folder, rules))


def _processes(folder: RunFolder, rules: Mapping[str, ScoringRules]) -> int:
    """All processors for a large run, unless it is graded by a task's own function, which cannot be sent."""
    path = folder.generations
    large = path.exists() and path.stat().st_size >= WORTH_PROCESSES
    own_code = any(rules_to(own)["needs_code"] for own in rules.values())
    return min(MOST_PROCESSES, os.cpu_count() or 1) if large and not own_code else 1


def _leave_interrupts() -> None:
    """Ctrl-C goes to every process of a terminal; the first one alone decides what it means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _lots(folder: RunFolder, rules: Mapping[str, ScoringRules]) -> Iterator[Lot]:
    index = folder.index()
    for task, own in rules.items():
        lot, samples = Lot(folder.generations, task, own, []), 0
        for question in folder.questions(task):
            places = index.offsets(task, question.document.doc_hash)
            if not places:
                continue
            lot.questions.append((question, places))
            samples += len(places)
            if samples >= SAMPLES:
                yield lot
                lot, samples = Lot(folder.generations, task, own, []), 0
        if lot.questions:
            yield lot


def graded(lot: Lot) -> Iterator[Graded]:
    """The lot's questions, one at a time, with what the rules make of their samples."""
    with JournalReader(lot.journal) as reader:
        pairs = ((question, reader.samples(places)) for question, places in lot.questions)
        asked, scored = tee(pairs)
        scores: Iterator[QuestionScore] = score_task(scored, lot.rules)
        for (question, generations), score in zip(asked, scores, strict=True):
            yield Graded(question, generations, score)


def grade_lot(lot: Lot) -> Share:
    """The lot's share of the results."""
    share, lines = Share(lot.task), []
    for item in graded(lot):
        share.tally.add(item.score)
        share.tally.calculator.add(item.generations)
        share.suspicions.add(item)
        lines.append(score_lines(item.score.samples))
    share.lines = b"".join(lines)
    return share


def graded_task(folder: RunFolder, task: str, rules: ScoringRules) -> Iterator[Graded]:
    """A task's questions that have samples, graded one at a time in this process, texts and all."""
    for lot in _lots(folder, {task: rules}):
        yield from graded(lot)
