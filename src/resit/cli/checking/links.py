"""Checks that what is referred to stays what it is: commits and releases, no branches."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException

from resit import assets, tasks
from resit.assets.hub import SOURCE as HUB
from resit.assets.sources import GITHUB
from resit.cli.checking.ledger import Ledger, Place
from resit.cli.checking.texts import documents

COMMIT = re.compile(r"[0-9a-f]{7,40}")
RELEASE = re.compile(r"v?\d+(\.\d+)+")
URL = re.compile(r"https?://[^\s<>()\"'`\]]+")
IN_REPOSITORY = re.compile(
    r"https://(?:github\.com|huggingface\.co)/(?:datasets/)?[^/@\s]+/[^/@\s]+"
    r"(?:/(?:blob|tree|raw|resolve)/|@)([^/\s]+)"
)
PINNED = re.compile(r"\b[0-9a-f]{7,40}\b|\b\d+(\.\d+)+\b|\barXiv v\d+\b|^none\b")
LOCAL = re.compile(r"https?://(localhost|127\.|0\.0\.0\.0|node\d|[^/]*example\.(org|com)|HOST|…)")
GONE = (404, 410)
SECONDS = 20


def pinned(place: Place, ledger: Ledger) -> None:
    """Sources, licences, tasks' references and documentation name a commit or a release."""
    links: dict[str, str] = {}
    for where, link, excuse in _links(place):
        with ledger.item(where):
            revision = _revision(link)
            if revision is not None and not _stays(revision) and not excuse:
                ledger.wrong(where, f"{link} follows {revision!r}, which moves: name a commit")
        links.setdefault(link, where)
    for task in tasks.load(list(tasks.index())):
        reference = task.config.resit.reference
        if reference:
            with ledger.item(task.name):
                if not PINNED.search(reference.pinned):
                    ledger.wrong(task.name, f"its reference is pinned by {reference.pinned!r}, no commit")
    if place.deep:
        _open_all(links, ledger)


def _links(place: Place) -> Iterator[tuple[str, str, str]]:
    """(where, link, why it may follow a branch)."""
    for entry in assets.catalogue().values():
        for file in entry.files.values():
            yield from ((str(file), source, entry.unpinned) for source in file.sources)
        for text in (entry.licence_stated_in, entry.provenance, entry.note):
            yield from ((entry.name, _trimmed(url), entry.unpinned) for url in URL.findall(text))
    for page, written in documents(place):
        for number, line in enumerate(written.split("\n"), 1):
            for url in URL.findall(line):
                if not LOCAL.match(url):
                    yield f"{page}:{number}", _trimmed(url), ""


def _trimmed(url: str) -> str:
    return url.rstrip(".,;:*")


def _revision(link: str) -> str | None:
    """The revision that a link names; None for one that names none."""
    match = HUB.fullmatch(link)
    if match:
        return match[3]
    within = IN_REPOSITORY.match(link)
    return within[1] if within else None


def _stays(revision: str) -> bool:
    return bool(COMMIT.fullmatch(revision) or RELEASE.fullmatch(revision))


def address(link: str) -> str | None:
    """Where a link can be opened; None for one that is no address (a package, a local file)."""
    match = HUB.fullmatch(link)
    if match:
        kind = "" if match[1] else "datasets/"
        return f"https://huggingface.co/{kind}{match[2]}/resolve/{match[3]}/{match[4]}"
    if link.startswith("http"):
        return GITHUB.sub(r"https://raw.githubusercontent.com/\1/\2/\3", link)
    return None


def _open_all(links: dict[str, str], ledger: Ledger) -> None:
    for link, where in links.items():
        url = address(link)
        if url is None:
            continue
        problem, unreachable = opened(url)
        if unreachable:
            ledger.skip(where, f"{url} cannot be reached: {unreachable}")
        else:
            ledger.checked += 1
            if problem:
                ledger.wrong(where, f"{url}: {problem}")


def opened(url: str) -> tuple[str, str]:
    """(what is wrong with an address, why it cannot be told): both empty when it opens."""
    request = urllib.request.Request(url, method="HEAD", headers={"User-Agent": "resit-check"})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS):
            return "", ""
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in GONE:
            return f"there is nothing (HTTP {error.code})", ""
        return "", f"HTTP {error.code}"
    except (OSError, HTTPException, ValueError) as error:
        return "", str(getattr(error, "reason", "") or error) or type(error).__name__
