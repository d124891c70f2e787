"""One HTTP session with a server: addresses, keys, certificates, proxies; a response's bytes, bounded."""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import aiohttp
from multidict import CIMultiDict

from resit.errors import UsageError
from resit.models.failures import Failure, Kind
from resit.models.secrecy import without_credentials

MAX_BODY = 64 << 20
"""Bytes; no answer to a question is longer."""
CONNECT_SECONDS = 30.0
TELLING = 8
"""Characters from which on a value found in a message is the secret, and no chance."""


@dataclass(frozen=True)
class Access:
    """How a server is reached. The key is in no representation of it."""

    url: str
    """With its scheme."""
    key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = 600.0
    """Seconds that one request may take from its sending; waiting in our own queue does not count."""
    verify_certificate: bool = True
    ca_file: Path | None = None

    @property
    def login(self) -> str:
        """`user:password` of the address; a key goes before it."""
        return unquote(urlsplit(self.url).netloc.rpartition("@")[0])

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """What no message may repeat: key, header values and what the address has besides host and path."""
        login, query = self.login, urlsplit(self.url).query
        values = [self.key or "", *self.headers.values(), login, login.partition(":")[2]]
        values += [base64.b64encode(login.encode()).decode(), *(value for _, value in parse_qsl(query))]
        told_from_chance = {value for value in values if len(value) >= TELLING}
        words = {word for value in told_from_chance for word in value.split() if len(word) >= TELLING}
        return tuple(sorted({*told_from_chance, *words}, key=len, reverse=True))


def find_key(variable: str, host: str) -> str | None:
    """The key in an environment variable, else the keyring's (where installed) for `resit` and the host."""
    key = os.environ.get(variable, "").strip()
    if key:
        return key
    try:
        import keyring
    except ImportError:
        return None
    try:
        found: str | None = keyring.get_password("resit", host)
    except Exception:  # a locked or absent keyring is no key, whatever its backend raises
        return None
    return found


def is_loopback(url: str) -> bool:
    """Whether the address is this machine, which no proxy can reach."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _tls(access: Access) -> ssl.SSLContext | bool:
    if not access.verify_certificate:
        return False
    if access.ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=str(access.ca_file))
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"ca_cert_path={access.ca_file}: not a certificate file ({error})") from None


def _headers(access: Access) -> CIMultiDict[str]:
    """Each header once, however its name is written: what the user says counts over what we would say."""
    headers = CIMultiDict({"Content-Type": "application/json", "Accept": "application/json"})
    headers.update(access.headers)
    if access.key:
        headers.setdefault("Authorization", f"Bearer {access.key}")
    elif login := access.login:
        headers.setdefault("Authorization", f"Basic {base64.b64encode(login.encode()).decode()}")
    return headers


def open_session(access: Access) -> aiohttp.ClientSession:
    """A session for many requests at once. Call inside the event loop. Raises UsageError."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=_tls(access)),
        timeout=aiohttp.ClientTimeout(total=access.timeout, sock_connect=CONNECT_SECONDS),
        headers=_headers(access),
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=not is_loopback(access.url),
    )


async def exchange(
    session: aiohttp.ClientSession, method: str, url: str, body: bytes | None = None
) -> tuple[int, Mapping[str, str], bytes]:
    """Status, headers and body of one request; redirects are not followed, they would carry the key away.

    Raises Failure when no whole response arrives.
    """
    try:
        async with session.request(method, url, data=body, allow_redirects=False) as response:
            return response.status, response.headers, await _bounded(response)
    except aiohttp.ConnectionTimeoutError:
        raise Failure(Kind.PASSING, f"no connection within {CONNECT_SECONDS:g} s", silent=True) from None
    except TimeoutError:
        raise Failure(Kind.PASSING, f"no answer within {session.timeout.total:g} s", silent=True) from None
    except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError):  # their words repeat the query
        raise Failure(Kind.ACCESS, f"{without_credentials(url)!r} is not an address of HTTP") from None
    except aiohttp.ClientConnectorCertificateError as error:
        raise Failure(
            Kind.ACCESS,
            f"the server's certificate is not trusted ({error}); verify_certificate=false accepts it",
        ) from None
    except (aiohttp.ClientError, OSError, asyncio.IncompleteReadError) as error:
        words = f"connection trouble: {error or type(error).__name__}"
        raise Failure(Kind.PASSING, words, silent=True) from None


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    parts, size = [], 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > MAX_BODY:
            response.close()
            raise Failure(Kind.REQUEST, f"an answer of more than {MAX_BODY >> 20} MiB")
        parts.append(part)
    return b"".join(parts)
