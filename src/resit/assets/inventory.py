"""What of the catalogue is on this machine, and whether it is what it should be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from resit.assets.catalogue import Asset, Dataset, File, Split
from resit.assets.fetch import obtain, state_of
from resit.assets.pinned import check_file, splits_of
from resit.assets.rows import load
from resit.errors import AssetError


@dataclass(frozen=True, slots=True)
class Part:
    """What one needs of an asset: a split, from any of its files, or a file that belongs to no split."""

    name: str
    """`openai/gsm8k main test`, or the file's name."""
    files: tuple[File, ...]
    split: tuple[str, str, str] | None = None
    """Path, configuration and split of the data set."""
    hub_revision: str | None = None
    generated: bool = False

    @property
    def state(self) -> str:
        """`mirror`, `cache`, `generated`, or `` for what is not here (or cannot be made here)."""
        if self.generated:
            return "generated" if find_spec("reasoning_gym") else ""
        if self.split and self.hub_revision:
            from resit.assets.hub import snapshot_folder

            return "cache" if snapshot_folder(self.split[0], self.hub_revision).is_dir() else ""
        return next(filter(None, (state_of(file)[0] for file in self.files)), "")

    def fetch(self) -> str:
        """Fetch the part if need be, verify it, and say where it is. Raises AssetError."""
        return load(*self.split).source if self.split else str(obtain(*self.files)[1])


def parts(entry: Asset) -> Iterator[Part]:
    """The parts of an asset: its splits, then the files that are no split's."""
    in_splits: set[str] = set()
    for dataset, config, name, split in splits_of(entry):
        in_splits.update(split.files)
        if not split.same_as:
            yield _split_part(entry, dataset, config, name, split)
    for file in entry.files.values():
        if file.name not in in_splits:
            yield Part(file.name, (file,))


def _split_part(entry: Asset, dataset: Dataset, config: str, name: str, split: Split) -> Part:
    files = tuple(entry.files[file] for file in split.files)
    revision = dataset.revision if split.hub else None
    shown = " ".join((dataset.path, config, name))
    return Part(shown, files, (dataset.path, config, name), revision, split.generated)


@dataclass(frozen=True, slots=True)
class Finding:
    """What verifying one file found."""

    file: File
    path: Path | None
    """None: the file is not on this machine."""
    checked: str = ""
    """By what it is known to be right: its sha256, its rows' digest, their number."""
    problem: str = ""

    def as_json(self) -> dict[str, str]:
        """The finding as `resit data verify --json` prints it; an empty path: not on this machine."""
        path = str(self.path) if self.path else ""
        return {"file": str(self.file), "path": path, "checked": self.checked, "problem": self.problem}


def verify(entry: Asset) -> Iterator[Finding]:
    """Read every file of an asset that is on this machine and check it, without any download."""
    for file in entry.files.values():
        _, path = state_of(file)
        if path is None:
            yield Finding(file, None)
            continue
        try:
            yield Finding(file, path, checked=check_file(entry, file, path))
        except AssetError as error:
            yield Finding(file, path, problem=str(error))


def summary(entry: Asset) -> dict[str, Any]:
    """An asset as `resit data list --json` prints it."""
    return {
        "name": entry.name,
        "title": entry.title,
        "licence": entry.licence,
        "licence_stated_in": entry.licence_stated_in,
        "parts": [{"name": part.name, "state": part.state} for part in parts(entry)],
    }


def details(entry: Asset) -> dict[str, Any]:
    """An asset as `resit data show --json` prints it."""
    return {
        **summary(entry),
        "provenance": entry.provenance,
        "note": entry.note,
        "files": [
            {"name": file.name, "sha256": file.sha256, "sources": list(file.sources)}
            for file in entry.files.values()
        ],
        "datasets": [asdict(dataset) for dataset in entry.datasets],
    }
