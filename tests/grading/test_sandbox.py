"""Programs that compute, programs that run away, and programs that try to get out."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from resit.errors import ResitError
from resit.grading import sandbox as package
from resit.grading.sandbox import Limits, Outcome, Sandbox

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="programs run where processes can be forked")
LINUX = sys.platform == "linux"
QUICK = Limits(cpu_seconds=1, seconds=3.0, memory_bytes=256 * 2**20, output_bytes=2**16)
JAIL = Path(package.__file__).parent


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    box = Sandbox(QUICK)
    box.start()
    yield box
    box.close()


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("def solution():\n    return 3 * 4", "12"),
        ("def solution():\n    eggs = 16 - 3 - 4\n    return eggs * 2", "18"),
        ("def solution():\n    return 0.1 + 0.2", "0.3"),
        ("def solution():\n    return 1.87 * 9", "16.83"),
        ("def solution():\n    return 2 / 3", "0.666666666667"),
        ("def solution():\n    return '$18.00'", "$18.00"),
        ("ans = 5", "5"),
        ("result = 5\nprint('so')", "5"),
        ("print(3)\nprint('The answer is', 7)", "The answer is 7"),
        ("print(1, 2, sep='-', end='!')", "1-2!"),
        ("answer = 6\n\nThat is six.", "6"),
        ("import math\nans = math.ceil(7 / 2)", "4"),
        ("from math import *\nans = floor(sqrt(50))", "7"),
        ("from fractions import Fraction\nans = Fraction(1, 3)", "1/3"),
        ("from decimal import Decimal\nans = Decimal('1.10') * 3", "3.30"),
        ("import datetime\nans = (datetime.date(2020, 3, 1) - datetime.date(2020, 2, 1)).days", "29"),
        ("from datetime import *\nans = datetime.strptime('2:30', '%H:%M').minute", "30"),
        ("from collections import Counter\nimport collections.abc\nans = Counter('aab')['a']", "2"),
        ("class Cart:\n    def __init__(self):\n        self.n = 4\nans = Cart().n", "4"),
        ("try:\n    1 / 0\nexcept ZeroDivisionError:\n    ans = 4", "4"),
        ("def total(n):\n    return n if n < 2 else n + total(n - 1)\nans = total(100)", "5050"),
        ("if __name__ == '__main__':\n    print(9)", "9"),
        ("ans = sum(x for x in range(10) if x % 2)", "25"),
        ("ans = '½'", "½"),
    ],
)
def test_what_programs_come_to(box: Sandbox, source: str, value: str) -> None:
    assert box.run(source) == Outcome(value)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("", "not Python"),
        ("\n\n", "not Python"),
        ("def solution(:", "not Python"),
        ("ans = 1\0", "not Python"),
        ("ans = " + "(" * 5000 + "1" + ")" * 5000, "not Python"),
        ("ans = " + "-" * 40_000 + "1", "out of memory|endless recursion|not Python|killed"),
        ("x = 1\n" * 20_000, "longer than"),
        ("x = 3", "no answer"),
        ("def solution():\n    pass", "no answer"),
        ("def solution(n):\n    return n", "TypeError"),
        ("ans = eggs", "NameError"),
        ("ans = 1 / 0", "ZeroDivisionError"),
        ("ans = 10 ** 5000", "ValueError"),
        ("while True: pass", "out of time"),
        ("while True:\n  try:\n    while True: pass\n  except BaseException: pass", "out of time"),
        ("ans = 9 ** 9 ** 9", "out of time|out of memory"),
        ("import re\nans = re.match('(a+)+$', 'a' * 40 + 'b')", "out of time"),
        ("x = [0] * 10 ** 10", "out of memory"),
        ("x = 'a'\nwhile True: x += x", "out of memory"),
        ("x = [0]\nwhile True: x += x", "out of memory|out of time"),
        ("ans = f'{1:>1000000000}'", "out of memory"),
        ("print('a' * 10 ** 9)", "out of memory|too much output"),
        ("while True: print('a' * 1000)", "too much output"),
        ("class A(int):\n  def __str__(self): return 'x' * 10 ** 9\nans = A()", "out of memory"),
        ("def f(): return f()\nf()", "endless recursion"),
        ("raise Exception('a' * 10 ** 6)", "Exception: aaa"),
    ],
)
def test_programs_that_run_away_or_break(box: Sandbox, source: str, problem: str) -> None:
    outcome = box.run(source)
    assert outcome.value is None
    assert any(outcome.problem.startswith(expected) for expected in problem.split("|")), outcome
    assert len(outcome.problem) <= 200
    assert box.run("ans = 1") == Outcome("1"), "the next program is not touched by it"


@pytest.mark.parametrize(
    "source",
    [
        "import os",
        "import os.path",
        "from os import system",
        "from . import x",
        "__import__('os')",
        "ans = ().__class__.__mro__",
        "ans = (lambda: 0).__globals__",
        "def g(): yield 1\nans = g().gi_frame",
        "import collections\nans = collections._sys",
        "import typing\nans = typing.sys",
        "from re import __builtins__",
        "async def f(): pass",
        "import importlib",
        "import ctypes",
        "import random",
        "import time",
        "import _strptime",
    ],
)
def test_what_is_forbidden_is_named(box: Sandbox, source: str) -> None:
    assert box.run(source).problem.startswith("forbidden: ")


@pytest.mark.parametrize(
    "source",
    [
        "ans = open('/etc/passwd').read()",
        "ans = eval('1')",
        "exec('ans = 1')",
        "ans = getattr(1, 'real')",
        "ans = globals()",
        "ans = input()",
        "raise SystemExit",
        "from re import enum",
        "import re\nans = re.enum",
    ],
)
def test_what_is_not_there_is_an_error_like_any_other(box: Sandbox, source: str) -> None:
    outcome = box.run(source)
    assert outcome.value is None
    assert outcome.problem.partition(":")[0] in ("NameError", "ImportError", "AttributeError")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A sandbox whose programs get all of Python."""
    script = tmp_path_factory.mktemp("jail") / "start.py"
    unguarded = Path(__file__).with_name("unguarded_jail.py").read_text(encoding="utf-8")
    script.write_text(unguarded.replace("sys.argv.pop(1)", repr(str(JAIL))), encoding="utf-8")
    box = Sandbox(QUICK, script)
    box.start()
    yield box
    box.close()


