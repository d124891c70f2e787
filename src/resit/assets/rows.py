"""The rows of a data set as a task names it: catalogued, on the hub, in local files, or generated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from resit.assets.catalogue import Dataset, datasets, meant
from resit.assets.fetch import mirror_folder
from resit.assets.formats import Row
from resit.assets.pinned import load_pinned
from resit.assets.splits import GSM_FRESH, GSM_TEMPLATES, LoadedSplit, Wanted, in_folder, of_format, on_hub
from resit.errors import UsageError

GENERATED: Mapping[str, tuple[str, ...]] = {
    GSM_FRESH: ("seed", "size", "train_size"),
    GSM_TEMPLATES: ("seed", "variants"),
}
"""Data sets that are made on this machine, and the options of each."""
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
    name = dataset_path if "/" in dataset_path else f"resit/{dataset_path}"
    if name in GENERATED:
        return _generated(name, dataset_name, split, reading)
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


def _generated(name: str, config: str | None, split: str, options: Mapping[str, Any]) -> LoadedSplit:
    if config not in (None, "default"):
        raise UsageError(f"{name} has no configuration {config!r}", "leave out dataset_name")
    known = GENERATED[name]
    unknown = set(options) - set(known)
    if unknown:
        raise UsageError(
            f"{name}: unknown option {', '.join(sorted(unknown))}", f"known are {', '.join(known)}"
        )
    if name == GSM_FRESH:
        from resit.assets import fresh

        made = fresh.generate(split, **options)
    else:
        from resit.assets import templates

        made = templates.generate(split, lambda: rows("openai/gsm8k", "main", "test"), **options)
    found = Wanted(name, None, split).loaded(made.rows, "generated", "every gold answer", **made.made_by)
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
        near = meant(wanted.path, [*datasets()])
        raise UsageError(f"there is no data set {wanted.path!r}.{near}", hint)
    return on_hub(wanted, wanted.path)


def _of_dataset(wanted: Wanted, dataset: Dataset) -> LoadedSplit:
    """A catalogued split; what the catalogue does not have of the data set is asked of the hub."""
    config = wanted.config or next(iter(dataset.configs))
    split = dataset.configs.get(config, {}).get(wanted.split)
    as_published = wanted.data_files is None and wanted.data_dir is None
    if split and as_published and wanted.revision in (None, dataset.revision):
        return load_pinned(dataset, config, wanted.split)
    revision = wanted.revision or dataset.revision
    return on_hub(replace(wanted, path=dataset.path, revision=revision), dataset.asset)
