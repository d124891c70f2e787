"""What model arguments hold that no file and no message may: secrets by name, and logins in addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_SECRET = re.compile(r"(^|_)(key|token|headers?|auth|authorization)$|secret|passw", re.IGNORECASE)
"""Names of model arguments that hold a secret; `tokenizer` or `api_key_env` do not."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_CREDENTIALS = re.compile(r"(?<=://)[^/?#\s]*@|(?<=\S)\?\S*")
"""What an address has besides host and path: user and password, which may hold an @, and a query."""


def is_secret(name: str) -> bool:
    """Whether an argument of that name holds a secret."""
    return _SECRET.search(name) is not None


def secret_names(args: Mapping[str, Any]) -> list[str]:
    """Those of a model's arguments that hold a secret, by their names."""
    return sorted(filter(is_secret, args))


def with_scheme(address: str) -> str:
    """The address with the scheme that is meant where none is written."""
    return address if _SCHEME.match(address) else f"http://{address}"


def without_credentials(address: str) -> str:
    """The address, which has a scheme, as it may be written down: no user, password or query."""
    return _CREDENTIALS.sub("", address)
