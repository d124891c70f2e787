"""Who may ask the viewer, and what a browser may do with its answers.

The threats: a page of another site that the user has open, which sends requests to loopback or has its own
name resolve to it (DNS rebinding); another user or machine that can reach the port; and what a model wrote,
which must not become a script.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
"""Of every answer. Scripts and styles are files of Resit; nothing is taken from, or told, elsewhere."""

_HOST = re.compile(r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::[0-9]{1,5})?")


@dataclass(frozen=True, slots=True)
class Access:
    """The rules of one server."""

    hosts: frozenset[str] = frozenset()
    """Names by which it may be called, beside `localhost` and addresses."""
    token: str = ""
    """What has to be shown; empty: nothing (loopback)."""
    cookie: str = "resit"
    """Name of the cookie that holds the token; with the port, for servers on one machine share cookies."""

    def refusal(self, method: str, headers: dict[str, str]) -> tuple[int, str] | None:
        """Status and reason for a request that is not answered, whatever it asks for."""
        if method not in ("GET", "HEAD"):
            return 405, "the viewer only reads: GET and HEAD"
        if not self._knows(_host(headers.get("host", ""))):
            return 403, "called by a name that is not this server's"
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower():
            return 403, "asked by a page of another origin"
        navigates = (
            headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        )
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not navigates:
            return 403, "asked by a page of another site"
        return None

    def _knows(self, host: str) -> bool:
        if host == "localhost" or host in self.hosts:
            return True
        try:  # an address cannot be made to point here by a name server
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        return address.is_loopback or bool(self.token)

    def admits(self, headers: dict[str, str], offered: str | None) -> bool:
        """Whether a request shows the token: in its address, its cookie or as a bearer."""
        if not self.token:
            return True
        shown = (offered, _cookie(headers.get("cookie", ""), self.cookie), _bearer(headers))
        return any(_same(value, self.token) for value in shown)


def new_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(24)


def guarded(app: App, access: Access) -> App:
    """The application behind the rules: refused requests never reach it, and every answer has `HEADERS`."""

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = access.refusal(scope["method"], headers)
        if refusal is not None:
            await _answer(send, *refusal)
            return
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        offered = next((value for name, value in query if name == "token"), None)
        if not access.admits(headers, offered):
            await _answer(
                send, 401, "the token is missing or wrong: open the address that `resit view` printed"
            )
        elif access.token and offered is not None:
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            await _remember(send, scope["path"] + (f"?{rest}" if rest else ""), access)
        else:
            await app(scope, receive, _with_headers(send))

    return guard


async def _remember(send: Send, address: str, access: Access) -> None:
    """The token goes into a cookie and out of the address, where it would end up in histories."""
    cookie = f"{access.cookie}={access.token}; Path=/; HttpOnly; SameSite=Lax"
    local = "/" + address.lstrip("/\\")
    await _answer(send, 303, "", {"location": local, "set-cookie": cookie})


async def _answer(send: Send, status: int, text: str, more: dict[str, str] | None = None) -> None:
    headers = {**HEADERS, "content-type": "text/plain; charset=utf-8", **(more or {})}
    if status == 405:
        headers["allow"] = "GET, HEAD"
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": text.encode()})


def _with_headers(send: Send) -> Send:
    async def told(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message.get("headers", [])}
            added = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in given]
            message = {**message, "headers": [*message.get("headers", []), *added]}
        await send(message)

    return told


def _host(value: str) -> str:
    """The name in a Host header, without its port; empty where it is not what a header may hold."""
    found = _HOST.fullmatch(value.lower())
    return (found["address"] or found["name"]).rstrip(".") if found else ""


def _cookie(header: str, name: str) -> str | None:
    try:
        found = SimpleCookie(header).get(name)
    except CookieError:
        return None
    return found.value if found else None


def _bearer(headers: dict[str, str]) -> str | None:
    scheme, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else None


def _same(shown: str | None, token: str) -> bool:
    """Compared in a time that does not tell how much of it is right."""
    return hmac.compare_digest((shown or "").encode("utf-8", "surrogatepass"), token.encode())
