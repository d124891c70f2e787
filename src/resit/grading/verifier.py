"""A pool of worker processes for symbolic answers, each killed and replaced when it overruns.

Safe to use from any thread; nothing here uses signals. One answer can cost at most `timeout` seconds
and never delays another by more, however many workers it kills.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import queue
import subprocess
import sys
import threading
from functools import cache
from typing import Any

from resit.errors import ResitError

TIMEOUT_SECONDS = 5.0
START_SECONDS = 120.0
"""Importing sympy takes seconds on a busy machine; this is not an answer's time."""


class Overrun(Exception):
    """The worker did not answer in time and was killed."""


class _Worker:
    """One process and the thread that reads its answers."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        try:
            ready = self._next(START_SECONDS)
        except Overrun:
            self.kill()
            raise
        if "error" in ready:
            self.kill()
            raise ResitError(f"the math worker did not start: {ready['error']}", "pip install 'resit[math]'")

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        with contextlib.suppress(ValueError, OSError):
            for line in stream:
                self._answers.put(line)
        self._answers.put("")

    def _next(self, seconds: float) -> dict[str, Any]:
        try:
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            raise Overrun from None
        if not line:
            raise Overrun  # it died: out of memory, most likely
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        stream = self._process.stdin
        assert stream is not None
        try:
            stream.write(json.dumps(request) + "\n")
            stream.flush()
        except OSError:
            raise Overrun from None
        return self._next(seconds)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


class Verifier:
    """Answers requests with at most `workers` processes, which start when first needed."""

    def __init__(
        self, workers: int | None = None, timeout: float = TIMEOUT_SECONDS, command: list[str] | None = None
    ) -> None:
        self.timeout = timeout
        self.overruns = 0
        self._command = command or [sys.executable, "-P", "-m", "resit.grading.math_worker"]
        self._slots = threading.BoundedSemaphore(workers or max(1, min(4, os.cpu_count() or 1)))
        self._idle: list[_Worker] = []
        self._lock = threading.Lock()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The worker's answer; raises `Overrun` if there is none in time, `ResitError` without the extra."""
        with self._slots:
            with self._lock:
                worker = self._idle.pop() if self._idle else None
            worker = worker or _Worker(self._command)
            try:
                answer = worker.ask(request, self.timeout)
            except BaseException as error:
                worker.kill()
                if isinstance(error, Overrun):
                    with self._lock:
                        self.overruns += 1
                raise
            with self._lock:
                self._idle.append(worker)
            return answer

    def close(self) -> None:
        """End the idle processes."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.kill()


def is_installed() -> bool:
    """Whether the extra `math` is there."""
    return importlib.util.find_spec("math_verify") is not None


@cache
def shared_verifier() -> Verifier:
    """The pool that the rules use; it ends with this process."""
    verifier = Verifier()
    atexit.register(verifier.close)
    return verifier
