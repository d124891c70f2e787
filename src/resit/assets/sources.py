"""Where a file can come from: one function a scheme, each writes one file or says why it could not."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from zipfile import BadZipFile, ZipFile

TIMEOUT_SECONDS = 30
GITHUB = re.compile(r"https://github\.com/([^/@]+/[^/@]+)@([^/]+)/(.+)")
PYPI = re.compile(r"pypi:([A-Za-z0-9._-]+)==([^!]+)(?:!(.+))?")
HUB = re.compile(r"hf:(models/)?([^/@]+/[^/@]+)@([^/]+)/(.+)")


class SourceFailure(Exception):
    """A source cannot give the file; the text is the reason."""


Opened = tuple[BinaryIO, int | None]
"""A stream and its length in bytes, where it is known."""


@contextmanager
def _opened_file(source: str) -> Iterator[Opened]:
    path = Path(source.removeprefix("file:")).expanduser()
    try:
        stream = path.open("rb")
    except OSError as error:
        raise SourceFailure(error.strerror or str(error)) from None
    with stream:
        yield stream, path.stat().st_size


@contextmanager
def _opened_https(source: str) -> Iterator[Opened]:
    from urllib.error import URLError
    from urllib.request import Request, urlopen

    url = GITHUB.sub(r"https://raw.githubusercontent.com/\1/\2/\3", source)
    try:
        response = urlopen(Request(url, headers={"User-Agent": "resit"}), timeout=TIMEOUT_SECONDS)
    except (URLError, OSError) as error:
        raise SourceFailure(str(getattr(error, "reason", error))) from None
    with response:
        length = response.headers.get("Content-Length")
        yield response, int(length) if length else None


def _pip_download(requirement: str, folder: Path) -> Path:
    """The wheel that pip's own downloader, and so the user's index settings, gives for a requirement."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", "--retries=1", f"--timeout={TIMEOUT_SECONDS}"]
    shown = sys.stderr.fileno() if sys.stderr.isatty() else subprocess.DEVNULL
    done = subprocess.run(
        [*command, "--dest", str(folder), requirement], stdout=shown, stderr=subprocess.PIPE, check=False
    )
    wheels = list(folder.glob("*.whl"))
    if done.returncode == 0 and wheels:
        return wheels[0]
    said = done.stderr.decode(errors="replace").strip().splitlines()
    errors = [line.removeprefix("ERROR: ") for line in said if line.startswith("ERROR: ")]
    raise SourceFailure("pip: " + (errors or said or ["no wheel came"])[-1])


@contextmanager
def _opened_pypi(source: str) -> Iterator[Opened]:
    match = PYPI.fullmatch(source)
    assert match is not None, source
    package, version, member = match.groups()
    with tempfile.TemporaryDirectory(prefix="resit-") as folder:
        wheel = _pip_download(f"{package}=={version}", Path(folder))
        if member is None:
            with wheel.open("rb") as stream:
                yield stream, wheel.stat().st_size
            return
        with opened_member(wheel, member) as opened:
            yield opened


@contextmanager
def opened_member(archive: Path, member: str) -> Iterator[Opened]:
    """A member of a wheel. Raises SourceFailure when there is none of that name."""
    try:
        with ZipFile(archive) as zipped:
            info = zipped.getinfo(member)
            with zipped.open(info) as stream:
                yield stream, info.file_size  # type: ignore[misc]
    except KeyError:
        raise SourceFailure(f"{archive.name} has no {member}") from None
    except BadZipFile as error:
        raise SourceFailure(f"{archive.name}: {error}") from None


@contextmanager
def _opened_hub(source: str) -> Iterator[Opened]:
    raise SourceFailure("not yet")
    yield


_OPENERS: Mapping[str, Callable[[str], object]] = {
    "file": _opened_file,
    "https": _opened_https,
    "http": _opened_https,
    "pypi": _opened_pypi,
    "hf": _opened_hub,
}


@contextmanager
def opened(source: str) -> Iterator[Opened]:
    """The bytes of a source. Raises SourceFailure with the reason when it cannot be read."""
    opener = _OPENERS[source.partition(":")[0]]
    with opener(source) as found:  # type: ignore[attr-defined]
        yield found
