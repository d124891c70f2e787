"""The table of runs: a line for each task of each run below the folder, read as it is needed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from resit.reports.viewer.catalogue import Found, find_runs, readable
from resit.reports.viewer.run_line import RunLine, Stamp, TaskLine, read_line, stamp

LOOK_AGAIN_SECONDS = 2.0
_REST = 9
"""A look around that takes long is followed by a rest of so many times as long."""

Sort: TypeAlias = Literal["name", "model", "task", "score", "samples", "created", "state"]


Count: TypeAlias = Callable[[Found, RunLine], RunLine]
SORTS: tuple[Sort, ...] = get_args(Sort)


@dataclass(frozen=True, slots=True)
class Asked:
    """Which rows of the table are wanted."""

    search: str = ""
    """Words that a row must hold, in any of its texts."""
    sort: Sort = "name"
    descending: bool = False
    offset: int = 0
    count: int = 100


class Place(NamedTuple):
    """A row of the table before it is shown."""

    run: Found
    line: RunLine
    task: TaskLine


NOTHING, NO_TASK = RunLine(), TaskLine("")
"""Of a run that was not read yet, or that holds no task."""


class RunsTable:
    """The runs below a folder, looked for in the background. Safe to use from several threads."""

    def __init__(self, root: Path, count: Count) -> None:
        """`count` fills in what is on file of a run that is being generated."""
        self.root = root
        self._count = count
        self.looking = True
        """Whether the first look around is not over."""
        self.version = 0
        self._runs: dict[str, Found] = {}
        self._lines: dict[str, tuple[Stamp, RunLine]] = {}
        self._wanted = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._look_around, daemon=True, name="runs table")

    def start(self) -> None:
        """Begin to look around."""
        self._wanted.set()
        self._thread.start()

    def close(self) -> None:
        """Stop looking."""
        self._closed = True
        self._wanted.set()

    def find(self, run: str) -> Found | None:
        """A run by its identifier; None where there is none."""
        return self._runs.get(run)

    def want(self) -> None:
        """Somebody looks at the table, so look around again soon."""
        self._wanted.set()

    def _look_around(self) -> None:
        while self._wanted.wait() and not self._closed:
            began = time.monotonic()
            self._wanted.clear()
            self._look()
            self.looking = False
            time.sleep(max(LOOK_AGAIN_SECONDS, _REST * (time.monotonic() - began)))

    def _look(self) -> None:
        found: dict[str, Found] = {}
        for run in find_runs(self.root):
            found[run.id] = run
            if self._runs.get(run.id) != run:
                self._runs[run.id] = run
                self.version += 1
        gone = self._runs.keys() - found.keys()
        self._runs = found
        for run_id in gone:
            self._lines.pop(run_id, None)
        self.version += bool(gone)
        for run in found.values():
            if self._closed:
                return
            self.line(run)

    def line(self, run: Found) -> RunLine:
        """The run's line, read again where its files changed."""
        if run.problem:
            return RunLine(state="unreadable", problem=run.problem)
        now = stamp(run.files)
        before = self._lines.get(run.id)
        if before is not None and before[0] == now and before[1].state != "running":
            return before[1]
        made = read_line(run.files)
        if made.state == "running":
            made = self._count(run, made)
        if before is None or before[1] != made or before[0] != now:
            self.version += 1
        self._lines[run.id] = now, made
        return made

    def state(self) -> dict[str, Any]:
        """Changes when the table does."""
        self.want()
        return {"version": self.version, "looking": self.looking, "runs": len(self._runs)}

    def part(self, asked: Asked) -> dict[str, Any]:
        """Some rows of the table, a row for each task of each run, and how much of the folder is known."""
        self.want()
        runs = [*self._runs.values()]
        words = asked.search.lower().split()
        places = [place for run in runs for place in self._places(run) if _matches(place, words)]
        places.sort(key=lambda place: _sort_key(place, asked.sort), reverse=asked.descending)
        if asked.sort == "score":  # what has no score is last either way
            places.sort(key=lambda place: place.task.score is None)
        return {
            "root": readable(str(self.root)),
            "runs": len(runs),
            "read": len(self._lines) + sum(bool(run.problem) for run in runs),
            "looking": self.looking,
            "total": len(places),
            "rows": [self._row(place) for place in places[asked.offset : asked.offset + asked.count]],
            "version": self.version,
        }

    def _places(self, run: Found) -> Iterator[Place]:
        """The run's rows, as far as the run is known."""
        known = self._lines.get(run.id)
        line = known[1] if known else NOTHING
        for task in line.tasks or (NO_TASK,):
            yield Place(run, line, task)

    def _row(self, place: Place) -> dict[str, Any]:
        """A row that is shown, as its run is at this moment."""
        run = place.run
        line = self.line(run)
        task = next((own for own in line.tasks if own.task == place.task.task), place.task)
        about = {"id": run.id, "name": run.name, "closed": bool(run.problem)}
        whole = {**about, **asdict(line), **asdict(task)}
        del whole["tasks"]
        return whole


def _matches(place: Place, words: Sequence[str]) -> bool:
    if not words:
        return True
    run, line, task = place
    text = "\n".join((run.name, line.model, task.task, line.state, task.rule, line.digest)).lower()
    return all(word in text for word in words)


def _sort_key(place: Place, sort: Sort) -> tuple[Any, ...]:
    run, line, task = place
    values: dict[Sort, Any] = {
        "name": run.name,
        "model": line.model,
        "task": task.task,
        "score": task.score or 0.0,
        "samples": task.samples,
        "created": line.created,
        "state": line.state,
    }
    return values[sort], run.name, task.task
