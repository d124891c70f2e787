"""Training text from files of any size, one text at a time."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TypeAlias

from resit.errors import AssetError, UsageError

Text: TypeAlias = tuple[str, bytes]
"""Where a text stands, and its UTF-8 bytes."""

_PIECE = 1 << 22
"""Bytes of a plain text file that are read at once."""
_SHARED = 1 << 14
"""Bytes that two pieces share: more than an n-gram is long."""
_ROWS = 1024
"""Rows of a Parquet file that are read at once."""


def texts(path: Path, fields: Sequence[str] = ()) -> Iterator[Text]:
    """The texts of a file or of every file below a folder, lazily.

    JSON Lines and Parquet give one text a record, of the named fields or of all their strings, however
    nested; anything else is one plain text. `.gz` is read through. Raises AssetError for a file that cannot
    be read, UsageError for a field that no record has.
    """
    if not path.exists():
        raise AssetError(f"{path}: there is no such file or folder")
    for file in _files(path):
        try:
            yield from _reader(file)(file, fields)
        except (OSError, EOFError) as error:
            raise AssetError(f"cannot read {file}: {error}") from error


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
    if not found:
        raise AssetError(f"{path}: the folder holds no files")
    return found


def _reader(path: Path) -> Callable[[Path, Sequence[str]], Iterator[Text]]:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    return _READERS.get(suffixes[-1] if suffixes else "", _plain)


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def _plain(path: Path, fields: Sequence[str]) -> Iterator[Text]:
    """A text file in pieces, each of which begins with the end of the one before."""
    with _open(path) as file:
        kept, offset = b"", 0
        while piece := file.read(_PIECE):
            whole = kept + piece
            yield f"{path}, byte {offset}", whole
            kept = whole[-_SHARED:]
            offset += len(whole) - len(kept)


def _json_lines(path: Path, fields: Sequence[str]) -> Iterator[Text]:
    seen = not fields
    with _open(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise AssetError(f"{path}, line {number}: no JSON: {error}") from None
            strings = _strings(record, fields)
            seen = seen or bool(strings)
            yield f"{path}, line {number}", _joined(strings)
    _check_seen(path, fields, seen)


def _parquet(path: Path, fields: Sequence[str]) -> Iterator[Text]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise UsageError(f"{path}: Parquet needs pyarrow", "pip install 'resit[hub]'") from None
    try:
        with parquet.ParquetFile(path) as file:
            names = [name for name in file.schema_arrow.names if not fields or name in fields]
            _check_seen(path, fields, bool(names))
            number = 0
            for batch in file.iter_batches(_ROWS, columns=names):
                for record in batch.to_pylist():
                    number += 1
                    yield f"{path}, row {number}", _joined(_strings(record, ()))
    except pyarrow.ArrowException as error:
        raise AssetError(f"cannot read {path}: {error}") from None


def _check_seen(path: Path, fields: Sequence[str], seen: bool) -> None:
    if not seen:
        raise UsageError(f"{path}: no record has a field {' or '.join(map(repr, fields))} with text in it")


_READERS: Mapping[str, Callable[[Path, Sequence[str]], Iterator[Text]]] = {
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".parquet": _parquet,
}


def _strings(value: Any, fields: Sequence[str]) -> list[str]:
    """Every string in a value; at the top of an object only those of the named fields."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [
            text
            for name, item in value.items()
            if not fields or name in fields
            for text in _strings(item, ())
        ]
    if isinstance(value, list):
        return [text for item in value for text in _strings(item, ())]
    return []


def _joined(strings: Sequence[str]) -> bytes:
    return " ".join(strings).encode("utf-8", "surrogatepass")
