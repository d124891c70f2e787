"""The process that runs programs: started as `python -I -S -E -B jail.py`, with nothing in its environment.

Reads programs and answers with what each came to, one after the other. Each program gets a process of its
own, forked from this one, which is limited, then locked, before it looks at the first character. Never
imported by the rest of Resit; imports nothing of it.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import json
import os
import select
import signal
import struct
import sys
import time
from typing import Any

resource: Any = None
with contextlib.suppress(ImportError):
    import resource

if __name__ == "__main__":  # -I leaves the script's own folder out; it is needed for these two, then goes
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import seccomp  # type: ignore[import-not-found]  # noqa: E402
import subset  # type: ignore[import-not-found]  # noqa: E402

_NAMES = ("ans", "answer", "result", "final_answer")
_LONGEST_VALUE = 500
_MOST_FILES = 32
"""More than this process, which is started with three files, ever has open."""
_NEW_NAMESPACES = 0x10000000 | 0x40000000 | 0x08000000 | 0x04000000 | 0x00020000
"""User, network, IPC, host name, mounts."""


class TooMuchOutput(Exception):
    """The program printed more than it may."""


class _Printed:
    """What a program prints, up to a limit."""

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._parts: list[str] = []

    def write(self, text: str) -> None:
        self._left -= len(text)
        if self._left < 0:
            raise TooMuchOutput
        self._parts.append(text)

    def last_line(self) -> str | None:
        lines = [line for line in "".join(self._parts).splitlines() if line.strip()]
        return lines[-1] if lines else None


def _parsed(source: str) -> ast.Module:
    """The program; text that follows it is left out, line by line."""
    lines = source.split("\n")
    first: SyntaxError | None = None
    for end in range(len(lines), max(0, len(lines) - 100), -1):
        try:
            tree = ast.parse("\n".join(lines[:end]))
        except (SyntaxError, ValueError) as error:
            first = first or (error if isinstance(error, SyntaxError) else SyntaxError(str(error)))
            continue
        if tree.body:
            return tree
    raise first or SyntaxError("no statement")


def _value(source: str, output: int) -> str | None:
    """What a program comes to: `solution()`, a variable called the answer, or the last line printed."""
    tree = _parsed(source)
    subset.check(tree)
    printed = _Printed(output)
    names = subset.namespace(printed.write)
    exec(compile(tree, "<program>", "exec", dont_inherit=True), names)
    solution = names.get("solution")
    if callable(solution):
        return _written(solution())
    named = next((names[name] for name in _NAMES if name in names), None)
    return printed.last_line() if named is None or callable(named) else _written(named)


def _written(value: Any) -> str | None:
    """A value as text; a float to twelve digits, beyond which it is noise."""
    if value is None:
        return None
    if isinstance(value, float):
        return f"{value:.12g}"
    return str(value)


def _outcome(source: str, output: int) -> dict[str, Any]:
    try:
        value = _value(source, output)
    except MemoryError:
        return {"problem": "out of memory"}
    except RecursionError:
        return {"problem": "endless recursion"}
    except TooMuchOutput:
        return {"problem": "too much output"}
    except subset.Forbidden as error:
        return {"problem": f"forbidden: {error}"[:200]}
    except SyntaxError as error:
        return {"problem": f"not Python: {error.msg}"[:200]}
    except BaseException as error:  # whatever a program raises, exits and interrupts of its own included
        return {"problem": f"{type(error).__name__}: {error}"[:200]}
    return {"problem": "no answer"} if value is None else {"value": value[:_LONGEST_VALUE]}


def _limit(limits: dict[str, Any]) -> None:
    """Bound what the kernel lets this process use."""
    if resource is None:
        return
    wanted = {
        "RLIMIT_CPU": limits["cpu_seconds"],
        "RLIMIT_AS": limits["memory_bytes"],
        "RLIMIT_FSIZE": 0,
        "RLIMIT_CORE": 0,
        "RLIMIT_NPROC": 0,
        "RLIMIT_NOFILE": 0,
    }
    for name, value in wanted.items():
        with contextlib.suppress(AttributeError, ValueError, OSError):
            resource.setrlimit(getattr(resource, name), (value, value))


def _run_here(source: bytes, limits: dict[str, Any], pipe: int, may_stay_open: bool) -> None:
    """The forked process: locks itself, runs the program, writes the outcome and ends."""
    os.setsid()
    seccomp.die_with_parent()
    os.dup2(pipe, 1)
    os.close(0)
    os.closerange(2, _MOST_FILES)
    sys.setrecursionlimit(2000)
    _limit(limits)
    if not seccomp.lock() and not may_stay_open:
        os._exit(3)
    try:
        found = _outcome(source.decode("utf-8", "replace"), limits["output_bytes"])
        data = json.dumps(found).encode()
    except BaseException:  # a MemoryError while its own message is made, for one
        data = b'{"problem": "out of memory"}'
    os.write(1, data)
    os._exit(0)


def _collect(pipe: int, limits: dict[str, Any]) -> bytes | None:
    """What the forked process wrote until it closed; None when its time is up."""
    deadline = time.monotonic() + limits["seconds"]
    data = b""
    while len(data) <= limits["output_bytes"]:
        ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return None
        part = os.read(pipe, 65536)
        if not part:
            break
        data += part
    return data


def _ended(status: int, limits: dict[str, Any]) -> dict[str, Any]:
    """What the end of a process without an outcome means."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number in (signal.SIGXCPU, signal.SIGKILL):
            return {"problem": "out of time"}
        if number == getattr(signal, "SIGSYS", None):
            return {"problem": "forbidden: a system call"}
        return {"problem": f"killed by signal {number}"}
    if os.WEXITSTATUS(status) == 3:
        return {"problem": "the kernel took no filter", "unlocked": True}
    return {"problem": "ended without an outcome"}


