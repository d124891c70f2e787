"""lm-eval's `samples_<task>_<time>.jsonl`: a line for each document, once for every filter."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from resit.records import Prompt
from resit.runs.imports.entries import (
    Answer,
    Entries,
    Entry,
    Key,
    NotAsExpected,
    Problem,
    numbered_objects,
    text_of,
    whole_number,
)
from resit.runs.imports.from_jsonl import messages_of
from resit.tasks.documents import doc_hash

_NAME = re.compile(r"samples_(?P<task>.+)_\d{4}-\d\d-\d\dT[\d\-.:+]+\.jsonl")


def task_name(path: Path) -> str | None:
    """The task that a file's name tells of, as lm-eval names it; None for another name."""
    match = _NAME.fullmatch(path.name)
    return match["task"] if match else None


def generation_kwargs(path: Path) -> dict[str, Any] | None:
    """The settings that the first usable line says the texts were generated with."""
    for _, line in numbered_objects(path):
        if not isinstance(line, Problem):
            kwargs = _arguments(line)[1]
            return dict(kwargs) if isinstance(kwargs, Mapping) else None
    return None


def entries(path: Path) -> Entries:
    """Each document once, where the file has it first; the lines of further filters are compared with it."""
    first: dict[int, tuple[str, bytes]] = {}
    seen: dict[tuple[int, str], str] = {}
    for where, line in numbered_objects(path):
        if isinstance(line, Problem):
            yield line
            continue
        try:
            entry, again = _entry(where, line), (line.get("doc_id", -1), str(line.get("filter")))
            if again in seen:
                raise NotAsExpected(
                    f"document {again[0]} stands on {seen[again]} too, for filter {again[1]!r}"
                )
            seen[again] = where
            texts = _digest(entry)
            if again[0] not in first:
                first[again[0]] = (where, texts)
                yield entry
            elif first[again[0]][1] != texts:
                raise NotAsExpected(f"document {again[0]} has other responses than on {first[again[0]][0]}")
        except NotAsExpected as problem:
            yield Problem(where, str(problem))


def _entry(where: str, line: Mapping[str, Any]) -> Entry:
    for key in ("doc_id", "doc", "resps"):
        if key not in line:
            raise NotAsExpected(f"expected {key!r}, as lm-eval's --log_samples writes it; the line has none")
    doc_id, fields = whole_number(line["doc_id"], "doc_id"), line["doc"]
    if not isinstance(fields, Mapping):
        raise NotAsExpected(f"doc: expected an object, found {type(fields).__name__}")
    content = doc_hash(fields)
    if line.get("doc_hash", content) != content:
        raise NotAsExpected(f"doc_hash is {line['doc_hash']}, but that of its doc is {content}")
    answers = tuple(Answer(text, repeat) for repeat, text in enumerate(_responses(line["resps"])))
    return Entry(where, Key(doc_hash=content, doc_id=doc_id), answers, _prompt(_arguments(line)[0]))


def _responses(resps: Any) -> list[str]:
    """The texts of `resps`: a list with one list of repeats."""
    if isinstance(resps, list) and len(resps) == 1 and isinstance(resps[0], list) and resps[0]:
        return [text_of(text, f"resps[0][{index}]") for index, text in enumerate(resps[0])]
    raise NotAsExpected("resps: expected [[text, …]], the repeats of one generation request")


def _arguments(line: Mapping[str, Any]) -> tuple[Any, Any]:
    """(prompt, generation settings) in the shape of 0.4.4 and later, or as older versions wrote it."""
    arguments = line.get("arguments")
    if isinstance(arguments, Mapping):
        first = arguments.get("gen_args_0")
        return (first.get("arg_0"), first.get("arg_1")) if isinstance(first, Mapping) else (None, None)
    if isinstance(arguments, list) and arguments and isinstance(arguments[0], list):
        return tuple((*arguments[0], None, None)[:2])
    return None, None


def _prompt(argument: Any) -> Prompt | None:
    """The prompt; a chat that went to a server is a list with the JSON text of its messages."""
    if isinstance(argument, str):
        return argument
    if isinstance(argument, list) and len(argument) == 1 and isinstance(argument[0], str):
        try:
            return messages_of(json.loads(argument[0]))
        except ValueError:
            raise NotAsExpected("arguments: the chat's messages are not JSON") from None
    return None


def _digest(entry: Entry) -> bytes:
    digest = hashlib.sha256()
    for answer in entry.answers:
        digest.update(answer.text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.digest()
