"""The runs that are looked at: their indexes, kept up to date, and verdicts for what is not scored yet."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from resit import jsonl
from resit.errors import ResitError, UsageError
from resit.reports.page.data import DetailSide, PromptText
from resit.reports.page.prompts import SharedBeginning, prompt_text, shared_beginning
from resit.reports.viewer.catalogue import MOST_BYTES, Found
from resit.reports.viewer.files import Refused
from resit.reports.viewer.index import RunIndex, Snapshot
from resit.reports.viewer.making import Lines, RulesOf, grade_lines, show_lines
from resit.reports.viewer.reading import line_at, read_question, rows_of
from resit.reports.viewer.sides import Sides
from resit.reports.viewer.workshop import Workshop

GRADED_AT_ONCE = 512
"""Samples that go to the workshop together."""
GRADING_SECONDS, SHOWING_SECONDS = 30.0, 10.0
PATIENCE = 10.0
"""Seconds after which grading stops when nobody looks at the run any more."""
READ_SECONDS = 0.5
MOST_TEXT = 32 << 20
"""Bytes of a question's samples that are shown; of what goes beyond only the verdicts."""
_PARTS = frozenset({"headline", "questions", "samples", "rules"})
_SHARED_BY = 64
"""Prompts that are compared for what all of a task begin with."""


@dataclass(slots=True)
class OpenRun:
    """One run that is looked at. Safe to use from several threads."""

    found: Found
    index: RunIndex = field(init=False)
    grading_problem: str = ""
    """Why samples that are not scored are not graded here."""
    _sides: Sides | None = None
    _objects: dict[str, tuple[Any, Mapping[str, Any]]] = field(default_factory=dict)
    _shared: dict[str, tuple[int, SharedBeginning]] = field(default_factory=dict)
    _busy: threading.Lock = field(default_factory=threading.Lock)
    """Held while samples are graded."""
    _asked: float = 0.0

    def __post_init__(self) -> None:
        """Nothing is read yet."""
        self.index = RunIndex(self.found.files)

    def sides(self, seconds: float = float("inf"), *, behind: bool = False) -> Sides:
        """The run's questions, counted, after reading on for about so long; see `RunIndex.refresh`.

        Raises UsageError, saying why, where the run cannot be read (any more).
        """
        try:
            taken = self.index.refresh(seconds, behind=behind)
        except FileNotFoundError:
            raise UsageError(f"{self.found.name} holds no samples (any more)") from None
        except Refused as error:
            raise UsageError(f"{self.found.name}: {error}", error.hint) from None
        sides = self._sides
        if sides is None or sides.snapshot is not taken:
            sides = self._sides = Sides(taken)
        return sides

    def record(self) -> Mapping[str, Any]:
        """What `run.json` says, without misshapen parts; empty where there is none or it is damaged."""
        record = self._object("run.json")
        parts = {name: _mapping(record.get(name)) for name in ("identity", "model", "environment")}
        tables = {name: _mappings(record.get(name)) for name in ("plan", "tasks")}
        parts["identity"] = {**parts["identity"], "tasks": _mappings(parts["identity"].get("tasks"))}
        return {**record, **parts, **tables} if record else {}

    def results(self) -> Mapping[str, Any]:
        """What `results.json` says; empty where there is none or it is not what `resit score` writes."""
        results = self._object("results.json")
        tasks = _mapping(_mapping(results.get("resit")).get("tasks"))
        whole = isinstance(results.get("results"), Mapping) and all(
            isinstance(about, Mapping) and about.keys() >= _PARTS for about in tasks.values()
        )
        return results if whole else {}

    def _object(self, name: str) -> Mapping[str, Any]:
        """A file's object, read again when the file changed."""
        try:
            file = self.found.files.open(name)
            status = file.status()
            stamp = status.st_ino, status.st_size, status.st_mtime_ns
            known = self._objects.get(name)
            if known is None or known[0] != stamp:
                known = self._objects[name] = stamp, jsonl.decode(file.read(0, MOST_BYTES))
            return known[1]
        except (OSError, ResitError, ValueError, RecursionError):
            return {}

    def about(self, task: str) -> Mapping[str, Any]:
        """A task's entry of `run.json`."""
        return _mapping(_mapping(self.record().get("tasks")).get(task))

    def detail(self, task: str, number: int, workshop: Workshop, rules_of: RulesOf) -> DetailSide:
        """What is shown of a question."""
        taken = self.sides(0).snapshot
        lines = _lines_of(taken, number)
        prompt = self._prompt(taken, task, number)
        arguments = self.about(task), lines, prompt
        try:
            return workshop.call(show_lines, rules_of, *arguments, seconds=SHOWING_SECONDS)
        except ResitError:  # the rules cannot be had, or do not end: show what the files say
            return show_lines(None, *arguments)

    def _prompt(self, taken: Snapshot, task: str, number: int) -> PromptText:
        question = read_question(taken, number)
        if question is None:
            return PromptText(shared="", lead="", own="(the question is not on file)")
        shared = self._shared.get(task)
        if shared is None or shared[0] * 2 < len(taken.tasks):  # few prompts share more than all do
            shared = self._shared[task] = len(taken.tasks), _shared_of(taken, task)
        return prompt_text(question, shared[1])

    def grade(self, workshop: Workshop, rules_of: RulesOf) -> None:
        """Begin to grade the samples that have no verdicts, unless that goes on already."""
        self._asked = time.monotonic()
        if self._busy.acquire(blocking=False):
            threading.Thread(target=self._grade_all, args=(workshop, rules_of), daemon=True).start()

    def _grade_all(self, workshop: Workshop, rules_of: RulesOf) -> None:
        """Lot by lot, until none is owed or nobody looks any more."""
        try:
            while not self.grading_problem and time.monotonic() - self._asked < PATIENCE:
                taken = self.sides(READ_SECONDS, behind=True).snapshot
                owed = np.nonzero(~taken.scored & ~taken.errored & (taken.place >= 0))[0]
                if taken.read == 1 and not (len(owed) and self._grade(taken, owed, workshop, rules_of)):
                    return
        except ResitError:
            return  # the run is gone: whoever looks at it is told
        finally:
            self._busy.release()

    def _grade(self, taken: Snapshot, owed: Any, workshop: Workshop, rules_of: RulesOf) -> int:
        task = taken.tasks[taken.question[owed[0]]]
        lots: dict[int, list[bytes]] = {}
        for row in owed[:GRADED_AT_ONCE]:
            number = int(taken.question[row])
            if taken.tasks[number] == task:
                line = line_at(taken.journal, int(taken.place[row]), int(taken.size[row]))
                lots.setdefault(number, []).append(line)
        lines = [
            Lines(line_at(taken.prompts, *taken.prompt_places[number]), tuple(made), ())
            for number, made in lots.items()
        ]
        try:
            graded = workshop.call(grade_lines, rules_of, self.about(task), lines, seconds=GRADING_SECONDS)
        except ResitError as error:
            self.grading_problem = f"its samples cannot be graded here: {error}"
            return 0
        if not graded:
            self.grading_problem = "its samples cannot be graded here: their questions are not on file"
        self.index.add_graded(graded, taken.epoch)
        return len(graded)


