"""Runs the viewer until it is interrupted; needs Starlette and uvicorn (extra `report`)."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from resit.errors import ResitError, UsageError
from resit.reports.page.summary import Pair
from resit.reports.viewer.access import Access, new_token
from resit.reports.viewer.making import RulesOf

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the viewer listens."""

    host: str = LOOPBACK
    port: int = 0
    """0: any that is free."""
    token: bool = False
    """Whether a token is asked for on loopback, too."""

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def serve(
    root: Path, place: Place, rules_of: RulesOf, pairs: Sequence[Pair], tell: Callable[[str], None]
) -> None:
    """Serve the runs below a folder until Ctrl-C; `tell` is given the address.

    Raises UsageError where the folder is not there, the place cannot be had or a package is missing.
    """
    try:
        import uvicorn

        from resit.reports.viewer.app import make_app
        from resit.reports.viewer.viewer import Viewer
    except ImportError as error:
        raise UsageError(f"the viewer needs {error.name}", "pip install 'resit[report]'") from None
    if not root.is_dir():
        raise UsageError(f"{root} is not a folder", "name a folder of runs, or a run")
    listening = _listen(place)
    port = listening.getsockname()[1]
    access = access_of(place, port)
    app = make_app(Viewer(root, rules_of, pairs), access, lambda: server.should_exit)
    tell(address(place, port, access.token))
    config = uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=1,
        limit_concurrency=1000,
    )
    server = uvicorn.Server(config)
    with listening:
        server.run(sockets=[listening])


def access_of(place: Place, port: int) -> Access:
    """The rules for a place: a token wherever others can connect."""
    token = new_token() if place.token or not place.is_loopback else ""
    names = {place.host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}
    return Access(frozenset(names) if token else frozenset(), token, f"resit-{port}")


def address(place: Place, port: int, token: str) -> str:
    """What to open in a browser."""
    host = place.host
    if host in ("0.0.0.0", "::"):
        host = socket.gethostname()
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/" + (f"?token={token}" if token else "")


def _listen(place: Place) -> socket.socket:
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            place.host, place.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(where)
        listening.listen(128)
    except (OSError, OverflowError) as error:
        raise ResitError(
            f"cannot listen on {place.host}, port {place.port}: {error}", "--port 0 takes one that is free"
        ) from error
    return listening