ESCAPES = {
    "reading a file": "ans = open('/etc/passwd').read()",
    "writing a file": "ans = open('/tmp/resit-escaped', 'w').write('x')",
    "reading by number": "ans = os.read(0, 1)",
    "listing": "ans = os.listdir('/')",
    "the memory of others": "ans = open('/proc/%d/mem' % os.getppid(), 'rb')",
    "a socket": "ans = socket.socket()",
    "a socket pair": "ans = socket.socketpair()",
    "forking": "ans = os.fork()",
    "forking for ever": "while True: os.fork()",
    "a shell": "ans = os.system('true')",
    "a command": "ans = subprocess.run(['/bin/true'])",
    "another program": "os.execv('/bin/true', ['true'])",
    "a thread": "threading.Thread(target=print).start()\nans = 1",
    "killing its parent": "os.kill(os.getppid(), 9)\nans = 1",
    "killing all": "os.kill(-1, 9)\nans = 1",
    "tracing its parent": "ans = ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0)",
    "changing a limit": "import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))\nans = 1",
    "changing folder": "os.chdir('/')\nans = 1",
    "removing": "os.unlink('/tmp/x')\nans = 1",
    "a new filter": "ans = ctypes.CDLL(None).prctl(22, 1, 0, 0, 0)",
    "raw system calls": "ans = ctypes.CDLL(None).syscall(57)",
    "executable memory": "import mmap\nans = len(mmap.mmap(-1, 4096, prot=7))",
    "a pipe": "ans = os.pipe()",
    "shared memory": "ans = os.memfd_create('x')",
}


@pytest.mark.skipif(not LINUX, reason="the filter of system calls is Linux's")
@pytest.mark.parametrize("escape", ESCAPES)
def test_the_kernel_holds_where_python_does_not(kernel: Sandbox, escape: str) -> None:
    """All of Python at hand: each attempt fails with an error, or ends the program."""
    assert kernel.locked, "this kernel takes no filter"
    outcome = kernel.run(ESCAPES[escape])
    assert outcome.value in (None, "-1"), outcome
    refusals = (
        "forbidden: a system call",
        "PermissionError",
        "OSError",
        "ModuleNotFoundError",
        "ImportError",
    )
    assert outcome.value == "-1" or outcome.problem.startswith(refusals), outcome
    assert not Path("/tmp/resit-escaped").exists()
    assert kernel.run("ans = 1") == Outcome("1")


