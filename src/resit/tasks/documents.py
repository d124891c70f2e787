"""A task's rows: the documents that are asked and the pool that exemplars are drawn from."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from resit import assets
from resit.errors import UsageError
from resit.records import Document
from resit.tasks.dialect import ExemplarSource, TaskConfig
from resit.tasks.files import Place, parse
from resit.tasks.functions import Function
from resit.tasks.rowset import Row, RowSet

RowReader = Callable[..., list[Row]]
"""`assets.rows`, or what stands in for it: (dataset_path, dataset_name, split, **options) to rows."""

HARMLESS = ("trust_remote_code",)
"""`dataset_kwargs` that change how `datasets` loads, never what."""


@dataclass(frozen=True)
class Pool:
    """Exemplars to choose from, in order."""

    rows: Sequence[Mapping[str, Any]]
    source: Mapping[str, Any]
    """Where they come from, for the run's identity."""
    holds_documents: bool
    """They come from the split that is asked, so that a document must be kept out of its own exemplars."""

    @cached_property
    def sha256(self) -> str:
        """Digest of the rows, in order; worked out once."""
        return rows_sha256(self.rows)


_encode = json.JSONEncoder(ensure_ascii=False, default=str).encode
"""As `json.dumps`, which would make an encoder anew for every row."""


def rows_sha256(rows: Sequence[Mapping[str, Any]]) -> str:
    """Digest of rows: the sha256 of their JSON lines, keys in column order."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(_encode(row).encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


def doc_hash(fields: Mapping[str, Any]) -> str:
    """lm-eval's `doc_hash`: sha256 of the row as JSON, indented by two."""
    text = json.dumps(dict(fields), indent=2, default=str, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def documents(config: TaskConfig, where: object, reader: RowReader = assets.rows) -> list[Document]:
    """The split that is asked, processed, in order. Raises UsageError where there are none."""
    split = config.asked_split
    if split is None:
        raise UsageError(f"{where}: task {config.task!r} names neither a test_split nor a validation_split")
    found: list[Document] = []
    seen: Counter[str] = Counter()
    rows = _processed(split_rows(config, split, where, reader), config.process_docs, where)
    for doc_id, row in enumerate(rows):
        digest = doc_hash(row)
        seen[digest] += 1
        unique = digest if seen[digest] == 1 else f"{digest}#{seen[digest]}"
        found.append(Document(doc_id, unique, row))
    if not found:
        raise UsageError(f"{where}: the split {split!r} of task {config.task!r} holds no documents")
    return found


def split_rows(config: TaskConfig, split: str, where: object, reader: RowReader) -> list[Row]:
    """The rows of one split of the task's data set, as published."""
    if config.custom_dataset is not None:
        return _custom(config.custom_dataset, config, split, where)
    if config.dataset_path is None:
        raise UsageError(f"{where}: task {config.task!r} has no dataset_path")
    options = {k: v for k, v in (config.dataset_kwargs or {}).items() if k not in HARMLESS}
    return reader(config.dataset_path, config.dataset_name, split, **options)


def _custom(function: Function, config: TaskConfig, split: str, where: object) -> list[Row]:
    splits = function(**(config.metadata or {}), **(config.dataset_kwargs or {}))
    if not isinstance(splits, Mapping) or split not in splits:
        raise UsageError(f"{where}: custom_dataset {function.name} gives no split {split!r}")
    return [dict(row) for row in splits[split]]


def _processed(rows: list[Row], function: Function | None, where: object) -> list[Row]:
    if function is None:
        return rows
    result = list(function(RowSet(rows)))
    if not all(isinstance(row, dict) for row in result):
        raise UsageError(f"{where}: process_docs {function.name} must give rows, that is, mappings")
    return result


def exemplar_pool(config: TaskConfig, where: object, reader: RowReader = assets.rows) -> Pool:
    """What exemplars are drawn from, in lm-eval's order of precedence, Resit's own sources first."""
    source = config.resit.exemplars
    if source is not None:
        return Pool(_exemplars(source, reader), source.model_dump(exclude_unset=True), False)
    same = config.shot_split == config.test_split
    samples = config.fewshot_config.samples
    if config.shot_split is None and samples is not None:
        return _samples_pool(samples, same, where)
    split = config.shot_split or config.training_split or config.validation_split or config.test_split
    if split is None:
        raise UsageError(f"{where}: task {config.task!r} names no split or samples to take exemplars from")
    rows = _processed(split_rows(config, split, where, reader), config.for_shots("process_docs"), where)
    return Pool(
        rows, {"dataset_path": config.dataset_path, "dataset_name": config.dataset_name, "split": split}, same
    )


def _samples_pool(samples: Function | list[Row], same: bool, where: object) -> Pool:
    if not isinstance(samples, Function):
        return Pool(samples, {"samples": "in the task file"}, same)
    rows = samples()
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError(
            f"{where}: samples {samples.name} must give a list of rows, found {type(rows).__name__}"
        )
    return Pool(rows, {"samples": samples.name, "sha256": samples.sha256}, same)


def _exemplars(source: ExemplarSource, reader: RowReader) -> list[Row]:
    if source.asset is None:
        return reader(source.dataset_path, source.dataset_name, source.split)
    path = assets.fetch(source.asset, source.file)
    value: Any = parse(Place(str(path)))
    for key in filter(None, source.at.split(".")):
        value = value.get(key) if isinstance(value, dict) else None
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise UsageError(
            f"{path}: expected a list of exemplars at {source.at!r}, found {type(value).__name__}"
        )
    return value
