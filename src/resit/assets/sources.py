"""Where a file can come from: one function a scheme opens it, or says why it cannot.

Plain `urllib` reads https: pooch would bring requests and its four packages, and knows neither sources
in order nor wheels nor the hub.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

TIMEOUT_SECONDS = 30
GITHUB = re.compile(r"https://github\.com/([^/@]+/[^/@]+)@([^/]+)/(.+)")
PYPI = re.compile(r"pypi:([A-Za-z0-9._-]+)==([^!]+)(?:!(.+))?")


_only_here: ContextVar[bool] = ContextVar("only_here", default=False)


@contextmanager
def only_here() -> Iterator[None]:
    """Within, nothing is fetched: what is not on this machine cannot be had."""
    token = _only_here.set(True)
    try:
        yield
    finally:
        _only_here.reset(token)


def check_may_fetch() -> None:
    """Raise SourceFailure where nothing may be fetched."""
    if _only_here.get():
        raise SourceFailure("it is not on this machine, and nothing is fetched now", "`resit data download`")


class SourceFailure(Exception):
    """A source cannot give the file; the text is the reason."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Opened:
    """A source's bytes, and how many there are where that is known."""

    stream: BinaryIO
    length: int | None = None


@contextmanager
def opened_path(path: Path) -> Iterator[Opened]:
    """A file on this machine."""
    try:
        stream = path.open("rb")
    except OSError as error:
        raise SourceFailure(error.strerror or str(error)) from None
    with stream:
        yield Opened(stream, path.stat().st_size)


def _file(source: str) -> AbstractContextManager[Opened]:
    return opened_path(Path(source.removeprefix("file:")).expanduser())


@contextmanager
def _https(source: str) -> Iterator[Opened]:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    url = GITHUB.sub(r"https://raw.githubusercontent.com/\1/\2/\3", source)
    try:
        response = urlopen(Request(url, headers={"User-Agent": "resit"}), timeout=TIMEOUT_SECONDS)
    except HTTPError as error:
        error.close()
        raise SourceFailure(f"HTTP {error.code} {error.reason}") from None
    except (OSError, HTTPException, ValueError) as error:
        raise SourceFailure(str(getattr(error, "reason", error)) or type(error).__name__) from None
    with response:
        yield Opened(response, response.length)


def _pip_download(requirement: str, folder: Path) -> Path:
    """The wheel that pip's own downloader, and so the user's index settings, gives for a requirement."""
    import subprocess

    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", "--retries=1", f"--timeout={TIMEOUT_SECONDS}"]
    shown = sys.stderr if sys.stderr.isatty() else subprocess.DEVNULL
    done = subprocess.run(
        [*command, "--dest", str(folder), requirement], stdout=shown, stderr=subprocess.PIPE, check=False
    )
    wheels = [*folder.glob("*.whl")]
    if done.returncode == 0 and wheels:
        return wheels[0]
    raise _pip_failure(done.stderr.decode(errors="replace"))


def _pip_failure(said: str) -> SourceFailure:
    """pip's last complaint; that it could not connect at all stands in earlier lines, as warnings."""
    if "No module named pip" in said:
        return SourceFailure("this Python has no pip", "python -m ensurepip")
    errors = [line.partition("ERROR: ")[2].strip() for line in said.splitlines() if "ERROR: " in line]
    reason = errors[-1] if errors else "no wheel came"
    unreached = " (no connection to the package index)" if "connection broken" in said else ""
    return SourceFailure(f"pip: {reason}{unreached}")


@contextmanager
def _pypi(source: str) -> Iterator[Opened]:
    import tempfile

    match = PYPI.fullmatch(source)
    if match is None:
        raise SourceFailure("expected pypi:package==version!path/in/wheel")
    package, version, member = match.groups()
    with tempfile.TemporaryDirectory(prefix="resit-") as folder:
        wheel = _pip_download(f"{package}=={version}", Path(folder))
        with opened_path(wheel) if member is None else opened_member(wheel, member) as found:
            yield found


@contextmanager
def opened_member(archive: Path, member: str) -> Iterator[Opened]:
    """A member of a wheel. Raises SourceFailure when there is none of that name."""
    from zipfile import BadZipFile, ZipFile

    with contextlib.ExitStack() as stack:
        try:
            zipped = stack.enter_context(ZipFile(archive))
            info = zipped.getinfo(member)
            stream = stack.enter_context(zipped.open(info))
        except KeyError:
            raise SourceFailure(f"{archive.name} has no {member}") from None
        except (OSError, BadZipFile) as error:
            raise SourceFailure(f"{archive.name}: {error}") from None
        yield Opened(cast(BinaryIO, stream), info.file_size)


@contextmanager
def _hub(source: str) -> Iterator[Opened]:
    from resit.assets import hub

    with opened_path(hub.file(source)) as found:
        yield found


_OPENERS: Mapping[str, Callable[[str], AbstractContextManager[Opened]]] = {
    "file": _file,
    "https": _https,
    "http": _https,
    "pypi": _pypi,
    "hf": _hub,
}


def opened(source: str) -> AbstractContextManager[Opened]:
    """The bytes of a source; entering raises SourceFailure with the reason when it cannot be read."""
    scheme = source.partition(":")[0]
    if scheme not in _OPENERS:
        raise SourceFailure(f"unknown kind of source, expected one of {', '.join(_OPENERS)}")
    if scheme not in ("file", "hf"):  # the hub has a cache of its own, which is looked in first
        check_may_fetch()
    return _OPENERS[scheme](source)
