"""The rows of a data set as a task names it: catalogued, on the hub, in local files, or generated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from resit.assets.catalogue import Dataset, File, Split, asset, datasets, meant
from resit.assets.digest import dataset_digest
from resit.assets.fetch import WrongBytes, mirror_folder, obtain
from resit.assets.formats import Row, read_table
from resit.assets.splits import GSM_FRESH, LoadedSplit, Wanted, in_folder, of_format, on_hub
from resit.errors import AssetError, UsageError

FORMATS = ("json", "csv", "text", "parquet", "arrow")
"""`dataset_path` values that name a format; `data_files` then names the files."""
READER_OPTIONS = frozenset({"field", "delimiter", "sep", "column_names", "names", "encoding", "sample_by"})
HARMLESS = frozenset(
    {"trust_remote_code", "streaming", "cache_dir", "download_mode", "num_proc", "verification_mode"}
    | {"keep_in_memory", "save_infos", "features", "token", "keep_linebreaks"}
)
"""Options of the `datasets` library that say how rows are loaded, not which; they have no meaning here."""


def load(
    dataset_path: str,
    dataset_name: str | None = None,
    split: str = "test",
    *,
    revision: str | None = None,
    data_files: Any = None,
    data_dir: str | None = None,
    folder: Path | None = None,
    **options: Any,
) -> LoadedSplit:
    """A split of a data set as a task names it, verified; relative paths start at `folder` (default: here).

    Raises AssetError when the rows cannot be had or are not the pinned ones, UsageError for a name, split,
    configuration or option that does not exist.
    """
    reading = {key: value for key, value in options.items() if key not in HARMLESS}
    if dataset_path == GSM_FRESH:
        return _generated(split, reading)
    unknown = set(reading) - READER_OPTIONS
    if unknown:
        raise UsageError(
            f"{dataset_path}: unknown option {', '.join(sorted(unknown))} in dataset_kwargs",
            f"known are data_files, data_dir, revision, {', '.join(sorted(READER_OPTIONS))}",
        )
    start = folder or Path()
    return _found(Wanted(dataset_path, dataset_name, split, revision, data_files, data_dir, start, reading))


def rows(
    dataset_path: str, dataset_name: str | None = None, split: str = "test", **options: Any
) -> list[Row]:
    """The verified rows of a split, in published order and column order. See `load`."""
    return load(dataset_path, dataset_name, split, **options).rows


def dataset_identity(
    dataset_path: str, dataset_name: str | None = None, split: str = "test", **options: Any
) -> Mapping[str, Any]:
    """What a split puts into a run's identity: names, number of rows and their digest. See `load`."""
    return load(dataset_path, dataset_name, split, **options).identity


def _generated(split: str, options: Mapping[str, Any]) -> LoadedSplit:
    unknown = set(options) - {"seed", "size", "train_size"}
    if unknown:
        raise UsageError(
            f"{GSM_FRESH}: unknown option {', '.join(sorted(unknown))}",
            "known are seed, size, train_size",
        )
    from resit.assets import fresh

    made = fresh.generate(split, **options)
    found = Wanted(GSM_FRESH, None, split).loaded(made.rows, "generated", "every gold answer", **made.made_by)
    return replace(found, dropped=made.dropped)


def _found(wanted: Wanted) -> LoadedSplit:
    if wanted.path in FORMATS:
        return of_format(wanted)
    dataset = datasets().get(wanted.path)
    if dataset:
        return _of_dataset(wanted, dataset)
    local = wanted.folder / Path(wanted.path).expanduser()
    if local.is_dir():
        return in_folder(wanted, local, local.resolve().name)
    mirror = mirror_folder()
    if mirror and (mirror / wanted.path).is_dir():
        return in_folder(wanted, mirror / wanted.path, wanted.path)
    if "/" not in wanted.path:
        hint = "give org/name on the hub, a local folder, or json, csv, text or parquet with data_files"
        near = meant(wanted.path, [*datasets(), GSM_FRESH])
        raise UsageError(f"there is no data set {wanted.path!r}.{near}", hint)
    return on_hub(wanted, wanted.path)


