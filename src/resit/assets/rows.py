"""The rows of a data set as a task names it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from resit.assets.catalogue import Dataset, Split, dataset_named, file_of
from resit.assets.fetch import obtain
from resit.errors import AssetError

Row = dict[str, Any]
BOM = b"\xef\xbb\xbf"


def _read_jsonl(path: Path) -> list[Row]:
    lines = path.read_bytes().removeprefix(BOM).split(b"\n")
    return [json.loads(line) for line in lines if line.strip()]


_READERS: Mapping[str, Callable[[Path], list[Row]]] = {".jsonl": _read_jsonl}


def _split_of(dataset: Dataset, name: str | None, split: str) -> Split:
    return dataset.configs[name or next(iter(dataset.configs))][split]


def _read_first(dataset: Dataset, split: Split) -> list[Row]:
    failure: AssetError | None = None
    for name in split.files:
        try:
            path = obtain(file_of(dataset.asset, name))
        except AssetError as error:
            failure = failure or error
        else:
            return _READERS[path.suffix](path)
    assert failure is not None
    raise failure


def rows(
    dataset_path: str, dataset_name: str | None = None, split: str = "test", **options: Any
) -> list[Row]:
    """The rows of a split, in published order and column order."""
    dataset = dataset_named(dataset_path)
    if dataset is None:
        raise AssetError(f"data set {dataset_path!r} is not in the catalogue")
    return _read_first(dataset, _split_of(dataset, dataset_name, split))
