"""Splits that the catalogue pins: read from whichever of their files can be had, and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from resit.assets.catalogue import Asset, Dataset, File, Split, asset, datasets
from resit.assets.digest import dataset_digest
from resit.assets.fetch import WrongBytes, mirror_folder, obtain, sha256_of
from resit.assets.formats import Row, read_table
from resit.assets.splits import LoadedSplit, Wanted, in_folder, on_hub
from resit.errors import AssetError, UsageError

BY_BYTES, BY_DIGEST, BY_NUMBER = "sha256", "digest of the rows", "number of rows"


def load_pinned(dataset: Dataset, config: str, name: str) -> LoadedSplit:
    """A catalogued split. Raises AssetError when it cannot be had or its rows are not the published ones."""
    split = dataset.configs[config][name]
    if split.same_as:
        path, *place = split.same_as
        return load_pinned(datasets()[path], *place)
    wanted = Wanted(dataset.path, config, name, dataset.revision)
    found = _unpinned(dataset, wanted) if split.hub else _from_files(dataset, wanted, split)
    checked = _verify(found.rows, found.identity["digest"], split, wanted, found.source)
    if split.contains:
        checked += ", and " + _verify_contains(found, asset(dataset.asset).files[split.contains], wanted)
    identity = {key: value for key, value in found.identity.items() if key != "revision"}
    return replace(found, checked=checked, identity=identity)


def read_file(file: File, path: Path) -> list[Row]:
    """The rows of a catalogued file with their published columns, in order."""
    columns = file.columns
    if columns is None:
        return read_table(path)
    positions = [own for own in columns.values() if isinstance(own, int)]
    options = {"names": [*range(max(positions) + 1)]} if positions else {}  # such a file has no header
    table = read_table(path, None, options)
    absent = [own for own in columns.values() if own is not None and table and own not in table[0]]
    if absent:
        raise AssetError(f"{path}: expected a column {absent[0]!r}, found {', '.join(map(str, table[0]))}")
    return [
        {name: _cell(path, row, own, name in file.integers) for name, own in columns.items()} for row in table
    ]


def _cell(where: Path, row: Mapping[Any, Any], own: str | int | None, integer: bool) -> Any:
    value = None if own is None else row[own]
    if not integer or not isinstance(value, str):
        return value
    try:
        return int(value.replace(",", ""))
    except ValueError:
        raise AssetError(f"{where}: expected a whole number in {own!r}, found {value!r}") from None


def check_file(entry: Asset, file: File, path: Path) -> str:
    """By what a file on this machine is known to be right. Raises AssetError when it is not."""
    wrong = file.sha256 is not None and file.sha256 != sha256_of(path)
    if file.sha256 and not wrong:
        return BY_BYTES
    for dataset, config, name, split in splits_of(entry):
        if file.name in split.files and not (wrong and split.digest is None):
            rows = read_file(file, path)
            return _verify(rows, dataset_digest(rows), split, Wanted(dataset.path, config, name), str(path))
    if wrong:
        raise WrongBytes(file, sha256_of(path), path)
    return "nothing: it is not pinned"


def splits_of(entry: Asset) -> list[tuple[Dataset, str, str, Split]]:
    """Every split of an asset with its data set, configuration and name."""
    return [
        (dataset, config, name, split)
        for dataset in entry.datasets
        for config, splits in dataset.configs.items()
        for name, split in splits.items()
    ]


def _from_files(dataset: Dataset, wanted: Wanted, split: Split) -> LoadedSplit:
    entry = asset(dataset.asset)
    try:
        file, path = obtain(*(entry.files[name] for name in split.files))
    except WrongBytes as wrong:
        file, path = wrong.file, wrong.path
        # other line ends or a byte order mark do not matter, if the rows are the pinned ones
        if not _right_rows(entry, file, path):
            raise
    return wanted.loaded(read_file(file, path), str(path), "")


def _right_rows(entry: Asset, file: File, path: Path) -> bool:
    try:
        return path.is_file() and check_file(entry, file, path) == BY_DIGEST
    except AssetError:
        return False


def _unpinned(dataset: Dataset, wanted: Wanted) -> LoadedSplit:
    """A split of which only the hub's revision is known: from the mirror, if it has one, else the hub."""
    mirror = mirror_folder()
    place = mirror / dataset.asset if mirror else None
    if place and place.is_dir():
        try:
            return in_folder(wanted, place, dataset.path)
        except UsageError:
            pass  # the mirror has other files of the asset, not this split
    return on_hub(wanted, dataset.asset)


def _verify(rows: list[Row], digest: str, split: Split, wanted: Wanted, source: str) -> str:
    if split.rows not in (None, len(rows)):
        raise _not_pinned(wanted, source, f"{split.rows} rows", len(rows))
    if split.digest is None:
        return BY_NUMBER
    if digest != split.digest:
        raise _not_pinned(wanted, source, f"rows with digest {split.digest}", digest)
    return BY_DIGEST


def _verify_contains(found: LoadedSplit, file: File, wanted: Wanted) -> str:
    """What was checked: every row of the file is among those found, question and answer verbatim."""
    known = {(row.get("question"), str(row.get("answer"))) for row in found.rows}
    expected = read_table(obtain(file)[1])
    there = sum((row["question"], row["answer"]) in known for row in expected)
    if there < len(expected):
        raise _not_pinned(wanted, found.source, f"all {len(expected)} rows of {file}", f"{there} of them")
    return f"all {there} rows of {file} verbatim"


def _not_pinned(wanted: Wanted, source: str, expected: str, number: object) -> AssetError:
    return AssetError(
        f"{wanted}, read from {source}: expected {expected}, found {number}",
        "these are not the published rows: take the file from one of the sources of `resit data show`",
    )
