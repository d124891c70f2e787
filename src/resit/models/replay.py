"""A model that gives a journal's answers again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from pathlib import Path

from pydantic import BaseModel, Field

from resit import jsonl
from resit.errors import AssetError, UsageError
from resit.models.calculator import insertion_from
from resit.models.protocol import JSON, Closing, Encoding, Setup, failed
from resit.models.stops import cut
from resit.records import Generation, Prompt, Request

_FIELDS = {field.name for field in fields(Generation)}


class Arguments(BaseModel):
    """Arguments of `replay`."""

    file: Path = Field(description="a run folder, or its generations.jsonl")


def arguments(kind: str) -> type[Arguments]:
    """What `model_args` may hold."""
    return Arguments


def build(kind: str, args: Arguments, setup: Setup) -> ReplayModel:
    """The model; reads the journal."""
    path = args.file / "generations.jsonl" if args.file.is_dir() else args.file
    return ReplayModel(path)


def _answers(path: Path) -> Iterator[Generation]:
    """The journal's finished samples."""
    try:
        for line in jsonl.read(path):
            if line.value is None:
                raise UsageError(f"{path}, line {line.number}: {line.problem}", "repair or remove the line")
            if line.value.get("error") is None:
                known = {name: line.value[name] for name in line.value.keys() & _FIELDS}
                if known.get("insertions") is not None:
                    known["insertions"] = tuple(map(insertion_from, known["insertions"]))
                yield Generation(**{"seed": 0, **known})
    except OSError as error:
        raise AssetError(
            f"{path}: the journal cannot be read ({error.strerror})", "name a run folder"
        ) from None
    except TypeError as error:
        raise UsageError(f"{path}: not a journal of samples ({error})", "name a run folder") from None


class ReplayModel(Closing):
    """Looks every sample up by task, document and repeat; the first line of a sample counts."""

    name = "replay"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._answers: dict[tuple[str, str, int], Generation] = {}
        digest = hashlib.sha256()
        for answer in _answers(path):
            key = answer.task, answer.doc_hash, answer.repeat
            if key not in self._answers:
                self._answers[key] = answer
                digest.update(json.dumps([key, answer.text]).encode())
        self._sha256 = digest.hexdigest()

    def identity(self) -> dict[str, JSON]:
        """The digest of the answers."""
        return {"kind": "replay", "answers_sha256": self._sha256}

    def _answer(self, request: Request) -> Generation:
        task, document = request.question.task, request.question.document
        found = self._answers.get((task, document.doc_hash, request.repeat))
        if found is None:
            return failed(
                request, f"{self._path} holds no repeat {request.repeat} of {task} {document.doc_id}"
            )
        text, stop = cut(found.text, request.sampling.stop)
        return replace(found, doc_id=document.doc_id, seed=request.seed, text=text, stop=stop or found.stop)

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
        """One generation a request, in order."""
        return map(self._answer, requests)

    def encode(self, prompt: Prompt) -> Encoding:
        """A journal does not know what was sent. Raises UsageError."""
        raise UsageError("a replayed journal cannot tell how a prompt is encoded", "name the model itself")

    def close(self) -> None:
        """Nothing is held."""