def _of_dataset(wanted: Wanted, dataset: Dataset) -> LoadedSplit:
    """A catalogued split; what the catalogue does not have of the data set is asked of the hub."""
    config = wanted.config or next(iter(dataset.configs))
    split = dataset.configs.get(config, {}).get(wanted.split)
    as_published = wanted.data_files is None and wanted.data_dir is None
    if split and as_published and wanted.revision in (None, dataset.revision):
        return _catalogued(dataset, Wanted(dataset.path, config, wanted.split, dataset.revision), split)
    revision = wanted.revision or dataset.revision
    return on_hub(replace(wanted, path=dataset.path, revision=revision), dataset.asset)


def _catalogued(dataset: Dataset, wanted: Wanted, split: Split) -> LoadedSplit:
    if split.same_as:
        return load(*split.same_as)
    found = _unpinned(dataset, wanted) if split.hub else _from_files(dataset, wanted, split)
    _verify(found, split, wanted)
    checked = "digest" if split.digest else f"number of rows ({split.rows})"
    if split.contains:
        checked += ", and " + _verify_contains(found, asset(dataset.asset).files[split.contains], wanted)
    identity = {key: value for key, value in found.identity.items() if key != "revision"}
    return replace(found, checked=checked, identity=identity)


def _from_files(dataset: Dataset, wanted: Wanted, split: Split) -> LoadedSplit:
    files = [asset(dataset.asset).files[name] for name in split.files]
    try:
        file, path = obtain(*files)
    except WrongBytes as wrong:
        file, path = wrong.file, wrong.path
        # other line ends or a byte order mark do not matter, if the rows are the pinned ones
        if not split.digest or not path.is_file() or _digest_or_none(file, path) != split.digest:
            raise
    return wanted.loaded(published(file, read_table(path)), str(path), "")


def _digest_or_none(file: File, path: Path) -> str | None:
    try:
        return dataset_digest(published(file, read_table(path)))
    except AssetError:
        return None


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


def published(file: File, table: Sequence[Mapping[Any, Any]]) -> list[Row]:
    """A file's rows with the published columns, in order."""
    if file.columns is None:
        return [*map(dict, table)]
    if table and any(isinstance(own, int) for own in file.columns.values()):
        cells = [[*table[0]], *([*row.values()] for row in table)]  # there is no header: it was the first row
        table = [dict(enumerate(row)) for row in cells]
    absent = [own for own in file.columns.values() if own is not None and table and own not in table[0]]
    if absent:
        raise AssetError(f"{file} has no column {absent[0]!r}; it has {', '.join(map(str, table[0]))}")
    columns = [(name, own, name in file.integers) for name, own in file.columns.items()]
    return [{name: _cell(row, own, integer) for name, own, integer in columns} for row in table]


def _cell(row: Mapping[Any, Any], own: str | int | None, integer: bool) -> Any:
    value = None if own is None else row[own]
    return int(value.replace(",", "")) if integer and isinstance(value, str) else value


def _verify(found: LoadedSplit, split: Split, wanted: Wanted) -> None:
    if split.rows not in (None, len(found.rows)):
        raise _not_pinned(found, wanted, f"{split.rows} rows", len(found.rows))
    if split.digest not in (None, found.identity["digest"]):
        raise _not_pinned(found, wanted, f"rows with digest {split.digest}", found.identity["digest"])


def _verify_contains(found: LoadedSplit, file: File, wanted: Wanted) -> str:
    """What was checked: every row of the file is among those found, question and answer verbatim."""
    known = {(row.get("question"), str(row.get("answer"))) for row in found.rows}
    expected = read_table(obtain(file)[1])
    there = sum((row["question"], row["answer"]) in known for row in expected)
    if there < len(expected):
        raise _not_pinned(found, wanted, f"all {len(expected)} rows of {file}", f"{there} of them")
    return f"all {there} rows of {file} verbatim"


def _not_pinned(found: LoadedSplit, wanted: Wanted, expected: str, number: object) -> AssetError:
    return AssetError(
        f"{wanted}, read from {found.source}: expected {expected}, found {number}",
        "these are not the published rows: take the file from one of the sources of `resit data show`",
    )
