"""What the table says of one run, read from its `run.json` and `results.json`."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from resit import jsonl
from resit.reports.page.figures import figures
from resit.reports.viewer.catalogue import MOST_BYTES
from resit.reports.viewer.files import Refused, RunFiles

State: TypeAlias = Literal["complete", "running", "stopped", "not scored", "unreadable"]
Stamp: TypeAlias = tuple[Any, ...]
FILES = ("run.json", "results.json", "generations.jsonl", "scores.jsonl", ".writer.json")
ELSEWHERE_SECONDS = 120.0
"""A writer on another machine counts as alive when the journal grew within so long."""


@dataclass(frozen=True, slots=True)
class TaskLine:
    """One task of one run."""

    task: str
    rule: str = ""
    """The rule that the task is quoted by."""
    score: float | None = None
    low: float | None = None
    high: float | None = None
    questions: int = 0
    samples: int = 0
    planned: int = 0
    errored: int = 0
    truncated: int = 0
    unextracted: int | None = None
    warnings: int = 0


@dataclass(frozen=True, slots=True)
class RunLine:
    """What the table says of a run."""

    model: str = ""
    created: str = ""
    digest: str = ""
    state: State = "complete"
    problem: str = ""
    tasks: tuple[TaskLine, ...] = ()


def read_line(files: RunFiles) -> RunLine:
    """A run's line from `run.json` and `results.json`, with what is wrong with them.

    A run of which only the samples can be read can still be opened: its tasks are then those of `run.json`.
    """
    record, problem = _read(files, "run.json")
    results, damage = _read(files, "results.json")
    if not damage:
        try:
            tasks = tuple(lines_of(results or {}, record))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            damage = f"results.json is not what was expected: {error!r}"
    if damage:
        tasks = tuple(lines_of({}, record))
    if record is None and not problem:
        problem = "it has no run.json, so nobody can say what was asked"
    known = record or {}
    return RunLine(
        model=str(_mapping(known.get("model")).get("name") or _model_in(results) or ""),
        created=str(known.get("created") or ""),
        digest=str(known.get("digest") or ""),
        state="unreadable" if damage or (record is None and problem) else _state(files, results, tasks),
        problem="; ".join(filter(None, (problem, damage))),
        tasks=tasks,
    )


def _read(files: RunFiles, name: str) -> tuple[dict[str, Any] | None, str]:
    """A file's object, None where there is none, and what is wrong with it."""
    try:
        return _object(files, name), ""
    except Refused as error:
        return None, str(error)


def _object(files: RunFiles, name: str) -> dict[str, Any] | None:
    """A file's object, None where there is no such file. Refused where it is damaged."""
    try:
        return jsonl.decode(files.read(name, MOST_BYTES))
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError) as error:
        raise Refused(f"{name} is damaged: {error}") from error


def lines_of(results: Mapping[str, Any], record: Mapping[str, Any] | None = None) -> Iterator[TaskLine]:
    """A line for each task of the results, and for those that only `run.json` names.

    KeyError, TypeError, AttributeError or ValueError where they are not what `resit score` writes.
    """
    scored, record = _mapping(_mapping(results.get("resit")).get("tasks")), record or {}
    for name in dict.fromkeys([*scored, *_mapping(record.get("tasks"))]):
        yield (
            _task(name, results, scored) if name in scored else TaskLine(name, planned=_planned(record, name))
        )


def _task(name: str, results: Mapping[str, Any], scored: Mapping[str, Any]) -> TaskLine:
    about = scored[name]
    found = figures(results, name) if "rules" in about else []
    main = next((figure for figure in found if figure["quoted"]), found[0] if found else None)
    samples = _mapping(about.get("samples"))
    line = TaskLine(
        task=name,
        samples=int(samples.get("scored", 0)),
        planned=int(samples.get("planned", 0)),
        errored=int(samples.get("errored", 0)),
        truncated=int(samples.get("truncated", 0)),
        questions=int(_mapping(about.get("questions")).get("scored", 0)),
        warnings=len(about.get("warnings", ())),
    )
    return _with_score(line, main) if main else line


def _with_score(line: TaskLine, main: Mapping[str, Any]) -> TaskLine:
    return replace(
        line,
        rule=main["label"],
        score=main["score"],
        low=main["low"],
        high=main["high"],
        unextracted=main["unextracted"],
    )


def _state(files: RunFiles, results: Mapping[str, Any] | None, tasks: Sequence[TaskLine]) -> State:
    if is_being_written(files):
        return "running"
    if results is None:
        return "not scored"
    return "stopped" if any(line.samples + line.errored < line.planned for line in tasks) else "complete"


def is_being_written(files: RunFiles) -> bool:
    """Whether a process is generating into the run: its note is there, and it lives as far as one can tell.

    The lock is left alone, for trying it could turn a writer away.
    """
    try:
        writer = _mapping(_object(files, ".writer.json"))
    except Refused:
        return False
    if not writer:
        return False
    if writer.get("host") != socket.gethostname():
        stamp = _stamp_of(files, "generations.jsonl")
        return stamp is not None and time.time() - stamp[1] / 1e9 < ELSEWHERE_SECONDS
    pid = writer.get("pid")
    return isinstance(pid, int) and pid > 0 and _lives(pid)


def _lives(pid: int) -> bool:
    if os.name == "nt":  # where signal 0 is not a question
        return True
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _planned(record: Mapping[str, Any], task: str) -> int:
    plan = _mapping(_mapping(record.get("plan")).get(task))
    questions, repeats = plan.get("questions", 0), plan.get("repeats", 1)
    return questions * repeats if isinstance(questions, int) and isinstance(repeats, int) else 0


def _model_in(results: Mapping[str, Any] | None) -> Any:
    return _mapping((results or {}).get("config")).get("model_name")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _stamp_of(files: RunFiles, name: str) -> tuple[int, int] | None:
    try:
        status = os.stat(files.path / name, follow_symlinks=False)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def stamp(files: RunFiles) -> Stamp:
    """Changes when a run does: size and time of its files."""
    return tuple(_stamp_of(files, name) for name in FILES)
