"""Generate what a run owes, journaling each sample as it finishes."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from resit.errors import UsageError
from resit.jsonl import cannot_write
from resit.models import InterruptibleModel, Model
from resit.models.calculating import generations
from resit.records import Generation, Question
from resit.runs.folder import RunFolder
from resit.runs.identity import check_same
from resit.runs.journal import AppendFile, JournalIndex, to_line
from resit.runs.lock import FolderLock
from resit.runs.plan import Desk, Plan
from resit.runs.record import run_record
from resit.runs.shards import check_shard


class Observer(Protocol):
    """Is told what happens; `resit.runs.progress` has the one for people."""

    def started(self, total: int, reused: int) -> None: ...
    def sample(self, question: Question, generation: Generation) -> None: ...
    def note(self, text: str) -> None: ...
    def finished(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one invocation did."""

    planned: int
    reused: int
    generated: int
    errored: int
    interrupted: bool
    seconds: float

    @property
    def error_share(self) -> float:
        """Share of the planned samples that errored."""
        return self.errored / self.planned if self.planned else 0.0


def run(plan: Plan, model: Model, path: Path, observer: Observer, about: Mapping[str, Any]) -> Outcome:
    """Bring the run at `path` to what the plan asks, and return what that took.

    The identity is checked before any file is touched. The model is asked, and closed, only when
    something is owed. `about` is kept in `run.json` beside the identity: what describes the run, not what
    changes it.

    Raises IdentityMismatch, UsageError (another writer) and what the model raises; finished
    samples stay on file in every case.
    """
    if plan.shard is not None and not plan.samples:
        raise UsageError(
            f"shard {plan.shard} has no question", "make no more shards than there are questions"
        )
    folder = RunFolder(path)
    recorded = folder.record()
    identity = plan.identity()
    if recorded is not None:
        check_same(str(path), recorded["identity"], identity)
        check_shard(str(path), recorded, plan.shard)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise UsageError(
            f"{path} cannot be a run folder: it is, or lies below, a file",
            "give another --output-path",
        ) from None
    except OSError as error:
        raise cannot_write(path, error) from error
    with FolderLock(path):
        folder.write_record(run_record(plan, identity, folder.record() or {}, about))
        return _generate(plan, model, folder, observer)


def _generate(plan: Plan, model: Model, folder: RunFolder, observer: Observer) -> Outcome:
    began = time.monotonic()
    with _open_files(folder) as (prompts, journal):
        index = folder.index()
        for problem in index.problems:
            observer.note(problem)
        desk = Desk(plan, folder, index, prompts)
        reused = _reused(plan, index)
        outcome = Outcome(plan.samples, reused, 0, 0, False, 0.0)
        observer.started(plan.samples, reused)
        try:
            if reused < plan.samples:
                outcome = _drain(outcome, desk, model, journal, observer)
            else:
                for _ in desk.requests():  # every question is on file, also when nothing is owed
                    pass
        finally:
            observer.finished()
    return replace(outcome, seconds=time.monotonic() - began)


def _drain(outcome: Outcome, desk: Desk, model: Model, journal: AppendFile, observer: Observer) -> Outcome:
    generated = errored = 0
    with model, _interruptible(desk, model, observer):
        for generation in generations(model, desk.requests()):
            journal.append(to_line(generation))
            generated += 1
            errored += generation.error is not None
            observer.sample(desk.question(generation.task, generation.doc_hash), generation)
    return replace(outcome, generated=generated, errored=errored, interrupted=desk.closed)


def _reused(plan: Plan, index: JournalIndex) -> int:
    """Samples of the plan that are on file; those beyond a lowered limit are not counted."""
    reused = 0
    for task in plan.tasks:
        for document in task.documents_asked():
            finished = index.finished(task.task.name, document.doc_hash)
            reused += sum(repeat < task.repeats for repeat in finished)
    return reused


@contextlib.contextmanager
def _open_files(folder: RunFolder) -> Iterator[tuple[AppendFile, AppendFile]]:
    with (
        contextlib.closing(AppendFile(folder.prompts)) as prompts,
        contextlib.closing(AppendFile(folder.generations)) as journal,
    ):
        yield prompts, journal


@contextlib.contextmanager
def _interruptible(desk: Desk, model: Model, observer: Observer) -> Iterator[None]:
    """The first Ctrl-C (or SIGTERM) lets what is in flight finish; the second stops at once.

    A model that may have pulled more requests than are in flight, or waits to ask some again, is told.
    The user is told from a thread: the signal may have come in the middle of an import or of a line that is
    being printed, which its handler, in the same thread, must not begin again.
    """
    words = "finishing what is in flight; press Ctrl-C again to stop at once (nothing is lost)"
    interrupt = model.interrupt if isinstance(model, InterruptibleModel) else lambda: None
    telling = threading.Thread(target=observer.note, args=(words,), name="resit-interrupt", daemon=True)

    def close(number: int, frame: FrameType | None) -> None:
        if desk.closed:
            raise KeyboardInterrupt
        desk.closed = True
        interrupt()
        telling.start()

    try:
        before = {number: signal.signal(number, close) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not the main thread: the caller handles signals
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if telling.ident is not None:
            telling.join(5)
