"""Shards of one run, generated apart, as the one run that they are parts of."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resit import jsonl
from resit.differences import differences
from resit.errors import IdentityMismatch, UsageError
from resit.prompts import prompt_sha256
from resit.records import Generation, Question
from resit.runs.folder import RunFolder, put_in_place, question_to
from resit.runs.journal import AppendFile, JournalIndex, JournalReader, to_line
from resit.runs.shards import Shard

_REST = "run it again to the end, or leave the gap with --partial: `resit run` without --shard then fills it"


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge has put together."""

    shards: int
    questions: int
    samples: int
    errored: int
    missing: int
    """Samples of the whole run that no shard has; only a partial merge has any."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One shard's folder, read."""

    path: Path
    shard: Shard
    record: Mapping[str, Any]
    folder: RunFolder
    index: JournalIndex
    reader: JournalReader

    def samples(self, question: Question) -> list[Generation]:
        """A question's samples by rising repeat."""
        return self.reader.samples(self.index.offsets(question.task, question.document.doc_hash))


def merge(paths: Sequence[Path], target: Path, partial: bool = False) -> Merged:
    """Join the shards at `paths` into a new run folder, which then is as if it had been one run.

    Nothing is written unless all of it can be. Raises IdentityMismatch for shards of different runs, and
    UsageError for what is no shard, for shards and samples that are missing (unless `partial`), and for
    samples that two folders hold with different texts.
    """
    if not paths:
        raise UsageError("there is nothing to merge", "name the folders of the shards")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is there already", "name a folder that is not there yet, with -o")
    target = target.absolute()  # `.` has no name
    with contextlib.ExitStack() as stack:
        parts = sorted((_part(path, stack) for path in paths), key=lambda part: part.shard.index)
        _check_together(parts, partial)
        room = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            room.mkdir(parents=True)
            merged = _write(parts, RunFolder(room), partial)
            put_in_place(room, target)
        except OSError as error:
            raise jsonl.cannot_write(target, error) from error
        finally:
            shutil.rmtree(room, ignore_errors=True)
        return merged


def _part(path: Path, stack: contextlib.ExitStack) -> _Part:
    folder = RunFolder.existing(path)
    record = folder.record() or {}
    shard = Shard.recorded(record)
    if shard is None:
        raise UsageError(
            f"{path} holds no shard of a run", "`resit run --shard 1/4` and so on write the parts of a run"
        )
    sizes = record["shard"].get("questions")
    if not isinstance(sizes, dict) or not record.get("plan") or sizes.keys() != record["plan"].keys():
        raise UsageError(
            f"{path}/run.json does not say of what the shard is a part", "run the shard's command again"
        )
    index = folder.index()
    return _Part(path, shard, record, folder, index, stack.enter_context(index.reader()))


def _check_together(parts: Sequence[_Part], partial: bool) -> None:
    """Raise for shards that are not of one run, or not all of it."""
    first = parts[0]
    for part in parts[1:]:
        if part.shard.count != first.shard.count:
            raise UsageError(
                f"{first.path} is shard {first.shard} and {part.path} is shard {part.shard}",
                "the shards of one run are all 1/n, 2/n, … of the same n",
            )
        found = list(differences(first.record["identity"], part.record["identity"]))
        if found:
            listed = (
                f"{where}: {ours} in the first, {theirs} in the second" for where, ours, theirs in found
            )
            raise IdentityMismatch(
                f"{first.path} and {part.path} are of different runs; what differs:\n  "
                + "\n  ".join(listed),
                "run the shards with the same model, tasks and settings",
            )
    most = max(size for part in parts for size in part.record["shard"]["questions"].values())
    filled = range(1, min(first.shard.count, most) + 1)  # the shards beyond have no question
    lacking = sorted(set(filled) - {part.shard.index for part in parts})
    if lacking and not partial:
        named = ", ".join(str(Shard(index, first.shard.count)) for index in lacking[:10])
        raise UsageError(f"of {first.shard.count} shards these are missing: {named}", _REST)


def _write(parts: Sequence[_Part], room: RunFolder, partial: bool) -> Merged:
    questions = samples = errored = missing = 0
    plan = _whole_plan(parts)
    with (
        contextlib.closing(AppendFile(room.prompts)) as prompts,
        contextlib.closing(AppendFile(room.generations)) as journal,
    ):
        for task, sizes in plan.items():
            owed = sizes["questions"] * sizes["repeats"]
            for question, found in _answered(parts, task):
                prompts.append(question_to(question))
                for sample in found:
                    journal.append(to_line(sample))
                    errored += sample.error is not None
                questions += 1
                samples += len(found)
                owed -= sum(sample.repeat < sizes["repeats"] for sample in found)
            if owed > 0 and not partial:
                raise UsageError(f"{owed} samples of {task} are missing: {_lagging(parts, task)}", _REST)
            missing += max(0, owed)
    record = {key: value for key, value in parts[0].record.items() if key != "shard"}
    record["created"] = min(part.record.get("created", "") for part in parts)
    record["plan"] = plan
    room.write_record(record)
    return Merged(len(parts), questions, samples, errored, missing)


def _whole_plan(parts: Sequence[_Part]) -> dict[str, Any]:
    """By task, what all shards together were asked, which is what the largest of them says."""
    plan: dict[str, Any] = {}
    for part in parts:
        for task, sizes in part.record["plan"].items():
            old = plan.get(task, sizes)
            whole = part.record["shard"]["questions"][task]
            plan[task] = {
                **sizes,
                "questions": max(whole, old["questions"]),
                "repeats": max(sizes["repeats"], old["repeats"]),
            }
    return plan


def _answered(parts: Sequence[_Part], task: str) -> Iterator[tuple[Question, list[Generation]]]:
    """Each question that was asked, in the order of the documents, with its samples by rising repeat."""
    asked: dict[str, list[tuple[_Part, Question]]] = {}
    for part in parts:
        for question in part.folder.questions(task):
            asked.setdefault(question.document.doc_hash, []).append((part, question))
    for found in sorted(asked.values(), key=lambda holders: holders[0][1].document.doc_id):
        question = found[0][1]
        samples: dict[int, tuple[Generation, Path]] = {}
        for part, same in found:
            _check_same_prompt(question, found[0][0], same, part)
            for sample in part.samples(same):
                samples[sample.repeat] = _kept(samples.get(sample.repeat), sample, part.path)
        yield question, [samples[repeat][0] for repeat in sorted(samples)]


def _kept(before: tuple[Generation, Path] | None, sample: Generation, path: Path) -> tuple[Generation, Path]:
    """Of two lines for one sample, the one without an error; raises UsageError when they say two things."""
    if before is None or before[0].error is not None:
        return sample, path
    if sample.error is None and (sample.text, sample.stop) != (before[0].text, before[0].stop):
        raise UsageError(
            f"{before[1]} and {path} hold different texts of {sample.task} document {sample.doc_id}, "
            f"repeat {sample.repeat}",
            "merge one folder of each shard",
        )
    return before


def _check_same_prompt(question: Question, holder: _Part, same: Question, other: _Part) -> None:
    if prompt_sha256(question.prompt) != prompt_sha256(same.prompt):
        raise IdentityMismatch(
            f"{holder.path} and {other.path} asked {question.task} document {question.document.doc_id} "
            "with different prompts",
            "the task's code or data changed between the two",
        )


def _lagging(parts: Sequence[_Part], task: str) -> str:
    """How far each shard has come."""
    counts = (f"{part.path} has {part.index.count(task)}" for part in parts)
    return "; ".join(counts)
