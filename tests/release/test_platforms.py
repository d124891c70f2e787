"""Nothing that Resit imports needs a Unix: what only some platforms have is looked for where it is used."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2] / "src"
ABSENT_ELSEWHERE = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty", "uvloop")
WITHOUT_A_UNIX = f"""
import builtins, importlib, os, signal, sys

# Libraries may ask for a Unix as they like on one: they are here before it goes.
import aiohttp, asyncio, filelock, jinja2, multiprocessing, numpy, platformdirs, pydantic, rich, scipy.stats
import scipy.special, scipy.optimize, ssl, subprocess, tempfile, typer, yaml, zipfile, http.server

for name in {ABSENT_ELSEWHERE!r}:
    sys.modules[name] = None
for module, names in (
    (os, "fork forkpty geteuid getuid getgid killpg pread pwrite setsid sysconf uname mkfifo wait4 wait3 "
         "sched_getaffinity O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_CLOEXEC WIFSIGNALED getpgid statvfs"),
    (signal, "SIGKILL SIGALRM SIGHUP SIGUSR1 SIGUSR2 SIGXCPU SIGPIPE SIGCHLD SIGQUIT pthread_sigmask pause "
             "alarm setitimer siginterrupt"),
):
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)

for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ImportError as error:
        missing = getattr(error, "name", None) or ""
        if missing.partition(".")[0] in ("resit", *{ABSENT_ELSEWHERE!r}):
            raise
        print("left out:", name, "for want of", missing)
"""


def modules() -> list[str]:
    """Every module of the package but the programs that are started by their path."""
    found = pkgutil.walk_packages([str(ROOT / "resit")], "resit.", onerror=lambda name: None)
    programs = ("resit.grading.sandbox.jail", "resit.grading.sandbox.seccomp", "resit.__main__")
    return [module.name for module in found if module.name not in programs]


def test_every_module_is_imported_where_there_is_no_unix() -> None:
    names = modules()
    assert len(names) > 200
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_A_UNIX, *names],
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert run.returncode == 0, run.stderr
    heavy = {line.rpartition(" ")[2].partition(".")[0] for line in run.stdout.splitlines()}
    assert heavy <= {"ray", "torch", "transformers", "vllm", "xllamacpp", "pyarrow", "starlette"}, run.stdout


def test_no_folder_of_a_unix_is_written_into_the_source() -> None:
    found = [
        (path.name, place)
        for path in ROOT.rglob("*.py")
        for place in ('"/tmp', "'/tmp", '"/var/', '"/home', '"/usr/', '"/opt/')
        if place in path.read_text(encoding="utf-8")
    ]
    assert found == []
