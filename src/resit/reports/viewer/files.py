"""Opening what lies in a folder of runs, and nothing else: no symbolic link, pipe or device is followed."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from resit.errors import ResitError

FOLDER = getattr(os, "O_DIRECTORY", 0)
UNFOLLOWED = getattr(os, "O_NOFOLLOW", 0)
PLAIN = os.O_RDONLY | UNFOLLOWED | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
BY_FOLDER = os.open in os.supports_dir_fd
"""Whether a file can be opened below an opened folder, so that no path is resolved twice."""


_POSITION = threading.Lock()


def _read_at(descriptor: int, length: int, offset: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(descriptor, length, offset)
    with _POSITION:  # Windows has no call that reads from a place
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, length)


class Refused(ResitError):
    """A file that is there and that the viewer does not open, with the reason."""


class OpenFile:
    """A file that stays readable, also when it is replaced or removed; closed when nobody holds it."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __del__(self) -> None:
        os.close(self._descriptor)

    def read(self, offset: int, length: int) -> bytes:
        """At most `length` bytes from `offset` on; fewer only where the file ends."""
        block = _read_at(self._descriptor, length, offset)
        while 0 < len(block) < length:
            more = _read_at(self._descriptor, length - len(block), offset + len(block))
            if not more:
                break
            block += more
        return block

    def status(self) -> os.stat_result:
        """Size, time and identity of the file as it is now."""
        return os.fstat(self._descriptor)


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The files of one run folder: its names below the root that is served."""

    root: Path
    """Resolved."""
    names: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The folder's path."""
        return self.root.joinpath(*self.names)

    def open(self, name: str) -> OpenFile:
        """A file of the folder. FileNotFoundError where it is not; Refused for links, pipes and the like."""
        try:
            descriptor = self._open(name)
        except (FileNotFoundError, NotADirectoryError):
            raise FileNotFoundError(errno.ENOENT, "no such file", str(self.path / name)) from None
        except OSError as error:
            raise Refused(f"{name} cannot be opened: {_reason(error)}") from error
        file = OpenFile(descriptor)
        if not stat.S_ISREG(file.status().st_mode):
            raise Refused(f"{name} is not a regular file")
        return file

    def read(self, name: str, most: int) -> bytes:
        """A whole file. Refused when it is longer than `most` bytes; else raises as `open` does."""
        file = self.open(name)
        content = file.read(0, most + 1)
        if len(content) > most:
            raise Refused(f"{name} is longer than {most} bytes")
        return content

    def _open(self, name: str) -> int:
        if BY_FOLDER:
            return _open_below(self.root, [*self.names, name])
        path = self.path / name
        if path.resolve() != path:
            raise OSError(errno.ELOOP, "symbolic link")
        return os.open(path, PLAIN)


def _open_below(root: Path, names: Sequence[str]) -> int:
    """Opens name by name, so that a link that takes a folder's place in between is not followed either."""
    folder = os.open(root, os.O_RDONLY | FOLDER)
    try:
        for name in names[:-1]:
            below = os.open(name, os.O_RDONLY | FOLDER | UNFOLLOWED, dir_fd=folder)
            os.close(folder)
            folder = below
        return os.open(names[-1], PLAIN, dir_fd=folder)
    finally:
        os.close(folder)


def _reason(error: OSError) -> str:
    if error.errno in (errno.ELOOP, errno.EMLINK):
        return "it is a symbolic link, which the viewer does not follow"
    return error.strerror or str(error)
