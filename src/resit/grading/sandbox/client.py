"""The side of the sandbox that Resit sees: programs in, outcomes out, whatever becomes of the process."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import struct
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from resit.errors import ResitError, UsageError

START_SECONDS = 60.0
"""A new process on a busy machine; no program's time."""
_GRACE_SECONDS = 10.0
"""Beyond a program's time, before the process that should have ended it is ended itself."""
LONGEST_PROGRAM = 50_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What one program may use."""

    cpu_seconds: int = 1
    seconds: float = 5.0
    """By the clock; more than the processor's, so that a busy machine decides nothing."""
    memory_bytes: int = 512 * 2**20
    """Of address space, the interpreter's own included."""
    output_bytes: int = 64 * 2**10


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a program came to: a value, or the problem that it ended in."""

    value: str | None = None
    problem: str = ""


class Sandbox:
    """One process that runs programs one after the other, each in a fork of its own.

    Starts when first asked; is replaced when it dies. Safe to use from several threads. Raises UsageError
    where the system cannot fork.
    """

    def __init__(self, limits: Limits | None = None, script: Path | None = None) -> None:
        self.limits = limits or Limits()
        self._script = script or Path(__file__).resolve().with_name("jail.py")
        self.locked: bool | None = None
        """Whether the kernel filters the programs' system calls; None: not started yet."""
        self.given_up: tuple[str, ...] = ()
        """What the process could give up: root, namespaces."""
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._lock = threading.Lock()

    def run(self, source: str) -> Outcome:
        """What a program comes to. Raises ResitError when no process can be started for it."""
        data = source.encode("utf-8", "replace")
        if len(data) > LONGEST_PROGRAM:
            return Outcome(problem=f"longer than {LONGEST_PROGRAM} bytes")
        with self._lock:
            self._start()
            try:
                self._send(struct.pack("!I", len(data)) + data)
                found = self._receive(self.limits.seconds + _GRACE_SECONDS)
            except (OSError, ValueError):
                self._end()
                return Outcome(problem="ended the process that runs programs")
        value = found.get("value")
        return Outcome(value if isinstance(value, str) else None, str(found.get("problem", "")))

    def start(self) -> None:
        """Start the process now. Raises ResitError, UsageError."""
        with self._lock:
            self._start()

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        if not hasattr(os, "fork"):
            raise UsageError(
                "programs of models cannot be run here: this system has no fork",
                "grade such runs on Linux or macOS",
            )
        self._end()
        self._folder = tempfile.TemporaryDirectory(prefix="resit-sandbox-")
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-E", "-B", str(self._script), json.dumps(asdict(self.limits))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._folder.name,
            env={},
            start_new_session=True,
        )
        try:
            ready = self._receive(START_SECONDS)
        except (OSError, ValueError) as error:
            self._end()
            raise ResitError(f"the process that runs programs did not start: {error}") from None
        self.locked = ready.get("locked") is True
        self.given_up = tuple(map(str, ready.get("given_up", ())))

    def _send(self, data: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def _receive(self, seconds: float) -> dict[str, Any]:
        """The next answer. Raises OSError when the process is gone or late."""
        deadline = time.monotonic() + seconds
        (size,) = struct.unpack("!I", self._exactly(4, deadline))
        if size > 2**20:
            raise OSError("an answer of impossible size")
        answer: dict[str, Any] = json.loads(self._exactly(size, deadline))
        return answer

    def _exactly(self, count: int, deadline: float) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        place, data = self._process.stdout.fileno(), b""
        while len(data) < count:
            ready, _, _ = select.select([place], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(place, count - len(data)) if ready else b""
            if not part:
                raise OSError("no answer in time" if not ready else "the process ended")
            data += part
        return data

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()


@cache
def shared_sandbox() -> Sandbox:
    """The sandbox that the rules use; it ends with this process."""
    sandbox = Sandbox()
    atexit.register(sandbox.close)
    return sandbox
