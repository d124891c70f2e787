"""The complete lines of a file that grows, each once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from resit.reports.viewer.files import OpenFile

BLOCK = 1 << 20
LONGEST = 64 << 20
"""Bytes of the longest line that is taken into memory; a longer one is passed over and named."""
MARK = 64
"""Bytes before the place reached, by which a file that was written anew is told from one that grew."""


class RawLine(NamedTuple):
    """One complete line with its place in the file; `content` is None for one that is too long."""

    offset: int
    length: int
    content: bytes | None


class Tail:
    """Reads a file onwards. It may grow, be cut, be replaced and vanish."""

    def __init__(self, open_file: Callable[[], OpenFile]) -> None:
        self._open = open_file
        self.file: OpenFile | None = None
        self.reached = 0
        self._mark = b""
        self._at_end = False

    def look_again(self) -> bool:
        """Open the file as it is now; True when it is not the one that was read, so that all begins anew.

        Raises what opening raises; what was read before then stands.
        """
        file = self._open()
        anew = self.file is not None and not self._continues(file)
        self.file, self._at_end = file, False
        if anew:
            self.reached, self._mark = 0, b""
        return anew

    def _continues(self, file: OpenFile) -> bool:
        assert self.file is not None
        now, before = file.status(), self.file.status()
        if (now.st_dev, now.st_ino) != (before.st_dev, before.st_ino) or now.st_size < self.reached:
            return False
        return file.read(self.reached - len(self._mark), len(self._mark)) == self._mark

    def restart(self) -> None:
        """Forget the file: what is read next is read from its beginning."""
        self.file, self.reached, self._mark = None, 0, b""

    @property
    def share(self) -> float:
        """How much of the file was read, from 0 to 1; a torn last line counts as read once it was seen."""
        size = 0 if self.file is None or self._at_end else self.file.status().st_size
        return self.reached / size if size else 1.0

    def lines(self) -> list[RawLine]:
        """The next lines, about a block of them; empty at the end of the file."""
        if self.file is None:
            return []
        size = BLOCK
        while True:
            block = self.file.read(self.reached, size)
            end = block.rfind(b"\n") + 1
            if end:
                return self._cut(block[:end])
            if len(block) < size:
                self._at_end = True
                return []  # the last line is not complete yet
            if size >= LONGEST:
                return self._pass_over(size)
            size *= 4

    def _cut(self, block: bytes) -> list[RawLine]:
        found, offset = [], self.reached
        for content in block[:-1].split(b"\n"):
            found.append(RawLine(offset, len(content) + 1, content))
            offset += len(content) + 1
        self._advance(offset, block)
        return found

    def _pass_over(self, searched: int) -> list[RawLine]:
        """The line that begins here has no end within `searched` bytes: look for it without keeping it."""
        assert self.file is not None
        start, place = self.reached, self.reached + searched
        while block := self.file.read(place, BLOCK):
            end = block.find(b"\n") + 1
            if end:
                self._advance(place + end, block[:end])
                return [RawLine(start, place + end - start, None)]
            place += len(block)
        return []

    def _advance(self, reached: int, before: bytes) -> None:
        self.reached, self._mark = reached, before[-MARK:]