@pytest.mark.skipif(not LINUX, reason="the filter of system calls is Linux's")
@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("os._exit(0)", "ended without an outcome"),
        ("os.write(1, b'x' * 10 ** 7)", "ended without an outcome"),
        ("while True: os.write(1, b'x' * 10 ** 5)", "ended without an outcome"),
        ("os.write(1, b'[1]')\nos._exit(0)", "ended without an outcome"),
        ("ctypes.string_at(0)", "killed by signal 11"),
        (
            "sys.setrecursionlimit(10 ** 9)\ndef f(): f()\nf()",
            "killed by signal 11|out of memory|endless|forbidden|out of time",
        ),
        ("os.close(1)\nans = 1", "forbidden: a system call"),
    ],
)
def test_a_process_that_misbehaves_ends_alone(kernel: Sandbox, source: str, problem: str) -> None:
    outcome = kernel.run(source)
    assert outcome.value is None
    assert any(outcome.problem.startswith(expected) for expected in problem.split("|")), outcome
    assert kernel.run("ans = 1") == Outcome("1")


def test_nothing_of_ours_is_at_hand(kernel: Sandbox) -> None:
    assert kernel.run("ans = [name for name in os.environ if name != 'LC_CTYPE']") == Outcome("[]")
    assert kernel.run("ans = any('resit' in name for name in sys.modules)") == Outcome("False")


def test_limits_are_the_callers() -> None:
    box = Sandbox(Limits(cpu_seconds=5, seconds=0.5, output_bytes=10))
    began = time.monotonic()
    assert box.run("while True: pass").problem == "out of time"
    assert time.monotonic() - began < 30, "it had to start, too"
    assert box.run("print('12345678901')").problem == "too much output"
    box.close()


@pytest.mark.skipif(not LINUX, reason="looks into /proc")
def test_it_is_replaced_when_it_is_killed_and_leaves_nothing_behind() -> None:
    box = Sandbox(QUICK)
    assert box.run("ans = 1") == Outcome("1")
    process, folder = box._process, box._folder
    assert process is not None
    assert folder is not None
    assert os.listdir(folder.name) == []
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert box.run("ans = 2") == Outcome("2")
    assert box._process is not None
    last = box._process.pid
    box.close()
    assert not Path(f"/proc/{last}").exists()
    assert not Path(folder.name).exists()


FAITHLESS = """
import json, struct, sys, time

def say(data):
    sys.stdout.buffer.write(struct.pack("!I", len(data)) + data)
    sys.stdout.flush()

say(b'{"locked": true, "given_up": ["root"]}')
while True:
    (size,) = struct.unpack("!I", sys.stdin.buffer.read(4))
    source = sys.stdin.buffer.read(size).decode()
    exec(source)
"""
"""A process that keeps to the protocol only as far as the program lets it."""


@pytest.mark.parametrize(
    "misdeed",
    [
        "sys.exit(0)",
        "sys.stdout.buffer.write(bytes(2)); sys.stdout.flush(); sys.exit(0)",
        "sys.stdout.buffer.write(bytes([255] * 4)); sys.stdout.flush()",
        "say(b'no JSON')",
        "time.sleep(3600)",
    ],
)
def test_a_process_that_breaks_off_costs_its_program_only(
    misdeed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resit.grading.sandbox.client._GRACE_SECONDS", 0.0)
    script = tmp_path / "faithless.py"
    script.write_text(FAITHLESS, encoding="utf-8")
    box = Sandbox(Limits(seconds=60.0 if "sleep" not in misdeed else 0.5), script)
    assert box.run(misdeed) == Outcome(problem="ended the process that runs programs")
    box.limits = Limits(seconds=60.0)
    assert box.run('say(b\'{"value": "5"}\')') == Outcome("5")
    assert (box.locked, box.given_up) == (True, ("root",))
    assert box.run('say(b\'{"value": 5, "problem": "no text"}\')') == Outcome(None, "no text")
    box.close()


@pytest.mark.parametrize(
    ("script", "said"), [("", "the process ended"), ("print('x' * 9)", "an answer of impossible size")]
)
def test_a_process_that_does_not_start_is_told(script: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text(script, encoding="utf-8")
    box = Sandbox(QUICK, path)
    for _ in range(2):
        with pytest.raises(ResitError, match=f"did not start: {said}"):
            box.start()
    assert box.locked is None
    box.close()


def test_threads_may_share_it(box: Sandbox) -> None:
    found: list[Outcome] = []

    def one(number: int) -> None:
        found.append(box.run(f"ans = {number}"))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(outcome.value or -1) for outcome in found) == list(range(8))
