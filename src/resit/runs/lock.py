"""One writer per run folder."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

from filelock import FileLock, Timeout

from resit.errors import UsageError
from resit.jsonl import cannot_write, write_atomic


class FolderLock:
    """Held by the process that writes a run folder; raises UsageError naming the holder.

    The operating system drops the lock when its holder dies, however it dies, so a dead writer
    needs no clean-up. `writer.json` only says who it is.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = FileLock(folder / ".lock", timeout=0)
        self._writer = folder / ".writer.json"

    def __enter__(self) -> FolderLock:
        try:
            self._lock.acquire()
        except Timeout:
            raise UsageError(
                f"{self._folder} is being written by {self._holder()}",
                "wait for it, or give this run another --output-path",
            ) from None
        except OSError as error:
            raise cannot_write(self._folder, error) from error
        try:
            write_atomic(
                self._writer, json.dumps({"host": socket.gethostname(), "pid": os.getpid()}).encode()
            )
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.unlink(missing_ok=True)
        self._lock.release()

    def _holder(self) -> str:
        try:
            writer = json.loads(self._writer.read_text(encoding="utf-8"))
            return f"process {writer['pid']} on {writer['host']}"
        except (OSError, ValueError, KeyError):
            return "another process"
