"""Values that a configuration takes from the environment, and that no file may hold."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from resit.errors import UsageError
from resit.models.secrecy import with_scheme, without_credentials

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_TELLING = 8
"""Characters from which on a value found in a text is the secret, and no chance (a port is in many texts)."""
_DIGITS = 8
"""Of a value's SHA-256: enough to tell it from another one, too few to find a key by."""
_URL = re.compile(r"(^|_)urls?$")
"""Names of settings that are addresses, whether or not these have a scheme."""
_LISTED = re.compile(r"[^\s;]+")
"""One of the addresses in a text."""


def without_logins(value: Any, name: str = "") -> Any:
    """Settings, of that name, whose addresses show host and path only."""
    if isinstance(value, Mapping):
        return {key: without_logins(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shown(item, name) if isinstance(item, str) else without_logins(item, name) for item in value]
    if isinstance(value, str) and _URL.search(name):
        return _LISTED.sub(lambda listed: _shown(listed[0], name), value)
    return _shown(value, name) if isinstance(value, str) else value


def _shown(text: str, name: str) -> str:
    """One address where the name says so, else a text in which addresses may stand."""
    if _URL.search(name):
        return without_credentials(with_scheme(text.strip()))
    return without_credentials(text) if "://" in text else text


class Secrets:
    """Puts in the values of `${NAME}`, and takes them out again wherever they turn up."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self._values: dict[str, str] = {}
        """By name."""
        self._texts: dict[str, str] = {}
        """By text that holds a value, the text that it was made from."""

    def expanded(self, value: Any, where: str) -> Any:
        """The value with each `${NAME}` in its texts replaced. Raises UsageError for one that is not set."""
        if isinstance(value, str):
            expanded = REFERENCE.sub(lambda match: self._value(match[1], where), value)
            if expanded != value:
                self._texts[expanded] = value
            return expanded
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
        self._values[name] = value
        return value

    def hidden(self, value: Any) -> Any:
        """Settings with every secret replaced by its name.

        A short value is in many texts by chance, so it is replaced only where a text is the value, or is one
        that `expanded` made with it.
        """
        return self._replaced(value, self._names())

    def marked(self, value: Any) -> Any:
        """The same for an identity, where another value must be seen to be another one: `${NAME}#digits`."""
        marks = {name: f"{shown}#{_digits(self._values[name])}" for name, shown in self._names().items()}
        return self._replaced(value, marks)

    def hidden_in_text(self, text: str) -> str:
        """What a model or server wrote, without the secrets that are long enough to be told from chance."""
        return _in_text(text, self._telling(self._names()))

    def _names(self) -> dict[str, str]:
        return {name: f"${{{name}}}" for name in self._values}

    def _telling(self, marks: Mapping[str, str]) -> list[tuple[str, str]]:
        """The values that are long enough to be told from chance, with their marks, longest first."""
        telling = [(self._values[name], mark) for name, mark in marks.items()]
        telling = [(value, mark) for value, mark in telling if len(value) >= _TELLING]
        return sorted(telling, key=lambda pair: len(pair[0]), reverse=True)

    def _replaced(self, value: Any, marks: Mapping[str, str]) -> Any:
        """The value with secrets replaced by the marks of their names, in all of its texts."""
        if isinstance(value, str):
            return self._replaced_in(value, marks)
        if isinstance(value, Mapping):
            return {key: self._replaced(item, marks) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._replaced(item, marks) for item in value]
        return value

    def _replaced_in(self, text: str, marks: Mapping[str, str]) -> str:
        telling = self._telling(marks)
        if text in self._texts:
            parts = REFERENCE.split(self._texts[text])  # every other one is a name
            return "".join(marks[part] if i % 2 else _in_text(part, telling) for i, part in enumerate(parts))
        whole = {value: marks[name] for name, value in self._values.items()}
        return whole.get(text) or _in_text(text, telling)


def _digits(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]


def _in_text(text: str, marks: Sequence[tuple[str, str]]) -> str:
    """The text with the pairs replaced one after the other, but never within what was put in."""
    if not marks:
        return text
    (secret, mark), *others = marks
    return mark.join(_in_text(piece, others) for piece in text.split(secret))
