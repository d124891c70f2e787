"""The table of runs: a line for each task of each run below the folder, read as it is needed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from resit.reports.viewer.catalogue import Found, find_runs, readable
from resit.reports.viewer.run_line import RunLine, Stamp, TaskLine, read_line, stamp

LOOK_AGAIN_SECONDS = 2.0

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
            time.sleep(max(LOOK_AGAIN_SECONDS, 4 * (time.monotonic() - began)))

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
        rows = [row for run in runs for row in self._rows(run) if _matches(row, words)]
        rows.sort(key=lambda row: _sort_key(row, asked.sort), reverse=asked.descending)
        if asked.sort == "score":  # what has no score is last either way
            rows.sort(key=lambda row: row["score"] is None)
        return {
            "root": readable(str(self.root)),
            "runs": len(runs),
            "read": len(self._lines) + sum(bool(run.problem) for run in runs),
            "looking": self.looking,
            "total": len(rows),
            "rows": [self._now(row) for row in rows[asked.offset : asked.offset + asked.count]],
            "version": self.version,
        }

    def _now(self, row: dict[str, Any]) -> dict[str, Any]:
        """A row that is shown, as its run is at this moment."""
        run = self._runs.get(row["id"])
        return row if run is None else _row(run, self.line(run), row["task"])

    def _rows(self, run: Found) -> Iterator[dict[str, Any]]:
        known = self._lines.get(run.id)
        line = known[1] if known else RunLine(state="unreadable", problem=run.problem)
        if known is None and not run.problem:
            line = RunLine()
        for task in [task.task for task in line.tasks] or [""]:
            yield _row(run, line, task)


def _row(run: Found, line: RunLine, task: str) -> dict[str, Any]:
    about = next((own for own in line.tasks if own.task == task), TaskLine(task))
    whole = {"id": run.id, "name": run.name, **asdict(line), **asdict(about)}
    del whole["tasks"]
    return whole


def _matches(row: Mapping[str, Any], words: Sequence[str]) -> bool:
    text = "\n".join(str(row[name]) for name in ("name", "model", "task", "state", "rule", "digest")).lower()
    return all(word in text for word in words)


def _sort_key(row: Mapping[str, Any], sort: Sort) -> tuple[Any, ...]:
    value = row[sort]
    return (value if value is not None else 0, row["name"], row["task"])
