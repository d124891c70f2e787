"""`resit probe overlap`: which test questions stand in a training text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from resit.cli.examples import example_of, examples

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from resit.probes.overlap import Scan
    from resit.tasks import Task

EXAMPLE = examples(
    "resit probe overlap corpus/ --tasks gsm8k --field text",
    "resit probe overlap part-*.jsonl.gz --tasks gsm8k,svamp --json",
)


def register(app: typer.Typer) -> None:
    """Add the verb to `resit probe`."""
    app.command(name="overlap", short_help="Look for test questions in training text.", epilog=EXAMPLE)(
        overlap
    )


def overlap(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Files or folders: JSON Lines, Parquet, anything else as plain text; .gz too."),
    ] = None,
    tasks: Annotated[
        str, typer.Option("--tasks", "-t", help="Tasks whose questions are looked for.")
    ] = "gsm8k",
    exemplars: Annotated[
        bool, typer.Option("--exemplars", help="Look in what the tasks' exemplars say, too.")
    ] = False,
    field: Annotated[
        str, typer.Option(help="Fields of the records to read, comma-separated; else all their strings.")
    ] = "",
    n: Annotated[int, typer.Option("--n", min=1, help="Words of a sequence.")] = 13,
    show: Annotated[int, typer.Option(min=0, help="Questions to list, the most covered first.")] = 10,
    include_path: Annotated[Path | None, typer.Option(help="Folder with your own task files.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Look for the questions of tasks in text of any size, in one pass, by sequences of 13 words.

    Case and punctuation do not count. Memory does not grow with the text.
    """
    from resit.cli import options
    from resit.errors import UsageError
    from resit.probes.corpus import texts
    from resit.probes.overlap import Scan
    from resit.tasks import select

    if not paths and not exemplars:
        raise UsageError("expected files or folders to look in, or --exemplars", example_of(EXAMPLE))
    chosen = select(options.names(tasks), include_path=include_path).tasks
    scan = Scan({name: text for task in chosen for name, text in _questions(task)}, n)
    for path in paths or []:
        scan.read(texts(path, options.names(field)))
    if exemplars:
        scan.read(text for task in chosen for text in _exemplars(task))
    _show(scan, show, as_json)


def _questions(task: Task) -> Iterator[tuple[str, str]]:
    """Each document's name and its question; all its strings where it has no field of that name."""
    for document in task.documents():
        fields = document.fields
        text = fields["question"] if "question" in fields else _strings(fields)
        yield f"{task.name} {document.doc_id}", str(text)


def _exemplars(task: Task) -> Iterator[tuple[str, bytes]]:
    for row, fields in enumerate(task.exemplars.rows):
        yield f"exemplar {row} of {task.name}", _strings(fields).encode("utf-8", "surrogatepass")


def _strings(fields: Mapping[str, Any]) -> str:
    return " ".join(value for value in fields.values() if isinstance(value, str))


def _show(scan: Scan, show: int, as_json: bool) -> None:
    from resit.cli.statistics import print_json, printer

    found = sorted((one for one in scan.overlaps if one.found), key=lambda one: (-one.share, one.question))
    short = sum(not one.grams for one in scan.overlaps)
    counts = {
        "questions": len(scan.overlaps),
        "found": len(found),
        "whole": sum(one.share == 1 for one in found),
    }
    if as_json:
        read = {"n": scan.n, "texts": scan.texts, "bytes": scan.bytes, **counts, "too_short": short}
        print_json({**read, "overlaps": [one.as_json() for one in found]})
        return
    _, say = printer()
    say(
        f"{counts['found']} of {counts['questions']} questions share {scan.n} words in a row with the text "
        f"({counts['whole']} of them all such sequences); {scan.texts} texts, {scan.bytes / 1e6:.1f} MB read."
    )
    if short:
        say(f"{short} questions have fewer than {scan.n} words and cannot be looked for.")
    for one in found[:show]:
        say(f"{one.question}: {len(one.found)} of {one.grams}; {one.first_place}: {one.first_words!r}")
    if len(found) > show:
        say(f"and {len(found) - show} more: --show {len(found)}, or --json")
