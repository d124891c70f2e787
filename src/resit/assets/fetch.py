"""Verified local copies: mirror, cache, then each source in order."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

from resit.assets.catalogue import File, asset, file_of
from resit.assets.sources import SourceFailure, opened, opened_member
from resit.errors import AssetError

CHUNK_BYTES = 1 << 20


def cache_folder() -> Path:
    """Where fetched files are kept: `RESIT_CACHE`, else the platform's cache folder."""
    chosen = os.environ.get("RESIT_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("resit", appauthor=False))


def mirror_folder() -> Path | None:
    """The folder that is looked in first, laid out as `<asset>/<file>`: `RESIT_MIRROR`, if set."""
    chosen = os.environ.get("RESIT_MIRROR")
    return Path(chosen).expanduser() if chosen else None


@functools.lru_cache(maxsize=None)
def _sha256_of(path: Path, size: int, modified_ns: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sha256_of(path: Path) -> str:
    """The hexadecimal sha256 of a file, computed once a process unless the file changes."""
    stat = path.stat()
    return _sha256_of(path.resolve(), stat.st_size, stat.st_mtime_ns)


def _wrong(file: File, found: str, where: str) -> AssetError:
    return AssetError(
        f"{file.asset}/{file.name} from {where}: expected sha256 {file.sha256}, found {found}",
        "the file is not the pinned one: remove or replace it, or take it from another source",
    )


def _from_mirror(file: File) -> Path | None:
    mirror = mirror_folder()
    path = mirror / file.asset / file.name if mirror else None
    if path is None or not path.is_file():
        return None
    if file.sha256 and sha256_of(path) != file.sha256:
        raise _wrong(file, sha256_of(path), str(path))
    return path


def _progress(stream: BinaryIO, length: int | None, title: str) -> AbstractContextManager[BinaryIO]:
    from rich.console import Console
    from rich.progress import wrap_file

    return wrap_file(
        stream, total=length or 0, description=title, console=Console(stderr=True), transient=True,
        disable=not sys.stderr.isatty(),
    )  # fmt: skip


def _store(stream: BinaryIO, length: int | None, target: Path, file: File, source: str) -> None:
    """Write a stream to its place in the cache, whole and verified or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    part, size = Path(name), 0
    try:
        with os.fdopen(handle, "wb") as out, _progress(stream, length, file.name) as tracked:
            while chunk := tracked.read(CHUNK_BYTES):
                digest.update(chunk)
                size += out.write(chunk)
        if length is not None and size != length:
            raise SourceFailure(f"the connection ended after {size} of {length} bytes")
        if file.sha256 and digest.hexdigest() != file.sha256:
            raise _wrong(file, digest.hexdigest(), source)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _download(file: File, target: Path, reasons: list[tuple[str, str]]) -> Path:
    for source in file.sources:
        try:
            with opened(source) as (stream, length):
                _store(stream, length, target, file, source)
        except (SourceFailure, OSError) as failure:
            reasons.append((source, str(failure)))
        else:
            return target
    raise AssetError(_paragraph(file, reasons), _remedy(file))


def _paragraph(file: File, reasons: list[tuple[str, str]]) -> str:
    tried = "; ".join(f"{source}: {reason}" for source, reason in reasons)
    return f"{file.asset}/{file.name} cannot be had. Tried {tried}"


def _remedy(file: File) -> str:
    place = f"put the file at DIR/{file.asset}/{file.name} and set RESIT_MIRROR=DIR"
    return f"connect to the network, or {place}"


def obtain(file: File) -> Path:
    """The verified local copy of a file: from the mirror, the cache, or the first source that gives it."""
    found = _from_mirror(file)
    if found:
        return found
    target = cache_folder() / file.asset / file.name
    reasons = []
    if target.is_file():
        if file.sha256 in (None, sha256_of(target)):
            return target
        reasons.append((str(target), f"expected sha256 {file.sha256}, found {sha256_of(target)}"))
    return _download(file, target, reasons)


def _member(archive: File, member: str) -> Path:
    target = cache_folder() / archive.asset / member
    path = obtain(archive)
    try:
        with opened_member(path, member) as (stream, length):
            _store(stream, length, target, File(archive.asset, member, ()), str(path))
    except SourceFailure as failure:
        raise AssetError(f"{archive.asset}: {failure}") from None
    return target


def fetch(asset_id: str, file: str | None = None) -> Path:
    """The verified local copy of an asset's file (of its only file, when none is named).

    Raises AssetError when no source gives it or its sha256 is not the pinned one, UsageError for an unknown asset.
    """
    entry = asset(asset_id)
    if entry.archive and file and file not in entry.files:
        return _member(entry.files[entry.archive], file)
    return obtain(file_of(asset_id, file))
