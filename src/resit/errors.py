"""Errors that know their exit status and what the user can do about them."""

from __future__ import annotations

DONE = 0
UNEXPECTED = 1
INTERRUPTED = 130


class ResitError(Exception):
    """Something the user can act on: what was expected, what was found, and a hint."""

    exit_status = UNEXPECTED

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(ResitError):
    """The command line, a configuration or a task file is not what it should be."""

    exit_status = 2


class IdentityMismatch(ResitError):
    """The run folder holds a run of something else."""

    exit_status = 3


class GateFailed(ResitError):
    """The gate's condition does not hold."""

    exit_status = 4


class TooManyErrors(ResitError):
    """A larger share of the samples errored than is allowed."""

    exit_status = 5


class AssetError(ResitError):
    """A data set, task file or model cannot be had, or is not the pinned one."""

    exit_status = 6
