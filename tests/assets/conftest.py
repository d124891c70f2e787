"""Loopback servers: a plain one that can misbehave, and one with the hub's endpoints."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

Reply = tuple[int, dict[str, str], bytes]


@dataclass
class Loopback:
    """A running server: its address, what it was asked, and how it replies."""

    reply: Callable[[str, str, dict[str, str]], Reply]
    """Status, headers and body for a method, a path and the request's headers."""
    asked: list[str] = field(default_factory=list)
    cut_after: int | None = None
    """Bytes after which the connection is closed, whatever Content-Length said."""
    hold: threading.Event | None = None
    """Where set, a reply stops half-way until the event is set."""
    half_sent: threading.Event = field(default_factory=threading.Event)
    url: str = ""


def _handler(server: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            server.asked.append(f"{self.command} {self.path}")
            status, headers, body = server.reply(
                self.command, self.path, {k.lower(): v for k, v in self.headers.items()}
            )
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self._send(body if server.cut_after is None else body[: server.cut_after])

        def _send(self, body: bytes) -> None:
            half = len(body) // 2
            self.wfile.write(body[:half])
            if server.hold:
                server.half_sent.set()
                server.hold.wait(20)
            with suppress(BrokenPipeError, ConnectionResetError):
                self.wfile.write(body[half:])

        do_GET = do_HEAD = _answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def _serving(loopback: Loopback) -> Iterator[Loopback]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(loopback))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    loopback.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield loopback
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def web() -> Iterator[Loopback]:
    """A server that gives `/NAME` the bytes NAME repeated 1000 times, and 404 below `/absent`."""

    def reply(_method: str, path: str, _headers: dict[str, str]) -> Reply:
        return (404, {}, b"no") if path.startswith("/absent") else (200, {}, body_of(path))

    yield from _serving(Loopback(reply))


def body_of(path: str) -> bytes:
    """What the `web` server gives for a path."""
    return path.removeprefix("/").encode() * 1000


@dataclass
class Repo:
    """One data set or model on the loopback hub."""

    files: dict[str, bytes]
    branches: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Files by branch; `main` is `files`."""
    gated: bool = False
    token: str = ""
    """Needed to see the repository at all, if any."""
    card: dict[str, Any] = field(default_factory=dict)

    def at(self, revision: str) -> tuple[str, dict[str, bytes]] | None:
        """Commit and files of a branch or commit."""
        branches = {"main": self.files, **self.branches}
        for name, files in branches.items():
            commit = hashlib.sha1(name.encode() + b"".join(files.values())).hexdigest()
            if revision in (name, commit):
                return commit, files
        return None


@dataclass
class Hub:
    """A loopback hub and the repositories on it, by `org/name`."""

    server: Loopback
    repos: dict[str, Repo]

    def add(self, path: str, files: dict[str, bytes], **settings: Any) -> Repo:
        """Put a data set or model on the hub."""
        self.repos[path] = Repo(files, **settings)
        return self.repos[path]

    @property
    def asked(self) -> list[str]:
        """The requests so far."""
        return self.server.asked


def _refused(status: int, code: str) -> Reply:
    return status, {"X-Error-Code": code, "X-Error-Message": code}, b"{}"


def _hub_reply(repos: dict[str, Repo], path: str, headers: dict[str, str]) -> Reply:
    """As the hub replies: metadata as JSON, files by redirect to where the bytes lie."""
    parts = path.partition("?")[0].strip("/").replace("%2F", "/").split("/")
    if parts[0] == "blobs":
        body = next(
            b for r in repos.values() for b in _bodies(r) if hashlib.sha256(b).hexdigest() == parts[1]
        )
        return 200, {}, body
    is_info = parts[0] == "api"
    is_model = not is_info and parts[0] != "datasets"
    org, name, *rest = parts[2:] if is_info else parts if is_model else parts[1:]
    repo = repos.get(f"{org}/{name}")
    sent = headers.get("authorization", "")
    if repo is None or (repo.token and sent != f"Bearer {repo.token}"):
        return _refused(401, "RepoNotFound")
    revision, file = _revision_and_file(rest, is_info)
    found = repo.at(revision)
    if found is None:
        return _refused(404, "RevisionNotFound")
    commit, files = found
    if rest[:1] == ["tree"]:
        tree = [{"type": "file", "path": n, "oid": "0", "size": len(body)} for n, body in files.items()]
        return 200, {"Content-Type": "application/json"}, json.dumps(tree).encode()
    if is_info:
        info = {"id": f"{org}/{name}", "sha": commit, "siblings": [{"rfilename": n} for n in sorted(files)]}
        return 200, {"Content-Type": "application/json"}, json.dumps({**info, "cardData": repo.card}).encode()
    if repo.gated:
        return _refused(403, "GatedRepo")
    if file not in files:
        return _refused(404, "EntryNotFound")
    digest = hashlib.sha256(files[file]).hexdigest()
    place = {
        "Location": f"http://localhost:{headers['host'].rpartition(':')[2]}/blobs/{digest}",
        "X-Repo-Commit": commit,
        "ETag": f'"{digest}"',
    }
    return 302, {**place, "X-Linked-Etag": f'"{digest}"', "X-Linked-Size": str(len(files[file]))}, b""


def _bodies(repo: Repo) -> list[bytes]:
    return [body for files in (repo.files, *repo.branches.values()) for body in files.values()]


def _revision_and_file(rest: list[str], is_info: bool) -> tuple[str, str]:
    if is_info:
        return "/".join(rest[1:]) or "main", ""
    words = rest[1:]
    length = 3 if words[0] == "refs" else 1
    return "/".join(words[:length]), "/".join(words[length:])


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A loopback hub that HF_ENDPOINT points to, with an empty huggingface-hub cache."""
    repos: dict[str, Repo] = {}
    server = Loopback(lambda _method, path, headers: _hub_reply(repos, path, headers))
    for serving in _serving(server):
        monkeypatch.setenv("HF_ENDPOINT", serving.url)
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
        yield Hub(serving, repos)
