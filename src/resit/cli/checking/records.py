"""The check of the records of alignment."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from resit import tasks
from resit.cli.checking.ledger import Ledger, Place
from resit.stats import wilson_interval
from resit.tasks import aligned
from resit.tasks.aligned import Record


def alignment(place: Place, ledger: Ledger, folder: Path | None = None) -> None:
    """A task is called aligned with records, all of them whole, and with none that says otherwise."""
    known = tasks.index()
    for name, entry in known.items():
        if entry.status != "aligned":
            continue
        with ledger.item(name):
            found = aligned.records(name, folder)
            if not found:
                ledger.wrong(name, "is called aligned and has no record: docs/alignment.md")
            for record in found:
                for text in _doubtful(record):
                    ledger.wrong(name, f"{_told(record)}: {text}")
    for name in aligned.recorded(folder):
        if name not in known:
            ledger.wrong(name, "has records and is no task of the catalogue")


def _doubtful(record: Record) -> Iterator[str]:
    if record.verdict == "differs":
        yield "its verdict is that the task differs from its reference"
    if record.twin and (record.twin not in tasks.index() or not aligned.records(record.twin)):
        yield f"its twin {record.twin} has no record"
    for rule, scores in record.rules.items():
        expected = wilson_interval(scores.ours * (record.n or 1), record.n or 1)
        if not all(math.isclose(a, b, abs_tol=1e-4) for a, b in zip(scores.interval, expected, strict=True)):
            yield f"{rule}: its interval is not that of {scores.ours:g} of {record.n}"


def _told(record: Record) -> str:
    of = record.model or record.responses
    return f"{record.kind}, {of.name if of else record.twin or record.reference.version}"
