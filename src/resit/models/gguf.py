"""Reading a GGUF file's header: what the model is, and whether the file is whole."""

from __future__ import annotations

import hashlib
import mmap
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resit import jsonl
from resit.assets import cache_folder
from resit.errors import AssetError, ResitError

_SCALARS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"
}  # fmt: skip
_STRING, _ARRAY = 8, 9
_VERSIONS = (2, 3)
_DEFAULT_ALIGNMENT = 32
_MAX_ENTRIES = 1 << 20
"""More keys or tensors than any model has: such a count means a damaged header."""

_HINT = "download the model again, or name another file"


@dataclass(frozen=True, slots=True)
class Header:
    """A GGUF file's metadata; arrays are left out, but for their length."""

    metadata: Mapping[str, Any]

    @property
    def context_length(self) -> int | None:
        """Tokens of context that the model was trained with."""
        length = self.metadata.get(f"{self.metadata.get('general.architecture')}.context_length")
        return length if isinstance(length, int) else None


class _Reader:
    """A cursor over the file's bytes; struct.error where they end."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.place = 0

    def scalar(self, layout: str) -> Any:
        (value,) = struct.unpack_from(layout, self.data, self.place)
        self.place += struct.calcsize(layout)
        return value

    def skip(self, size: int) -> int:
        """Move on; the place before."""
        start, self.place = self.place, self.place + size
        if self.place > len(self.data):
            raise struct.error("a field reaches beyond the end of the file")
        return start

    def string(self) -> str:
        size = self.scalar("<Q")
        start = self.skip(size)
        return self.data[start : start + size].decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            return self._array_length()
        return self.scalar(_SCALARS[kind])

    def _array_length(self) -> int:
        kind, count = self.scalar("<I"), int(self.scalar("<Q"))
        if kind in _SCALARS:
            self.skip(count * struct.calcsize(_SCALARS[kind]))
        elif kind == _STRING:
            for _ in range(count):
                self.skip(self.scalar("<Q"))
        else:
            raise ValueError(f"an array of type {kind}")
        return count


def _tensor_offsets(reader: _Reader, count: int) -> list[int]:
    offsets = []
    for _ in range(count):
        reader.string()
        reader.skip(8 * reader.scalar("<I") + 4)
        offsets.append(reader.scalar("<Q"))
    return offsets


def _parsed(data: mmap.mmap) -> Header:
    reader = _Reader(data)
    reader.skip(4)
    version = reader.scalar("<I")
    if version not in _VERSIONS:
        raise ValueError(f"GGUF version {version}, expected one of {_VERSIONS}")
    tensors, keys = reader.scalar("<Q"), reader.scalar("<Q")
    if max(tensors, keys) > _MAX_ENTRIES:
        raise ValueError(f"the header claims {tensors} tensors and {keys} keys")
    metadata = {reader.string(): reader.value(reader.scalar("<I")) for _ in range(keys)}
    offsets = _tensor_offsets(reader, tensors)
    alignment = metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
    start = -(-reader.place // alignment) * alignment
    if offsets and start + max(offsets) >= len(data):
        raise ValueError(f"truncated: {len(data)} bytes, its tensors begin as far as {start + max(offsets)}")
    return Header(metadata)


def read_header(path: Path) -> Header:
    """The header of a GGUF file. Raises AssetError for a missing, foreign, truncated or damaged file."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise AssetError(f"{path}: cannot be read ({error.strerror})", "name an existing GGUF file") from None
    if not path.is_file():
        raise AssetError(f"{path}: expected a GGUF file, found a folder", "name the .gguf file inside it")
    if size == 0:
        raise AssetError(f"{path}: expected a GGUF model, found an empty file", _HINT)
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:4] != b"GGUF":
            raise AssetError(
                f"{path}: expected a GGUF model, found a file that begins with {data[:4]!r}", _HINT
            )
        try:
            return _parsed(data)
        except (ValueError, KeyError, struct.error) as error:
            raise AssetError(f"{path}: the GGUF header is damaged or truncated ({error})", _HINT) from None


def file_sha256(path: Path) -> str:
    """The hexadecimal sha256 of a file, remembered in the cache folder by path, size and time of change."""
    stat = path.stat()
    key = f"{path.resolve()}\0{stat.st_size}\0{stat.st_mtime_ns}"
    note = cache_folder() / "digests" / hashlib.sha256(key.encode()).hexdigest()
    with suppress(OSError):
        return note.read_text(encoding="ascii")
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    with suppress(OSError, ResitError):  # a cache that cannot be written only costs time
        note.parent.mkdir(parents=True, exist_ok=True)
        jsonl.write_atomic(note, digest.encode("ascii"))
    return digest
