"""Tables from files: JSON Lines, JSON, CSV, TSV, text, parquet and Arrow, plain or gzipped."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from pydantic_core import from_json

from resit.errors import AssetError, UsageError

Row = dict[str, Any]
Options = Mapping[str, Any]
LARGEST_CELL = 1 << 27
"""Characters; the csv module's own limit of 131,072 is less than some worked solutions."""


def suffix_of(name: str) -> str:
    """The suffix that says what a file is, without `.gz`; empty when it has none."""
    return PurePosixPath(name.lower().removesuffix(".gz")).suffix


def _bytes(path: Path) -> bytes:
    import gzip
    import zlib

    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix.lower() == ".gz" else data
    except (OSError, EOFError, zlib.error) as error:
        raise AssetError(f"cannot read {path}: {error}") from None


def _text(path: Path, options: Options) -> str:
    encoding = options.get("encoding") or "utf-8"
    try:
        return _bytes(path).decode(encoding).removeprefix("\ufeff")
    except (UnicodeDecodeError, LookupError) as error:
        raise AssetError(f"{path}: expected text in {encoding}: {error}") from None


def _checked(row: Any, where: str) -> Row:
    if not isinstance(row, dict):
        raise AssetError(f"{where}: expected an object with the row's columns, found {type(row).__name__}")
    return row


def _value(line: str, where: str) -> Any:
    try:
        return from_json(line)
    except ValueError:  # a lone surrogate's escape, which only the standard library reads; or no JSON
        try:
            return json.loads(line)
        except ValueError as error:
            raise AssetError(f"{where}: expected JSON: {error}") from None


def _jsonl(path: Path, options: Options) -> list[Row]:
    rows = []
    for number, line in enumerate(_text(path, options).split("\n"), 1):
        if line.strip():
            where = f"{path}, line {number}"
            rows.append(_checked(_value(line, where), where))
    return rows


def _json(path: Path, options: Options) -> list[Row]:
    try:
        value = json.loads(_text(path, options))
    except ValueError as error:
        if options.get("field"):
            raise AssetError(f"{path}: expected JSON: {error}") from None
        return _jsonl(path, options)
    for key in filter(None, str(options.get("field") or "").split(".")):
        value = value.get(key) if isinstance(value, dict) else None
    return _table(value, path)


def _table(value: Any, path: Path) -> list[Row]:
    """A list of rows, a table of columns, an object that holds a list of rows, or one row."""
    if isinstance(value, list):
        return [_checked(row, f"{path}, row {number}") for number, row in enumerate(value)]
    row = _checked(value, str(path))
    columns = [column for column in row.values() if isinstance(column, list)]
    if len(columns) == 1 and all(isinstance(item, dict) for item in columns[0]):
        return _table(columns[0], path)
    if columns and len(columns) == len(row) and len({len(column) for column in columns}) == 1:
        return [dict(zip(row, cells, strict=True)) for cells in zip(*columns, strict=True)]
    return [row]


def _delimited(path: Path, options: Options, delimiter: str, quoted: bool = True) -> list[Row]:
    """Every cell as the text that is written; an answer column must not turn into numbers."""
    import csv

    csv.field_size_limit(LARGEST_CELL)
    delimiter = options.get("delimiter") or options.get("sep") or delimiter
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    names = options.get("column_names") or options.get("names")
    reader = csv.reader(io.StringIO(_text(path, options), newline=""), delimiter=delimiter, quoting=quoting)
    rows: list[Row] = []
    try:
        for cells in filter(None, reader):
            if names is None:
                names = cells
                continue
            if len(cells) != len(names):
                where = f"{path}, line {reader.line_num}"
                raise AssetError(f"{where}: expected {len(names)} cells, found {len(cells)}")
            rows.append(dict(zip(names, cells, strict=True)))
    except csv.Error as error:
        raise AssetError(f"{path}, line {reader.line_num}: {error}") from None
    return rows


def _csv(path: Path, options: Options) -> list[Row]:
    return _delimited(path, options, ",")


def _tsv(path: Path, options: Options) -> list[Row]:
    return _delimited(path, options, "\t", quoted=False)


def _lines(path: Path, options: Options) -> list[Row]:
    text = _text(path, options)
    if options.get("sample_by") == "document":
        return [{"text": text}]
    if options.get("sample_by") == "paragraph":
        return [{"text": part} for part in text.split("\n\n") if part.strip()]
    lines = text.removesuffix("\n").split("\n") if text else []
    return [{"text": line.removesuffix("\r")} for line in lines]


def _arrow(path: Path, options: Options) -> list[Row]:
    try:
        import pyarrow
        from pyarrow import ipc, parquet
    except ImportError:
        raise AssetError(
            f"{path}: pyarrow, which reads this, is not installed", "pip install 'resit[hub]'"
        ) from None
    try:
        if suffix_of(path.name) == ".parquet":
            table = parquet.read_table(path, memory_map=False)
        else:
            with pyarrow.OSFile(str(path)) as source:
                table = ipc.open_stream(source).read_all()
    except (OSError, pyarrow.ArrowException) as error:
        raise AssetError(f"cannot read {path}: {error}") from None
    rows: list[Row] = table.to_pylist()
    return rows


READERS: Mapping[str, Callable[[Path, Options], list[Row]]] = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".json": _json,
    ".csv": _csv,
    ".tsv": _tsv,
    ".txt": _lines,
    ".text": _lines,
    ".parquet": _arrow,
    ".arrow": _arrow,
}


def read_table(path: Path, kind: str | None = None, options: Options | None = None) -> list[Row]:
    """The rows of a file, in order, each with the file's columns in order.

    `kind` (`json`, `csv`, `text`, `parquet`) overrides the suffix, unless that is a more exact name of the
    same kind (`.tsv` of `csv`, `.jsonl` of `json`). Raises AssetError for a file that is not such a table.
    """
    suffix = suffix_of(path.name)
    family = {"json": (".jsonl", ".ndjson"), "csv": (".tsv",), "text": (".txt",)}.get(kind or "", ())
    if kind is not None and suffix not in family:
        suffix = f".{kind}"
    if suffix not in READERS:
        raise UsageError(f"{path}: expected a file ending in one of {', '.join(READERS)}, or these with .gz")
    return READERS[suffix](path, options or {})
