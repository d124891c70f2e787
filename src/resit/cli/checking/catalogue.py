"""Checks of `assets/catalogue.yaml` and of the files that it pins."""

from __future__ import annotations

import re
from collections.abc import Iterator

from resit import assets
from resit.assets import inventory
from resit.assets.catalogue import Asset, File, Split
from resit.assets.pinned import splits_of
from resit.cli.checking.ledger import Ledger, Place, Unchecked

SHA256 = re.compile(r"[0-9a-f]{64}")


def complete(place: Place, ledger: Ledger) -> None:
    """Every entry says what it is, under which licence, where from, and how it is recognised."""
    for entry in assets.catalogue().values():
        with ledger.item(entry.name):
            for text in _lacking(entry):
                ledger.wrong(entry.name, text)


def _lacking(entry: Asset) -> Iterator[str]:
    for key in ("title", "licence", "licence_stated_in", "provenance"):
        if not str(getattr(entry, key)).strip():
            yield f"says no {key}"
    splits = [split for _, _, _, split in splits_of(entry)]
    for file in entry.files.values():
        yield from (f"{file.name}: {text}" for text in _unrecognised(file, splits))
        if not file.sources and "RESIT_MIRROR" not in entry.note:
            yield f"{file.name} has no source, and the note does not say that only RESIT_MIRROR gives it"
    for split in splits:
        if not (split.generated or split.same_as or split.rows):
            yield "a split without a number of rows"


def _unrecognised(file: File, splits: list[Split]) -> Iterator[str]:
    if file.sha256 is not None:
        if not SHA256.fullmatch(file.sha256):
            yield f"{file.sha256!r} is no sha256"
        return
    held = [split for split in splits if file.name in split.files]
    if not any(split.digest or split.rows for split in held):
        yield "neither its sha256 nor its rows are known"


def digests(place: Place, ledger: Ledger) -> None:
    """What is on this machine is what the catalogue pins; what is not is skipped."""
    if not assets.catalogue():
        raise Unchecked("the catalogue is empty")
    for entry in assets.catalogue().values():
        for finding in inventory.verify(entry):
            if finding.path is None:
                ledger.skip(finding.file, "not on this machine")
                continue
            ledger.checked += 1
            if finding.problem:
                ledger.wrong(finding.file, finding.problem)
