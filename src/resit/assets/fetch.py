"""Verified local copies: the mirror, the cache, then each source in order."""

from __future__ import annotations

import functools
import hashlib
import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from resit import jsonl
from resit.assets.catalogue import File, asset, catalogue, file_of
from resit.assets.sources import Opened, SourceFailure, opened, opened_member
from resit.errors import AssetError, UsageError

CHUNK_BYTES = 1 << 20


def cache_folder() -> Path:
    """Where fetched files are kept: `RESIT_CACHE`, else the platform's cache folder."""
    chosen = os.environ.get("RESIT_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("resit", appauthor=False))


def mirror_folder() -> Path | None:
    """The folder that is looked in first: `RESIT_MIRROR`. Raises UsageError when there is no such folder."""
    chosen = os.environ.get("RESIT_MIRROR")
    if not chosen:
        return None
    folder = Path(chosen).expanduser()
    if not folder.is_dir():
        raise UsageError(f"RESIT_MIRROR={chosen}: no such folder", "unset it, or name an existing one")
    return folder


@functools.cache
def _sha256_of(path: Path, size: int, modified_ns: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sha256_of(path: Path) -> str:
    """The hexadecimal sha256 of a file, computed once a process unless the file changes."""
    stat = path.stat()
    return _sha256_of(path.resolve(), stat.st_size, stat.st_mtime_ns)


def in_mirror(file: File) -> Path | None:
    """The mirror's copy of a file, unverified; None when it has none."""
    mirror = mirror_folder()
    path = mirror / file.asset / file.name if mirror else None
    return path if path and path.is_file() else None


def state_of(file: File) -> tuple[str, Path | None]:
    """`mirror`, `cache` or `` and the path: where a file is on this machine, unverified."""
    mirrored = in_mirror(file)
    cached = None if mirrored else in_cache(file)
    return ("mirror" if mirrored else "cache" if cached else ""), mirrored or cached


def in_cache(file: File) -> Path | None:
    """The cache's copy of a file, unverified; None when it has none."""
    path = cache_folder() / file.asset / file.name
    return path if path.is_file() else None


class WrongBytes(AssetError):
    """A file is not the pinned one."""

    def __init__(self, file: File, found: str, where: object) -> None:
        self.reason = f"expected sha256 {file.sha256}, found {found}"
        super().__init__(
            f"{file}, read from {where}: {self.reason}",
            "these are not the pinned bytes: put the right file there, or take it from another source",
        )
        self.file = file
        self.path = Path(str(where))


@dataclass(slots=True)
class _Search:
    """What has been tried for a file so far, and what would help."""

    tried: list[str] = field(default_factory=list)
    remedies: list[str] = field(default_factory=list)

    def note(self, where: object, failure: Exception) -> None:
        self.tried.append(f"{where} ({str(failure) or type(failure).__name__})")
        remedy = failure.remedy if isinstance(failure, SourceFailure) else ""
        if remedy and remedy not in self.remedies:
            self.remedies.append(remedy)

    def error(self, files: Sequence[File]) -> AssetError:
        what = " or ".join(map(str, files))
        tried = "; ".join(self.tried) or "no source: it is not published where it could be fetched"
        place = f"put the file at DIR/{files[0]} and set RESIT_MIRROR=DIR"
        network = ["connect to the network"] if self.tried else []
        return AssetError(
            f"{what} cannot be had; tried {tried}", "; or ".join([*self.remedies, *network, place])
        )


def local(file: File, search: _Search | None = None) -> Path | None:
    """The verified copy on this machine, in the mirror or the cache; None when there is none.

    A wrong file in the mirror raises AssetError; a wrong one in the cache counts as none.
    """
    mirrored = in_mirror(file)
    if mirrored:
        if file.sha256 not in (None, sha256_of(mirrored)):
            raise WrongBytes(file, sha256_of(mirrored), mirrored)
        return mirrored
    cached = in_cache(file)
    if cached and file.sha256 not in (None, sha256_of(cached)):
        if search:
            wrong = WrongBytes(file, sha256_of(cached), cached)
            search.note(f"the cached {cached}", SourceFailure(wrong.reason))
        return None
    return cached


def obtain(*files: File) -> tuple[File, Path]:
    """The first of several files with the same content that can be had, and its verified local copy.

    What is on this machine goes before what has to be fetched. Raises AssetError naming every source tried.
    """
    search = _Search()
    for file in files:
        found = local(file, search)
        if found:
            return file, found
    for file in files:
        target = cache_folder() / file.asset / file.name
        for source in file.sources:
            try:
                with _source(file, source) as found_there:
                    store(found_there, target, file, source)
            except WrongBytes as wrong:
                search.note(source, SourceFailure(wrong.reason, wrong.hint))
            except (SourceFailure, OSError) as failure:
                search.note(source, failure)
            else:
                return file, target
    raise search.error(files)


def _source(file: File, source: str) -> AbstractContextManager[Opened]:
    """A file's source; a member of the asset's archive is read from that, which is fetched once."""
    entry = catalogue().get(file.asset)
    archive = entry.files[entry.archive] if entry and entry.archive else None
    package, _, member = source.partition("!")
    if archive and member and package in archive.sources:
        return opened_member(obtain(archive)[1], member)
    return opened(source)


def store(found: Opened, target: Path, file: File, source: object) -> None:
    """Write a stream to its place in the cache, whole and verified or not at all.

    Raises SourceFailure when the stream ends early, AssetError when its sha256 is not the pinned one or the
    cache cannot be written.
    """
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    digest, size = hashlib.sha256(), 0
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        jsonl.sweep(target.parent, ".*.part")
        with part.open("xb") as out, _progress(found, target.name) as stream:
            for chunk in _chunks(stream):
                digest.update(chunk)
                size += out.write(chunk)
        if found.length not in (None, size):
            raise SourceFailure(f"the connection ended after {size} of {found.length} bytes")
        if file.sha256 not in (None, digest.hexdigest()):
            raise WrongBytes(file, digest.hexdigest(), source)
        part.replace(target)
    except OSError as error:
        raise AssetError(
            f"cannot write {target}: {error.strerror or error}",
            "free space, or set RESIT_CACHE to another folder",
        ) from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    from http.client import HTTPException
    from zipfile import BadZipFile
    from zlib import error as zlib_error

    try:
        while chunk := stream.read(CHUNK_BYTES):
            yield chunk
    except (OSError, HTTPException, BadZipFile, zlib_error) as error:
        raise SourceFailure(str(error) or type(error).__name__) from None


def _progress(found: Opened, title: str) -> AbstractContextManager[BinaryIO]:
    if not sys.stderr.isatty():
        return nullcontext(found.stream)
    from rich.console import Console
    from rich.progress import wrap_file

    return wrap_file(
        found.stream, found.length or 0, description=title, console=Console(stderr=True), transient=True
    )


def fetch(asset_id: str, file: str | None = None) -> Path:
    """The verified local copy of an asset's file (of its only file, when none is named).

    Of an asset that is an archive, any member can be named. Raises AssetError when no source gives it or its
    sha256 is not the pinned one, UsageError for a name that is not in the catalogue.
    """
    entry = asset(asset_id)
    if entry.archive and file and file not in entry.files:
        return _member(entry.files[entry.archive], file)
    return obtain(file_of(entry, file))[1]


def _member(archive: File, member: str) -> Path:
    path = obtain(archive)[1]
    file = File(archive.asset, member, ())
    target = cache_folder() / archive.asset / member
    try:
        with opened_member(path, member) as found:
            store(found, target, file, path)
    except SourceFailure as failure:
        raise AssetError(
            f"{archive.asset}: {failure}", f"`resit data show {archive.asset}` says what it is"
        ) from None
    return target


def members(asset_id: str) -> list[str]:
    """The paths of all members of an asset that is an archive, in the archive's order."""
    from zipfile import ZipFile

    entry = asset(asset_id)
    if entry.archive is None:
        raise UsageError(f"asset {asset_id!r} is no archive", f"its files are {', '.join(entry.files)}")
    with ZipFile(obtain(entry.files[entry.archive])[1]) as zipped:
        return zipped.namelist()
