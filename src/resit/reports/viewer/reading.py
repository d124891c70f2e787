"""Reading the few lines that are shown, through the places that the index holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from resit import jsonl
from resit.records import Document, Generation, Message, Prompt, Question
from resit.reports.viewer.files import OpenFile
from resit.reports.viewer.index import Array, Snapshot

_GENERATION = frozenset(field.name for field in fields(Generation))


def line_at(file: OpenFile | None, place: int, size: int) -> bytes:
    """The line at a place of the index, without its end; empty where there is none (any more)."""
    return file.read(place, size).rstrip(b"\n") if file is not None and place >= 0 else b""


def object_at(file: OpenFile | None, place: int, size: int) -> dict[str, Any]:
    """The object of a line; an empty one where there is none (any more)."""
    try:
        return jsonl.decode(line_at(file, place, size))
    except (ValueError, RecursionError):
        return {}


def read_question(taken: Snapshot, number: int) -> Question | None:
    """A question as it was asked; None where its line is not on file or damaged."""
    return question_from(object_at(taken.prompts, *taken.prompt_places[number]))


def question_from(line: Mapping[str, Any]) -> Question | None:
    """The question of a line of `prompts.jsonl`; None where it holds none."""
    try:
        target = line["target"]
        prompt: Prompt = line.get("prompt", ())
        if not isinstance(prompt, str):
            prompt = tuple(Message(turn["role"], str(turn["content"])) for turn in line.get("messages", ()))
        return Question(
            task=line["task"],
            document=Document(line["doc_id"], line["doc_hash"], dict(line["doc"])),
            prompt=prompt,
            target=target if isinstance(target, str) else tuple(map(str, target)),
        )
    except (KeyError, TypeError, ValueError):
        return None


def generation_from(line: Mapping[str, Any]) -> Generation | None:
    """The sample of a line of the journal; None where it holds none."""
    try:
        return Generation(**{"seed": 0, **{name: line[name] for name in line.keys() & _GENERATION}})
    except TypeError:
        return None


def rows_of(taken: Snapshot, number: int) -> Array:
    """The rows of a question's samples, by rising repeat."""
    rows = np.nonzero(taken.question == number)[0]
    return rows[np.argsort(taken.repeat[rows], kind="stable")]
