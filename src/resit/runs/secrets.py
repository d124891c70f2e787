"""Values that a configuration takes from the environment, and that no file may hold."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from resit.errors import UsageError

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_TELLING = 8
"""Characters from which on a value found in a text is the secret, and no chance (a port is in many texts)."""


_LOGIN = re.compile(r"(?<=://)[^/@\s;]+@|(?<=\S)\?[^\s;]*")
"""What an address has besides host and path: user and password, and a query, where keys may be."""


def without_logins(value: Any) -> Any:
    """Settings whose addresses show host and path only."""
    if isinstance(value, str):
        return _LOGIN.sub("", value) if "://" in value else value
    if isinstance(value, Mapping):
        return {key: without_logins(item) for key, item in value.items()}
    return [without_logins(item) for item in value] if isinstance(value, list | tuple) else value


class Secrets:
    """Puts in the values of `${NAME}`, and takes them out again wherever they turn up."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self._values: dict[str, str] = {}

    def expanded(self, value: Any, where: str) -> Any:
        """The value with each `${NAME}` in its texts replaced. Raises UsageError for one that is not set."""
        if isinstance(value, str):
            return REFERENCE.sub(lambda match: self._value(match[1], where), value)
        if isinstance(value, Mapping):
            return {key: self.expanded(item, f"{where}.{key}") for key, item in value.items()}
        if isinstance(value, list):
            return [self.expanded(item, f"{where}.{index}") for index, item in enumerate(value)]
        return value

    def _value(self, name: str, where: str) -> str:
        value = self._environment.get(name, "")
        if not value:
            raise UsageError(
                f"{where}: the environment variable {name} is not set",
                f"set it before the command: {name}=… resit",
            )
        self._values[value] = f"${{{name}}}"
        return value

    def hidden(self, value: Any) -> Any:
        """Settings with every secret replaced by its name, in whatever text it stands."""
        return self._without(value, 1)

    def hidden_in_text(self, text: str) -> str:
        """What a model or server wrote, without the secrets that are long enough to be told from chance."""
        return str(self._without(text, _TELLING))

    def _without(self, value: Any, least: int) -> Any:
        if isinstance(value, str):
            for secret in sorted(self._values, key=len, reverse=True):
                if len(secret) >= least:
                    value = value.replace(secret, self._values[secret])
            return value
        if isinstance(value, Mapping):
            return {key: self._without(item, least) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._without(item, least) for item in value]
        return value