def _run(source: bytes, limits: dict[str, Any], may_stay_open: bool) -> dict[str, Any]:
    """The outcome of one program in a process of its own."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(out)
        try:
            _run_here(source, limits, into, may_stay_open)
        finally:
            os._exit(1)
    os.close(into)
    data = _collect(out, limits)
    os.close(out)
    if data is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if data is None:
        return {"problem": "out of time"}
    try:
        found = json.loads(data)
    except ValueError:
        return _ended(status, limits)
    return found if isinstance(found, dict) else {"problem": "ended without an outcome"}


def _withdraw() -> list[str]:
    """Give up what this process could reach; what of it the system let it give up."""
    import ctypes

    given_up = []
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            given_up.append("root")
    with contextlib.suppress(AttributeError, OSError):
        if ctypes.CDLL(None).unshare(_NEW_NAMESPACES) == 0:
            given_up.append("network and other namespaces")
    if sys.platform == "linux":
        seccomp.die_with_parent()
        seccomp.hide()
    return given_up


def _read(count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = os.read(0, count - len(data))
        if not part:
            sys.exit(0)
        data += part
    return data


def _say(found: dict[str, Any]) -> None:
    data = json.dumps(found).encode()
    data = struct.pack("!I", len(data)) + data
    while data:
        data = data[os.write(1, data) :]


def main() -> None:
    """Serve until standard input ends."""
    limits = json.loads(sys.argv[1])
    os.closerange(3, 4096)  # whatever was left open for it
    subset.load()
    sys.path.clear()
    gc.freeze()  # collecting in a fork would copy what is shared
    given_up = _withdraw()
    probe = _run(b"answer = 6 * 7", limits, may_stay_open=False)
    locked = probe.get("value") == "42"
    _say({"given_up": given_up, "locked": locked, "probe": probe})
    while True:
        (size,) = struct.unpack("!I", _read(4))
        _say(_run(_read(size), limits, may_stay_open=not locked))


if __name__ == "__main__":
    main()