def _lines_of(taken: Snapshot, number: int) -> Lines:
    generations, scores, left = [], [], MOST_TEXT
    for row in rows_of(taken, number):
        size = int(taken.size[row])
        left -= size
        generations.append(line_at(taken.journal, int(taken.place[row]), size) if left >= 0 else b"")
        scores.append(line_at(taken.scores, int(taken.score_place[row]), int(taken.score_size[row])))
    return Lines(line_at(taken.prompts, *taken.prompt_places[number]), tuple(generations), tuple(scores))


def _shared_of(taken: Snapshot, task: str) -> SharedBeginning:
    numbers = [number for number, name in enumerate(taken.tasks) if name == task]
    some = numbers[:: max(1, len(numbers) // _SHARED_BY)]
    return shared_beginning(question.prompt for n in some if (question := read_question(taken, n)))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _mappings(value: Any) -> Mapping[str, Mapping[str, Any]]:
    return {key: inner for key, inner in _mapping(value).items() if isinstance(inner, Mapping)}


class OpenRuns:
    """The runs that were looked at last."""

    def __init__(self, most_samples: int = 1_000_000) -> None:
        self._most = most_samples
        self._runs: OrderedDict[str, OpenRun] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, found: Found) -> OpenRun:
        """The run, opened; those that were not looked at for longest are closed when they hold too much."""
        with self._lock:
            run = self._runs.get(found.id)
            if run is None or run.found != found:
                run = self._runs[found.id] = OpenRun(found)
            self._runs.move_to_end(found.id)
            sizes = {key: run.index.samples for key, run in self._runs.items()}
            total = sum(sizes.values())
            while total > self._most and len(self._runs) > 2:
                key, _ = self._runs.popitem(last=False)
                total -= sizes[key]
            return run
