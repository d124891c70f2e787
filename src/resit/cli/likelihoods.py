"""What `resit probe loglikelihood` reads and prints."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import typer

from resit import jsonl
from resit.errors import ResitError, UsageError
from resit.models import LikelihoodModel, Setup, create, parse_model_args
from resit.prompts.asking import limited
from resit.records import Document, Passage, TokenLikelihoods
from resit.tasks import load

PARTS = ("question", "whole", "solution")
SHOWN = 48
"""Characters of a text in the table."""


def passages_of_file(path: Path) -> list[Passage]:
    """The texts of a JSON Lines file, keyed by their `key` or line number. Raises UsageError."""
    try:
        raw = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: the texts cannot be read ({error.strerror})") from None
    found: dict[str, Passage] = {}
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.strip():
            passage = _passage(f"{path}, line {number}", str(number), line)
            if passage.key in found:
                raise UsageError(f"{path}, line {number}: the key {passage.key!r} is there twice")
            found[passage.key] = passage
    if not found:
        raise UsageError(f"{path}: expected texts, found none", 'each line is an object {"text": …}')
    return list(found.values())


def _passage(where: str, key: str, line: bytes) -> Passage:
    try:
        entry = json.loads(line)
    except ValueError as error:
        raise UsageError(f'{where}: expected an object {{"text": …}} ({error})') from None
    text, context = (
        (entry.get(name, "") for name in ("text", "context")) if isinstance(entry, dict) else (0, 0)
    )
    if not isinstance(text, str) or not isinstance(context, str) or not text:
        raise UsageError(f"{where}: expected an object with a text, and perhaps a context, both strings")
    return Passage(str(entry.get("key", key)), text, context)


def passages_of_task(
    name: str, split: str, parts: Sequence[str], limit: int | float | None, include_path: Path | None
) -> list[Passage]:
    """Of each document of a task its question, both question and solution, or the one after the other.

    The texts are the data set's own fields, as they stand in a training corpus. Raises UsageError.
    """
    for part in parts or ("",):
        if part not in PARTS:
            raise UsageError(f"--parts: expected some of {', '.join(PARTS)}, found {part!r}")
    passages = []
    for task in load([name], include_path=include_path):
        if split:
            config = task.config.model_copy(update={"test_split": split})
            task = replace(task, config=config)
        for document in limited(task.documents(), limit):
            for part in parts:
                passages.append(_part(task.name, document, part))
    return passages


def _part(task: str, document: Document, part: str) -> Passage:
    key = f"{task}/{document.doc_id}/{part}"
    question = _field(task, document, "question")
    if part == "question":
        return Passage(key, question)
    answer = _field(task, document, "answer")
    return Passage(key, f"{question}\n{answer}") if part == "whole" else Passage(key, answer, f"{question}\n")


def _field(task: str, document: Document, name: str) -> str:
    value = document.fields.get(name)
    if not isinstance(value, str):
        raise UsageError(
            f"--task {task}: expected a text field {name!r}, found {', '.join(document.fields)}",
            "write the texts into a file of JSON lines; --parts question needs no solutions",
        )
    return value


def show(
    passages: Sequence[Passage],
    *,
    kind: str,
    model_args: str,
    concurrency: int | None,
    form: Literal["table", "json", "jsonl"],
    tokens: bool,
) -> None:
    """Measure and print. Raises UsageError for a model without probabilities, ResitError if all fail."""
    setup = Setup(concurrency, lambda note: typer.echo(f"warning: {note}", err=True), _debugging())
    known = {passage.key: passage for passage in passages}
    lines: dict[str, dict[str, Any]] = {}
    with create(kind, parse_model_args(model_args), setup) as model:
        if not isinstance(model, LikelihoodModel):
            raise UsageError(
                f"model {kind!r} gives no log-probabilities of texts",
                "hf, vllm, llamacpp and openai-completions do",
            )
        for found in model.loglikelihoods(passages):
            line = lines[found.key] = figures(known[found.key], found, tokens)
            if form == "jsonl":
                sys.stdout.buffer.write(jsonl.encode(line) + b"\n")
                sys.stdout.buffer.flush()
        name = model.name
    ordered = [lines[key] for key in known]
    if form == "json":
        typer.echo(json.dumps({"model": name, **_sums(ordered), "texts": ordered}, ensure_ascii=True))
    elif form == "table":
        _print_table(ordered, known)
    errors = [line["error"] for line in ordered if "error" in line]
    if len(errors) == len(ordered):
        raise ResitError(f"no text could be measured: {errors[0]}")


def _debugging() -> bool:
    return bool(os.environ.get("RESIT_DEBUG"))


def figures(passage: Passage, found: TokenLikelihoods, tokens: bool = False) -> dict[str, Any]:
    """One text's figures in nats; what cannot be had (an error, who was likeliest) is left out."""
    if found.error is not None:
        return {"key": passage.key, "error": found.error}
    count, characters = len(found.logprobs), len(passage.text)
    line: dict[str, Any] = {
        "key": passage.key,
        "total": found.total,
        "tokens": count,
        "per_token": found.total / count,
        "characters": characters,
        "per_character": found.total / characters,
    }
    if found.greedy:
        line["likeliest"] = sum(found.greedy) / count
    if tokens:
        line["pieces"], line["logprobs"] = list(found.pieces), list(found.logprobs)
        line["greedy"] = list(found.greedy)
    return line


def _sums(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    measured = [line for line in lines if "error" not in line]
    sums: dict[str, Any] = {"measured": len(measured), "errored": len(lines) - len(measured)}
    for name in ("total", "tokens", "characters"):
        sums[name] = sum(line[name] for line in measured)
    if measured:
        sums["per_token"] = sums["total"] / sums["tokens"]
        sums["per_character"] = sums["total"] / sums["characters"]
    return sums


def _print_table(lines: Sequence[Mapping[str, Any]], known: Mapping[str, Passage]) -> None:
    from rich.table import Table
    from rich.text import Text

    from resit.cli.statistics import printer

    table = Table(show_edge=False, pad_edge=False, box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("Key", overflow="fold")
    table.add_column("Text", no_wrap=True, overflow="ellipsis")
    for name in ("Tokens", "Total", "Per token", "Per character", "Likeliest"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        text = " ".join(known[line["key"]].text.split())[:SHOWN]
        cells = [line["error"]] if "error" in line else list(_cells(line))
        table.add_row(Text(line["key"]), Text(text), *map(Text, cells))
    show_table, say = printer()
    show_table(table)
    sums = _sums(lines)
    if sums["measured"]:
        say(
            f"all {sums['measured']}: {sums['tokens']} tokens, {sums['total']:.2f} nats in total, "
            f"{sums['per_token']:.4f} a token, {sums['per_character']:.4f} a character"
        )
    if sums["errored"]:
        say(f"{sums['errored']} could not be measured")


def _cells(line: Mapping[str, Any]) -> Iterator[str]:
    yield str(line["tokens"])
    yield f"{line['total']:.2f}"
    yield f"{line['per_token']:.4f}"
    yield f"{line['per_character']:.4f}"
    yield f"{line['likeliest']:.1%}" if "likeliest" in line else ""
