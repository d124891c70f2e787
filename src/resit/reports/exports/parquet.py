"""One row a sample, as Parquet; needs pyarrow (extra `report`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from resit.errors import UsageError
from resit.jsonl import cannot_write
from resit.reports.exports.rows import as_text, sample_rows
from resit.reports.graded import Graded

BATCH = 4096
"""Rows held in memory and written together."""
_COLUMNS = {
    "task": "string",
    "doc_id": "int64",
    "doc_hash": "string",
    "repeat": "int64",
    "doc": "string",
    "prompt": "string",
    "messages": "string",
    "target": "string",
    "response": "string",
    "finish_reason": "string",
    "stop": "string",
    "prompt_tokens": "int64",
    "cached_tokens": "int64",
    "completion_tokens": "int64",
    "seconds": "double",
    "seed": "int64",
    "error": "string",
    "insertions": "string",
    "uncalculated": "int64",
}
_AS_TEXT = ("doc", "messages", "insertions")
"""Columns whose values have no common shape: JSON text."""
_VERDICT = {"extracted": "string", "correct": "double", "reason": "string"}


def write_parquet(path: Path, graded: Iterable[Graded], rules: Sequence[str]) -> Path:
    """The samples of one task; each rule has columns `<rule>.extracted`, `.correct` and `.reason`.

    Raises UsageError without pyarrow, ResitError when the disk refuses.
    """
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise UsageError("Parquet needs pyarrow", "pip install 'resit[report]'") from None
    columns = {**_COLUMNS, **{f"{rule}.{name}": kind for rule in rules for name, kind in _VERDICT.items()}}
    kinds = {"string": arrow.string(), "int64": arrow.int64(), "double": arrow.float64()}
    schema = arrow.schema([(name, kinds[kind]) for name, kind in columns.items()])
    try:
        with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            for batch in _batches(_flat(row) for row in sample_rows(graded)):
                writer.write_table(arrow.Table.from_pylist(batch, schema))
    except OSError as error:
        raise cannot_write(path, error) from error
    return path


def _batches(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    rest = iter(rows)
    while batch := list(islice(rest, BATCH)):
        yield batch


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {name: as_text(row[name]) if name in _AS_TEXT else row[name] for name in row}
    if not isinstance(row["target"], str):
        flat["target"] = as_text(row["target"])
    for rule, verdict in flat.pop("verdicts").items():
        flat.update({f"{rule}.{name}": verdict.get(name) for name in _VERDICT})
    return {name: _storable(value) for name, value in flat.items()}


def _storable(value: Any) -> Any:
    """Text without the lone surrogates that UTF-8 cannot hold; they become their escapes."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode()
    return value
