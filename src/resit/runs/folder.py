"""A run is a folder: `run.json`, `prompts.jsonl`, `generations.jsonl`, and what is derived from them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from resit import jsonl
from resit.errors import UsageError
from resit.prompts import prompt_sha256
from resit.records import Document, Message, Question
from resit.runs.journal import JournalIndex


class RunFolder:
    """Reading side of a run: its record, its questions, its samples."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.generations = path / "generations.jsonl"
        self.prompts = path / "prompts.jsonl"
        self._record = path / "run.json"

    @classmethod
    def existing(cls, path: Path) -> RunFolder:
        """The run at a path; raises UsageError when there is none."""
        folder = cls(path)
        if folder.record() is None:
            raise UsageError(
                f"{path} is not a run folder: it has no run.json",
                "name a folder that `resit run` or `resit import` wrote",
            )
        return folder

    def record(self) -> dict[str, Any] | None:
        """What `run.json` says, or None when there is no such file; UsageError when it is damaged."""
        if not self._record.exists():
            return None
        try:
            record = jsonl.decode(self._record.read_bytes())
            for name in ("identity", "tasks"):
                if not isinstance(record.get(name), dict):
                    raise ValueError(f"expected an object {name!r} in it, found {record.get(name)!r:.40}")
            return record
        except ValueError as error:
            raise UsageError(
                f"{self._record} is damaged: {error}",
                "restore it from a copy; the generations beside it are untouched",
            ) from error

    def tasks(self) -> list[str]:
        """Names of the run's tasks, in the order in which they came."""
        return list((self.record() or {}).get("tasks", {}))

    def write_record(self, record: Mapping[str, Any]) -> None:
        """Replace `run.json` in one step."""
        text = json.dumps(record, ensure_ascii=False, indent=2) + "\n"
        jsonl.write_atomic(self._record, text.encode("utf-8", "backslashreplace"))

    def index(self) -> JournalIndex:
        """Where every sample stands in `generations.jsonl`."""
        return JournalIndex(self.generations)

    def questions(self, task: str | None = None) -> Iterator[Question]:
        """The questions asked so far, of one task or of all, in the order asked; damaged lines hold none."""
        if not self.prompts.exists():
            return
        for line in jsonl.read(self.prompts):
            if line.value is None or task not in (None, line.value.get("task")):
                continue
            try:
                question = question_from(line.value)
            except (KeyError, TypeError, ValueError):
                continue  # as a torn line: the next `resit run` writes it again
            yield question


def put_in_place(draft: Path, target: Path) -> None:
    """Make a finished draft the run folder at `target`, where nothing is, or an empty folder.

    An empty folder is filled, `run.json` last, and not replaced: it may be somebody's working folder.
    """
    if not target.exists():
        draft.rename(target)
        return
    for file in sorted(draft.iterdir(), key=lambda file: file.name == "run.json"):
        file.rename(target / file.name)


def question_to(question: Question) -> dict[str, Any]:
    """The line of `prompts.jsonl` for a question."""
    document, prompt, target = question.document, question.prompt, question.target
    asked: dict[str, Any] = (
        {"prompt": prompt} if isinstance(prompt, str) else {"messages": [asdict(turn) for turn in prompt]}
    )
    return {
        "task": question.task,
        "doc_id": document.doc_id,
        "doc_hash": document.doc_hash,
        "doc": dict(document.fields),
        **asked,
        "target": target if isinstance(target, str) else list(target),
        "prompt_sha256": prompt_sha256(prompt),
    }


def question_from(line: Mapping[str, Any]) -> Question:
    """The question that a line of `prompts.jsonl` holds."""
    target = line["target"]
    messages = tuple(Message(**message) for message in line.get("messages", ()))
    return Question(
        task=line["task"],
        document=Document(line["doc_id"], line["doc_hash"], line["doc"]),
        prompt=line.get("prompt", messages),
        target=target if isinstance(target, str) else tuple(target),
    )
