"""Writes imported samples as a run folder: all of them, or none."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from resit import jsonl
from resit.errors import UsageError
from resit.prompts import prompt_sha256, questions
from resit.records import Generation, Prompt, Question
from resit.runs.describe import about_task
from resit.runs.folder import RunFolder, put_in_place, question_to
from resit.runs.identity import FORMAT, normalised
from resit.runs.imports.entries import Answer, Entries, Entry, NotAsExpected, Problem
from resit.runs.imports.pairing import Documents
from resit.runs.imports.protocols import foreign_protocol, native_protocol
from resit.runs.journal import to_line
from resit.runs.record import record_of
from resit.tasks import Task
from resit.tasks.documents import rows_sha256

_SHOWN = 10
"""Problems that an error lists; the rest is counted."""


@dataclass(frozen=True, slots=True)
class File:
    """A foreign file and what its reader makes of it."""

    path: Path
    entries: Entries


@dataclass(frozen=True, slots=True)
class Part:
    """One task's share of an import."""

    task: Task
    files: Sequence[File]
    generated_with: Mapping[str, Any] | None = None
    """Generation settings in lm-eval's words; None: unknown."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where imported samples come from."""

    format: str
    model: str
    """How tables call the model."""


@dataclass(slots=True)
class _Progress:
    """What has been written of one task."""

    prompts: dict[str, str] = field(default_factory=dict)
    """sha256 of the prompts that the files tell, by document hash."""
    example: Prompt | None = None
    questions: set[str] = field(default_factory=set)
    samples: int = 0
    repeats: int = 0


def import_run(path: Path, origin: Origin, parts: Sequence[Part]) -> RunFolder:
    """Write the run folder at `path` and return it.

    Nothing is left behind unless every line of every file can be used: a score over a part of a file looks
    like a score. Raises UsageError listing the lines that cannot, by number, and for an occupied folder.
    """
    _refuse_occupied(path)
    path = path.absolute()  # `.` has no name
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.mkdir()
        done = _write_samples(draft, parts)
        RunFolder(draft).write_record(_record(origin, parts, done))
        put_in_place(draft, path)
    except OSError as error:
        raise jsonl.cannot_write(path, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return RunFolder(path)


def _refuse_occupied(path: Path) -> None:
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise UsageError(f"{path} exists and is not an empty folder", "name another one with -o")


def _write_samples(draft: Path, parts: Sequence[Part]) -> list[_Progress]:
    folder, problems, done = RunFolder(draft), [], []
    with folder.prompts.open("wb") as prompts, folder.generations.open("wb") as journal:
        for part in parts:
            asked = list(questions(part.task, num_fewshot=0))
            documents, progress = Documents(part.task.name, asked), _Progress()
            for name, found in _found(part.files):
                try:
                    if isinstance(found, Problem):
                        raise NotAsExpected(found.text)
                    _write_entry(found, documents.place(found), progress, prompts, journal)
                except NotAsExpected as problem:
                    problems.append(f"{name}, {found.where}: {problem}")
            if not progress.samples and not problems:
                problems.append(f"{', '.join(str(file.path) for file in part.files)}: no samples in it")
            done.append(progress)
    if problems:
        raise _refused(problems)
    return done


def _found(files: Sequence[File]) -> Iterator[tuple[str, Entry | Problem]]:
    for file in files:
        for found in file.entries:
            yield file.path.name, found


def _refused(problems: Sequence[str]) -> UsageError:
    more = [f"and {len(problems) - _SHOWN} more"] if len(problems) > _SHOWN else []
    listed = "\n  ".join([*problems[:_SHOWN], *more])
    return UsageError(
        f"nothing was imported; what cannot be used:\n  {listed}",
        "repair or remove those lines: a score over a part of a file would look like that of the whole",
    )


def _write_entry(
    entry: Entry, question: Question, progress: _Progress, prompts: IO[bytes], journal: IO[bytes]
) -> None:
    known = question.document.doc_hash
    if entry.prompt is not None and known not in progress.prompts:
        progress.prompts[known] = prompt_sha256(entry.prompt)
        progress.example = entry.prompt
        question = replace(question, prompt=entry.prompt)
    if known not in progress.questions:
        progress.questions.add(known)
        prompts.write(jsonl.encode(question_to(question)) + b"\n")
    for answer in entry.answers:
        journal.write(jsonl.encode(to_line(_generation(question, answer))) + b"\n")
    progress.samples += len(entry.answers)
    progress.repeats = max([progress.repeats, *(answer.repeat + 1 for answer in entry.answers)])


def _generation(question: Question, answer: Answer) -> Generation:
    document = question.document
    return Generation(
        task=question.task, doc_id=document.doc_id, doc_hash=document.doc_hash, seed=0, **asdict(answer)
    )


def _record(origin: Origin, parts: Sequence[Part], done: Sequence[_Progress]) -> dict[str, Any]:
    files = [{"name": file.path.name, "sha256": _sha256(file.path)} for part in parts for file in part.files]
    sizes = {
        part.task.name: {
            "documents": len(part.task.documents()),
            "questions": len(progress.questions),
            "repeats": progress.repeats,
        }
        for part, progress in zip(parts, done, strict=True)
    }
    identity = {
        "format": FORMAT,
        "model": {"kind": "imported", "from": origin.format, "files": files},
        "tasks": {part.task.name: _documents(part.task) for part in parts},
    }
    about = {
        "model": {"kind": "imported", "name": origin.model, "args": {"from": origin.format}},
        "tasks": {
            part.task.name: _about(origin, part, progress) for part, progress in zip(parts, done, strict=True)
        },
    }
    return record_of(dict(normalised(identity)), sizes, about)


def _documents(task: Task) -> dict[str, Any]:
    config, rows = task.config, [document.fields for document in task.documents()]
    return {
        "dataset_path": config.dataset_path,
        "dataset_name": config.dataset_name,
        "split": config.asked_split,
        "rows": len(rows),
        "sha256": rows_sha256(rows),
    }


def _about(origin: Origin, part: Part, progress: _Progress) -> dict[str, Any]:
    protocol = None
    if progress.example is not None and part.generated_with is not None:
        protocol = native_protocol(part.task, progress.prompts, progress.example, part.generated_with)
    if protocol is not None:
        return about_task(part.task, protocol)
    protocol = foreign_protocol(part.task, origin.format, progress.prompts, part.generated_with)
    return {**about_task(part.task, protocol), "num_fewshot": None}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
