"""A process of its own for work whose time a run's folder decides, such as its regular expressions.

A pattern that never ends costs that process and not the server: it is stopped, and another takes its place.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from resit.errors import ResitError

Result = TypeVar("Result")
_START_SECONDS = 60.0
"""What the process may take to start, on a machine that is busy."""


class TookTooLong(ResitError):
    """The work was stopped."""


class Workshop:
    """Calls functions in a process that starts when it is first needed. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._closed = False

    def call(self, function: Callable[..., Result], *arguments: Any, seconds: float) -> Result:
        """What the function returns. It and its arguments must be picklable.

        Raises TookTooLong after `seconds`, and ResitError with the reason where the function raises.
        """
        with self._lock:
            try:
                pipe = self._started()
                pipe.send((function, arguments))
                if not pipe.poll(seconds):
                    raise TookTooLong(f"not done after {seconds:g} seconds, so it was stopped")
                done, result = pipe.recv()
            except (OSError, EOFError) as error:
                self._stop()
                raise ResitError(f"the process that does this ended: {error!r}") from error
            except TookTooLong:
                self._stop()
                raise
        if not done:
            raise ResitError(result)
        return result  # type: ignore[no-any-return]

    def close(self) -> None:
        """Stop the process, whatever it does, and start none again."""
        self._closed = True
        process = self._process
        if process is not None:
            with contextlib.suppress(ValueError):  # somebody else has just stopped it
                process.kill()
        with self._lock:
            self._stop()

    def _started(self) -> Connection:
        if self._closed:
            raise OSError("the viewer is closing")
        if self._pipe is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_work, args=(theirs,), daemon=True, name="resit view")
            self._process.start()
            theirs.close()
            if not self._pipe.poll(_START_SECONDS):
                raise TookTooLong("the process did not start")
            self._pipe.recv()
        return self._pipe

    def _stop(self) -> None:
        process, pipe = self._process, self._pipe
        self._process = self._pipe = None
        if pipe is not None:
            pipe.close()
        if process is not None:
            process.kill()
            process.join()
            process.close()


def _work(pipe: Connection) -> None:
    """Do what comes until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then stops this
    with contextlib.suppress(OSError, EOFError):
        pipe.send("ready")
        while True:
            function, arguments = pipe.recv()
            try:
                answer = True, function(*arguments)
            except Exception as error:
                answer = False, f"{type(error).__name__}: {error}"
            pipe.send(answer)
