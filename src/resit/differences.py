"""Where two records of settings differ: what a refusal lists."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

SHOWN = 80
"""Characters of a value that are shown."""


class Difference(NamedTuple):
    """One place of two nested mappings, as a dotted path, and what each has there as JSON text."""

    path: str
    first: str
    second: str


def differences(first: Any, second: Any, path: str = "") -> Iterator[Difference]:
    """Every place where two nested mappings of JSON values differ; a key that is absent counts as null."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        for key in dict.fromkeys((*first, *second)):
            yield from differences(first.get(key), second.get(key), f"{path}.{key}" if path else str(key))
    elif first != second:
        yield Difference(path, _shown(first), _shown(second))


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
