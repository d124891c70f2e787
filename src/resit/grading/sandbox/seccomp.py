"""Leaves a Linux process no system calls but those of computing, writing to what is open, and ending.

A filter in classic BPF, set through prctl; needs no privilege and no library. Imported by `jail.py` alone.
"""

from __future__ import annotations

import ctypes
import platform
import struct

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
_SECCOMP_MODE_FILTER = 2
_SIGKILL = 9
_KILL, _ALLOW, _DENY = 0x80000000, 0x7FFF0000, 0x00050001
"""End the process; let the call pass; have it fail with EPERM."""
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _THIRD_ARGUMENT = 0, 4, 32
"""Places in seccomp_data; of the third argument, the lower half."""
_PROT_EXEC = 4

_CALLS: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (
        0xC000003E,
        {
            "write": 1, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13,
            "rt_sigprocmask": 14, "rt_sigreturn": 15, "sched_yield": 24, "mremap": 25, "madvise": 28,
            "exit": 60, "gettimeofday": 96, "sigaltstack": 131, "time": 201, "futex": 202,
            "restart_syscall": 219, "clock_gettime": 228, "exit_group": 231, "getrandom": 318,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "write": 64, "exit": 93, "exit_group": 94, "futex": 98, "clock_gettime": 113, "sched_yield": 124,
            "restart_syscall": 128, "sigaltstack": 132, "rt_sigaction": 134, "rt_sigprocmask": 135,
            "rt_sigreturn": 139, "gettimeofday": 169, "brk": 214, "munmap": 215, "mremap": 216, "mmap": 222,
            "mprotect": 226, "madvise": 233, "getrandom": 278,
        },
    ),
}  # fmt: skip
_DENIED = {
    "x86_64": (0, 2, 4, 5, 6, 8, 16, 21, 79, 89, 257, 262),
    "aarch64": (17, 29, 48, 56, 62, 63, 78, 79, 80),
}
"""Reading, opening and looking for files, which Python itself tries when it reports an error."""
_NO_CODE = ("mmap", "mprotect")
"""Calls that may not make memory executable."""


def _instruction(code: int, value: int, on_true: int = 0, on_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, on_true, on_false, value)


def _program(architecture: int, calls: dict[str, int], denied: tuple[int, ...]) -> bytes:
    """Kill for another architecture, for a call that is not listed, and for new executable memory."""
    steps = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_EQUAL, architecture, 1, 0),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, _NUMBER),
    ]
    for name in _NO_CODE:
        steps += [
            _instruction(_EQUAL, calls[name], 0, 4),
            _instruction(_LOAD, _THIRD_ARGUMENT),
            _instruction(_ANY_BIT, _PROT_EXEC, 0, 1),
            _instruction(_RETURN, _KILL),
            _instruction(_RETURN, _ALLOW),
        ]
    for name, number in calls.items():
        if name not in _NO_CODE:
            steps += [_instruction(_EQUAL, number, 0, 1), _instruction(_RETURN, _ALLOW)]
    for number in denied:
        steps += [_instruction(_EQUAL, number, 0, 1), _instruction(_RETURN, _DENY)]
    return b"".join([*steps, _instruction(_RETURN, _KILL)])


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))


_LIBRARY = ctypes.CDLL(None, use_errno=True)
_MACHINE = platform.machine() if platform.system() == "Linux" else ""
_STEPS = _program(*_CALLS[_MACHINE], _DENIED[_MACHINE]) if _MACHINE in _CALLS else b""
"""Made before the processes that need it are forked."""


def _prctl(option: int, value: object, *rest: object) -> bool:
    zero = ctypes.c_ulong(0)
    arguments = [*(ctypes.c_ulong(v) if isinstance(v, int) else v for v in (value, *rest)), *[zero] * 4]
    return bool(_LIBRARY.prctl(option, *arguments[:4]) == 0)


def die_with_parent() -> None:
    """Have this process killed when the one that started it ends."""
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)


def hide() -> None:
    """Let no other process of the same user look into this one."""
    _prctl(_PR_SET_DUMPABLE, 0)


def lock() -> bool:
    """Filter this process's system calls from now on; whether the kernel took the filter."""
    if not _STEPS:
        return False
    buffer = ctypes.create_string_buffer(_STEPS, len(_STEPS))
    filter_ = _Filter(len(_STEPS) // 8, ctypes.addressof(buffer))
    return _prctl(_PR_SET_NO_NEW_PRIVS, 1) and _prctl(
        _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(filter_)
    )
