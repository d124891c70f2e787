"""Splits that no catalogue entry pins: a folder's, a hub repository's, named files'."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from resit.assets.catalogue import File
from resit.assets.digest import dataset_digest
from resit.assets.fetch import obtain
from resit.assets.formats import Row, read_table
from resit.assets.layout import by_split, split_files
from resit.assets.sources import SourceFailure
from resit.errors import AssetError, UsageError

GSM_FRESH = "resit/gsm_fresh"
"""What a task's `dataset_path` calls the problems that `resit.assets.fresh` generates."""
GSM_TEMPLATES = "resit/gsm_templates"
"""The same for GSM8K's questions and their variants (`resit.assets.templates`)."""
SEED = 0
"""Of generated questions, where a task names none: the exam that everybody has."""
VARIANTS = 4
"""Variants of each template, unless a task asks for more."""


@dataclass(frozen=True, slots=True)
class LoadedSplit:
    """A split's rows and what belongs to a run's identity."""

    rows: list[Row]
    """In published order, columns in published order."""
    identity: Mapping[str, Any]
    """`dataset`, `config`, `split`, `rows`, `digest`, and what decides them (`revision`, `seed`, …)."""
    source: str
    """Where the rows were read, for people."""
    checked: str
    """How it is known that these are the published rows."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Generated items that were left out, by reason."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A split as a task asks for it."""

    path: str
    config: str | None = None
    split: str = "test"
    revision: str | None = None
    data_files: Any = None
    data_dir: str | None = None
    folder: Path = field(default_factory=Path)
    """Where relative paths start."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """How the files are read (`field`, `delimiter`, …)."""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.path, self.config, self.split)))

    def loaded(self, rows: list[Row], source: str, checked: str, **identity: Any) -> LoadedSplit:
        """The rows with the identity that every kind of data set has."""
        named = {"dataset": self.path, "config": self.config, "split": self.split, **identity}
        counted = {**named, "rows": len(rows), "digest": dataset_digest(rows)}
        return LoadedSplit(rows, counted, source, checked)

    def names(self, names: Sequence[str], card: Mapping[str, Any]) -> list[str]:
        """Which of a folder's or repository's files are the split. Raises UsageError when none is."""
        config, data_dir = self.config, self.data_dir
        if self.data_files is not None:
            entries = [{"split": split, "path": paths} for split, paths in by_split(self.data_files).items()]
            card = {"configs": [{"data_files": entries, "data_dir": data_dir}]}
            config = data_dir = None
        return split_files(names, config, self.split, card, data_dir=data_dir, what=self.path)


def in_folder(wanted: Wanted, folder: Path, name: str) -> LoadedSplit:
    """A split of a folder laid out like a hub repository; `name` is what the identity calls it."""
    from resit.assets.hub import card_of

    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    chosen = [folder / file for file in wanted.names(names, card_of(folder))]
    return replace(wanted, path=name).loaded(_read(chosen, None, wanted), str(folder), "digest found")


def _read(paths: Sequence[Path], kind: str | None, wanted: Wanted) -> list[Row]:
    return [row for path in paths for row in read_table(path, kind, wanted.options)]


def on_hub(wanted: Wanted, mirrored_as: str) -> LoadedSplit:
    """A split of a hub repository, at the wanted revision or the newest, which the identity then names.

    Raises AssetError when the hub cannot give it; `mirrored_as` is the folder that a mirror would hold.
    """
    from resit.assets import hub

    try:
        repository = hub.repository(wanted.path, wanted.revision)
        try:
            chosen = wanted.names(repository.names, repository.card)
        except UsageError:
            copy = hub.converted(repository)
            if copy is None:
                raise
            repository, chosen = copy, wanted.names(copy.names, copy.card)
        files = [hub.download(wanted.path, repository.commit, name) for name in chosen]
    except SourceFailure as failure:
        at = f"hf:{wanted.path}@{wanted.revision}" if wanted.revision else f"hf:{wanted.path}"
        mirror = f"put the rows at DIR/{mirrored_as}/{wanted.split}.jsonl and set RESIT_MIRROR=DIR"
        remedy = f"{failure.remedy or 'connect to the network'}; or {mirror}"
        raise AssetError(f"data set {wanted} cannot be had; tried {at} ({failure})", remedy) from None
    source = f"hf:{wanted.path}@{repository.commit}"
    return wanted.loaded(_read(files, None, wanted), source, "revision", revision=repository.commit)


def of_format(wanted: Wanted) -> LoadedSplit:
    """The files that `dataset_path: json|csv|text|parquet` names by `data_files` or `data_dir`."""
    if wanted.data_files is None:
        if wanted.data_dir is None:
            raise UsageError(f"dataset_path {wanted.path!r} needs data_files", "name them in dataset_kwargs")
        return in_folder(replace(wanted, data_dir=None), wanted.folder / wanted.data_dir, wanted.path)
    splits = by_split(wanted.data_files)
    if wanted.split not in splits:
        raise UsageError(f"data_files has no split {wanted.split!r}; it has {', '.join(splits)}")
    paths = [path for pattern in splits[wanted.split] for path in _paths(pattern, wanted)]
    return wanted.loaded(_read(paths, wanted.path, wanted), ", ".join(map(str, paths)), "digest found")


def _paths(pattern: str, wanted: Wanted) -> list[Path]:
    if "://" in pattern:
        return [_fetched(pattern)]
    import glob

    full = wanted.folder / (wanted.data_dir or "") / Path(pattern).expanduser()
    found = [full] if full.is_file() else [*map(Path, sorted(glob.glob(str(full), recursive=True)))]
    if not found:
        raise AssetError(
            f"data_files names {pattern!r}, but there is no such file at {full.absolute()}",
            "a relative path starts in the current folder, as in lm-eval",
        )
    return [path for path in found if path.is_file()]


def _fetched(url: str) -> Path:
    """A file named by its address: nothing pins it, so the digest of its rows tells what was read."""
    source = _hub_source(url) if url.startswith("hf://") else url
    return obtain(File("addresses", _cached_as(url), (source,)))[1]


def _cached_as(url: str) -> str:
    """A name for each address, which no two share; its end is kept, for it tells how the file is read."""
    end = re.split("[?#]", url, maxsplit=1)[0].rpartition("/")[2]
    readable = re.sub(r"[^\w.-]", "_", end).strip(".") or "file"  # what no file system refuses
    return f"{hashlib.sha256(url.encode()).hexdigest()[:16]}/{readable}"


def _hub_source(url: str) -> str:
    kind, _, rest = url.removeprefix("hf://").partition("/")
    org, _, rest = rest.partition("/")
    name, _, file = rest.partition("/")
    if kind != "datasets" or not file:
        raise UsageError(f"data_files names {url!r}", "a hub file is hf://datasets/org/name[@revision]/path")
    name, _, revision = name.partition("@")
    return f"hf:{org}/{name}@{revision or 'main'}/{file}"
