"""The catalogue: which external files there are, where from, and how they are recognised."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from resit.errors import UsageError


@dataclass(frozen=True, slots=True)
class File:
    """One file of an asset."""

    asset: str
    name: str
    sources: tuple[str, ...]
    sha256: str | None = None
    """None: the bytes could not be pinned; the rows read from the file are checked instead."""
    columns: Mapping[str, str | int | None] | None = None
    """Published column by the file's own name, its position in a file without a header, or None (absent)."""
    integers: tuple[str, ...] = ()
    """Columns of whole numbers that the file writes as text, with commas between thousands."""

    def __str__(self) -> str:
        return f"{self.asset}/{self.name}"


@dataclass(frozen=True, slots=True)
class Split:
    """One split of a data set, and what its rows must be."""

    files: tuple[str, ...] = ()
    """The split is read from the first of these that can be had; all hold the same rows."""
    rows: int | None = None
    digest: str | None = None
    hub: bool = False
    """The files are found by asking the hub what the repository holds."""
    contains: str | None = None
    """A file of the asset whose rows must all be in the split, where no digest can be known."""
    generated: bool = False
    """The rows are made on this machine."""
    same_as: tuple[str, str, str] | None = None
    """Path, configuration and split of the data set whose rows these are."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set as a task names it."""

    asset: str
    path: str
    aliases: tuple[str, ...] = ()
    revision: str | None = None
    """The commit that is pinned on the hub."""
    configs: Mapping[str, Mapping[str, Split]] = field(default_factory=dict)
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
    unpinned: str = ""
    """Why some of its links follow a branch and not a commit."""


def _tuples(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in spec.items()}


def _dataset(asset: str, spec: Mapping[str, Any]) -> Dataset:
    configs = {
        config: {name: Split(**_tuples(split)) for name, split in splits.items()}
        for config, splits in spec["configs"].items()
    }
    return Dataset(**{**_tuples(spec), "asset": asset, "configs": configs})


def _asset(name: str, spec: Mapping[str, Any]) -> Asset:
    entries = {file: File(asset=name, name=file, **_tuples(entry)) for file, entry in spec["files"].items()}
    datasets = tuple(_dataset(name, dataset) for dataset in spec.get("datasets", ()))
    return Asset(**{**spec, "name": name, "files": entries, "datasets": datasets})


@functools.cache
def catalogue() -> Mapping[str, Asset]:
    """Every asset by name."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = Path(__file__).with_name("catalogue.yaml").read_text(encoding="utf-8")
    return {name: _asset(name, spec) for name, spec in yaml.load(text, Loader=loader).items()}


def meant(name: str, known: Sequence[str]) -> str:
    """` Did you mean …?` with the nearest of the known names, or nothing."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def asset(name: str) -> Asset:
    """The asset of that name. Raises UsageError for an unknown one."""
    known = catalogue()
    if name not in known:
        raise UsageError(
            f"there is no asset {name!r}.{meant(name, [*known])}",
            f"the assets are {', '.join(sorted(known))}",
        )
    return known[name]


def file_of(entry: Asset, name: str | None) -> File:
    """A file of an asset, by name or the only one. Raises UsageError for an unknown one."""
    if name is None and len(entry.files) == 1:
        return next(iter(entry.files.values()))
    if name is None or name not in entry.files:
        wrong = "has several files" if name is None else f"has no file {name!r}"
        raise UsageError(f"asset {entry.name!r} {wrong}", f"name one of {', '.join(entry.files)}")
    return entry.files[name]


@functools.cache
def datasets() -> Mapping[str, Dataset]:
    """Every catalogued data set by what a task's `dataset_path` may call it."""
    return {
        name: dataset
        for entry in catalogue().values()
        for dataset in entry.datasets
        for name in (dataset.path, *dataset.aliases)
    }
