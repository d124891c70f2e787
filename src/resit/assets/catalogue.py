"""The catalogue: which external files there are, where from, and how they are recognised."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.resources import files
from typing import Any

from resit.errors import AssetError, UsageError


@dataclass(frozen=True, slots=True)
class File:
    """One file of an asset."""

    asset: str
    name: str
    sources: tuple[str, ...]
    sha256: str | None = None
    """None: the bytes could not be pinned; the rows read from the file are checked instead."""


@dataclass(frozen=True, slots=True)
class Split:
    """One split of a data set, and what its rows must be."""

    files: tuple[str, ...]
    """The split is read from the first of these that can be had; all hold the same rows."""
    rows: int | None = None
    digest: str | None = None
    columns: tuple[str, ...] | None = None
    """The published columns in order, where a file has other names, more, or none."""
    rename: Mapping[str, str] = field(default_factory=dict)
    """Published column by the file's own (or 0-based position, in a file without header)."""
    contains: str | None = None
    """`asset/file` whose rows must all be in the split, where no digest can be known."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set as a task names it."""

    asset: str
    path: str
    aliases: tuple[str, ...]
    configs: Mapping[str, Mapping[str, Split]]
    """Splits by configuration; the first configuration is the one meant when none is named."""


@dataclass(frozen=True, slots=True)
class Asset:
    """One entry of the catalogue."""

    name: str
    title: str
    licence: str
    licence_stated_in: str
    provenance: str
    files: Mapping[str, File]
    datasets: tuple[Dataset, ...] = ()
    archive: str | None = None
    """The file whose members are files of the asset too."""
    note: str = ""


def _split(spec: Mapping[str, Any]) -> Split:
    tuples = {key: tuple(spec[key]) for key in ("files", "columns") if key in spec}
    return Split(**{**spec, **tuples})


def _dataset(asset: str, spec: Mapping[str, Any]) -> Dataset:
    configs = {
        config: {split: _split(splits[split]) for split in splits}
        for config, splits in spec["configs"].items()
    }
    return Dataset(asset, spec["path"], tuple(spec.get("aliases", ())), configs)


def _asset(name: str, spec: Mapping[str, Any]) -> Asset:
    entries = {
        file: File(name, file, tuple(entry["sources"]), entry.get("sha256"))
        for file, entry in spec["files"].items()
    }
    datasets = tuple(_dataset(name, dataset) for dataset in spec.get("datasets", ()))
    return Asset(**{"name": name, **spec, "files": entries, "datasets": datasets})


@functools.cache
def catalogue() -> Mapping[str, Asset]:
    """Every asset by name."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = files(__package__).joinpath("catalogue.yaml").read_text(encoding="utf-8")
    return {name: _asset(name, spec) for name, spec in yaml.load(text, Loader=loader).items()}


def asset(name: str) -> Asset:
    """The asset of that name. Raises UsageError for an unknown one."""
    known = catalogue()
    if name in known:
        return known[name]
    near = get_close_matches(name, known, n=1)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"there is no asset {name!r}.{meant}", f"the assets are {', '.join(sorted(known))}")


def file_of(asset_name: str, file: str | None = None) -> File:
    """A file of an asset; without a name, the only one it has."""
    entry = asset(asset_name)
    if file is None:
        if len(entry.files) == 1:
            return next(iter(entry.files.values()))
        raise UsageError(f"asset {asset_name!r} has several files", f"name one of {', '.join(entry.files)}")
    if file in entry.files:
        return entry.files[file]
    raise AssetError(f"asset {asset_name!r} has no file {file!r}", f"it has {', '.join(entry.files)}")


@functools.cache
def _datasets() -> Mapping[str, Dataset]:
    found = {}
    for entry in catalogue().values():
        for dataset in entry.datasets:
            found.update(dict.fromkeys((dataset.path, *dataset.aliases), dataset))
    return found


def dataset_named(path: str) -> Dataset | None:
    """The catalogued data set that a task's `dataset_path` names, or None."""
    return _datasets().get(path)
