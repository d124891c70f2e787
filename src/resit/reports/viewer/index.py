"""A run's index: where every line stands and what the rules say, in a few bytes a sample.

It is built by one pass over the run's files and kept up to date by reading on where they have grown. A pass
can be done in parts, so that a large run is shown while it is still being read.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from resit.reports.viewer.files import OpenFile, RunFiles
from resit.reports.viewer.questions import Questions
from resit.reports.viewer.samples import ERRORED, TRUNCATED, Samples
from resit.reports.viewer.tail import RawLine, Tail
from resit.reports.viewer.verdicts import CUT, FAILED, SCORED, UNREAD, Answers, Verdicts

Array: TypeAlias = NDArray[Any]
Seen: TypeAlias = Literal["same", "anew", "absent"]

PROMPTS, JOURNAL, SCORES = "prompts.jsonl", "generations.jsonl", "scores.jsonl"
_TURN_SECONDS = 0.002
_PROBLEMS = 20
"""Problems that are kept; of the rest only the number."""


@dataclass(frozen=True, slots=True)
class RuleColumns:
    """One rule's verdicts, an entry a sample: score (NaN: none) and number of the answer."""

    score: Array
    answer: Array


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The index at one moment; nothing in it changes any more. Arrays have an entry a sample."""

    version: int
    epoch: int
    """Changes when the journal is another."""
    read: float
    """Share of the files that has been read."""
    problems: tuple[str, ...]
    more_problems: int
    tasks: tuple[str, ...]
    """By question."""
    doc_ids: tuple[int, ...]
    doc_hashes: tuple[str, ...]
    prompt_places: tuple[tuple[int, int], ...]
    rules: dict[str, tuple[str, ...]]
    """By task, in order."""
    question: Array
    repeat: Array
    place: Array
    size: Array
    score_place: Array
    score_size: Array
    characters: Array
    errored: Array
    truncated: Array
    scored: Array
    """Samples whose verdicts are known; errored ones have none to be known."""
    verdicts: dict[str, RuleColumns]
    answers: tuple[str | None, ...]
    answer_classes: Array
    prompts: OpenFile | None
    journal: OpenFile | None
    scores: OpenFile | None

    @property
    def samples(self) -> int:
        """How many samples are known."""
        return len(self.question)


class RunIndex:
    """The index of one run. Safe to use from several threads."""

    def __init__(self, files: RunFiles) -> None:
        self.files = files
        self._lock = threading.Lock()
        self._prompts = Tail(lambda: files.open(PROMPTS))
        self._journal = Tail(lambda: files.open(JOURNAL))
        self._scores = Tail(lambda: files.open(SCORES))
        self._version = self._epoch = 0
        self._taken: Snapshot | None = None
        self._begin()

    def _begin(self) -> None:
        """Forget everything: the journal is not the one that was read."""
        for tail in (self._prompts, self._journal, self._scores):
            tail.restart()
        self._questions, self._samples, self._answers = Questions(), Samples(), Answers()
        self._verdicts = Verdicts(self._answers)
        self._coming: Verdicts | None = None
        """Verdicts of a `scores.jsonl` that replaces the one that was read, until all of it is."""
        self._problems: list[str] = []
        self._passed_over = 0
        self._epoch += 1

    def refresh(self, seconds: float = float("inf"), *, behind: bool = False) -> Snapshot:
        """Look at the files again and read on for about so long; the index as it then is.

        `behind` others: who waits for the index has it after the next block.

        Raises FileNotFoundError when the run has neither journal nor scores (any more), Refused when one of
        its files may not be opened.
        """
        until = time.monotonic() + seconds
        with self._lock:
            self._look_again()
        while self._read_block() and time.monotonic() < until:
            if behind:
                time.sleep(_TURN_SECONDS)  # a lock that is taken again at once is not had by others
        with self._lock:
            return self._snapshot()

    def _read_block(self) -> bool:
        with self._lock:
            more = self._read_on()
            self._version += more
            return more

    @property
    def samples(self) -> int:
        """How many samples are known by now."""
        return len(self._samples)

    def add_graded(self, lines: list[bytes], epoch: int) -> None:
        """Take in verdicts that were made here, as lines of `scores.jsonl`; too late ones are dropped."""
        with self._lock:
            if epoch == self._epoch:
                raw = [RawLine(-1, 0, line) for line in lines]
                self._note(self._verdicts.add(raw, self._questions, self._samples))
                self._version += 1

    def _look_again(self) -> None:
        if self._look(self._journal) == "anew":
            self._begin()
            self._look(self._journal)
        self._look(self._prompts, on_loss=self._questions.forget_places)
        scores = self._look(self._scores, on_loss=self._forget_verdicts)
        if scores == "anew":
            self._coming = Verdicts(self._answers)
        if self._journal.file is None and self._scores.file is None:
            raise FileNotFoundError(f"{self.files.path} holds neither {JOURNAL} nor {SCORES}")

    def _look(self, tail: Tail, on_loss: Callable[[], None] | None = None) -> Seen:
        try:
            anew = tail.look_again()
        except FileNotFoundError:
            if tail.file is None:
                return "absent"
            tail.restart()
            if on_loss is None:
                return "anew"
            on_loss()
            return "absent"
        if anew and tail is self._prompts:
            self._questions.forget_places()
        return "anew" if anew else "same"

    def _forget_verdicts(self) -> None:
        self._verdicts, self._coming = Verdicts(self._answers), None
        self._version += 1

    def _read_on(self) -> bool:
        """Read about a block: questions first, then journal and scores side by side. False at the end."""
        if lines := self._prompts.lines():
            self._questions.add_prompts(lines)
            return True
        for tail in sorted((self._journal, self._scores), key=lambda tail: tail.share):
            if lines := tail.lines():
                if tail is self._journal:
                    self._note(self._samples.add(lines, self._questions))
                else:
                    verdicts = self._coming or self._verdicts
                    self._note(verdicts.add(lines, self._questions, self._samples))
                return True
        if self._coming is not None:
            self._verdicts, self._coming = self._coming, None
            return True
        return False

    def _note(self, problems: list[str]) -> None:
        room = _PROBLEMS - len(self._problems)
        self._problems += problems[:room]
        self._passed_over += max(0, len(problems) - room)

    def _snapshot(self) -> Snapshot:
        if self._taken is None or self._taken.version != self._version:
            self._taken = self._take()
        return self._taken

    def _take(self) -> Snapshot:
        samples, verdicts, questions = self._samples, self._verdicts, self._questions
        verdicts.grow(len(samples))
        journal, scores = np.array(samples.state), np.array(verdicts.state)
        on_file = np.array(samples.place) >= 0
        errored = np.where(on_file, journal & ERRORED, scores & FAILED).astype(bool)
        stale = on_file & ~errored & ((scores & FAILED) > 0)
        return Snapshot(
            version=self._version,
            epoch=self._epoch,
            read=min(tail.share for tail in (self._prompts, self._journal, self._scores)),
            problems=tuple(self._problems),
            more_problems=self._passed_over,
            tasks=tuple(questions.tasks),
            doc_ids=tuple(questions.doc_ids),
            doc_hashes=tuple(questions.doc_hashes),
            prompt_places=tuple(questions.places),
            rules={task: tuple(rules) for task, rules in verdicts.tasks.items()},
            question=np.array(samples.question),
            repeat=np.array(samples.repeat),
            place=np.array(samples.place),
            size=np.array(samples.size),
            score_place=np.array(verdicts.place),
            score_size=np.array(verdicts.size),
            characters=np.array(samples.characters),
            errored=errored,
            truncated=np.where(on_file, journal & TRUNCATED, scores & CUT).astype(bool),
            scored=((scores & SCORED) > 0) & ~stale,
            verdicts=_by_rule(verdicts),
            answers=tuple(self._answers.texts),
            answer_classes=np.array(self._answers.classes),
            prompts=self._prompts.file,
            journal=self._journal.file,
            scores=self._scores.file,
        )


def _by_rule(verdicts: Verdicts) -> dict[str, RuleColumns]:
    patterns, pattern = verdicts.patterns, np.array(verdicts.pattern)
    rules = dict.fromkeys(rule for known in verdicts.tasks.values() for rule in known)
    nothing = (math.nan, UNREAD)
    found = {}
    for rule in rules:
        given = [own.get(rule, nothing) for own in patterns]
        scores = np.array([score for score, _ in given], np.float32)
        answers = np.array([answer for _, answer in given], np.int32)
        found[rule] = RuleColumns(scores[pattern], answers[pattern])
    return found
