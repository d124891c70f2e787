"""Measure log-probabilities of texts, journaling each as it comes; what is on file is not measured again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from resit import jsonl
from resit.errors import UsageError
from resit.models import LikelihoodModel, Model
from resit.records import Passage, TokenLikelihoods
from resit.runs.identity import FORMAT, check_same, normalised
from resit.runs.journal import AppendFile
from resit.runs.lock import FolderLock

FILE = "likelihoods.jsonl"
RECORD = "likelihoods.json"
_DIGITS = 6
"""Decimals kept of a log-probability: a millionth of a nat."""

Progress = Callable[[int, int], None]
"""Told (measured, planned) after each text."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one invocation did."""

    planned: int
    reused: int
    errored: int


def measure(
    model: Model, passages: Sequence[Passage], folder: Path, progress: Progress, *, moments: bool = True
) -> Measured:
    """Bring `likelihoods.jsonl` of a folder to hold every passage, and return what that took.

    A passage that is on file under its key with the same text is not measured again. Raises UsageError for a
    model without log-probabilities, IdentityMismatch when the folder holds another model's.
    """
    identity = normalised({"format": FORMAT, "model": dict(model.identity())})
    jsonl.make_folder(folder)
    with FolderLock(folder):  # what is on file may be another process's, until this one is the only one
        _check(folder, identity)
        known = _on_file(folder / FILE)
        owed = [passage for passage in passages if known.get(passage.key) != (passage.context, passage.text)]
        reused, errored = len(passages) - len(owed), 0
        progress(reused, len(passages))
        jsonl.write_atomic(folder / RECORD, json.dumps(identity, indent=2).encode() + b"\n")
        with closing(AppendFile(folder / FILE)) as file:
            for done, (passage, found) in enumerate(_measured(model, owed, moments), reused + 1):
                file.append(_line(passage, found))
                errored += found.error is not None
                progress(done, len(passages))
    return Measured(len(passages), reused, errored)


def _check(folder: Path, identity: Mapping[str, Any]) -> None:
    try:
        recorded = jsonl.decode((folder / RECORD).read_bytes())
    except FileNotFoundError:
        return
    except ValueError as error:
        raise UsageError(f"{folder / RECORD} is damaged: {error}", "name another folder") from None
    check_same(str(folder), recorded, identity)


def _on_file(path: Path) -> dict[str, tuple[str, str]]:
    """By key, context and text of what is measured."""
    if not path.exists():
        return {}
    lines = (line.value for line in jsonl.read(path))
    return {
        line["key"]: (line.get("context", ""), line.get("text", ""))
        for line in lines
        if line is not None and "key" in line and not line.get("error")
    }


def _measured(
    model: Model, owed: Sequence[Passage], moments: bool
) -> Iterator[tuple[Passage, TokenLikelihoods]]:
    if not owed:
        return
    if not isinstance(model, LikelihoodModel):
        raise UsageError(
            f"{model.name} gives no log-probabilities of texts",
            "hf, vllm, llamacpp and completion servers do",
        )
    by_key = {passage.key: passage for passage in owed}
    for found in model.loglikelihoods(owed, moments):
        yield by_key[found.key], found


def _line(passage: Passage, found: TokenLikelihoods) -> dict[str, Any]:
    """The file's object: the passage, and what was found, rounded; unknown fields are left out."""
    values = {name: _rounded(value) for name, value in asdict(found).items() if value is not None}
    context = {"context": passage.context} if passage.context else {}
    return {"key": passage.key, **context, "text": passage.text, **values}


def _rounded(value: Any) -> Any:
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [round(item, _DIGITS) if isinstance(item, float) else item for item in value]
    return value
