"""One digest for a data set's rows, whatever file they were read from."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode
"""As `json.dumps`, which would make an encoder anew for every row."""


def dataset_digest(rows: Iterable[Mapping[str, Any]]) -> str:
    """`sha256:` and the hexadecimal sha256 of the rows in canonical form, in order.

    A row's canonical form is its JSON on one line: keys sorted, escaped to ASCII, no spaces, absent and null
    columns alike left out, whole floats written as integers. So JSONL and parquet of the same rows agree.
    """
    digest = hashlib.sha256()
    for row in rows:
        plain = row if all(type(item) is str for item in row.values()) else canonical(row)
        digest.update(_encode(plain).encode("ascii") + b"\n")
    return f"sha256:{digest.hexdigest()}"


def canonical(value: Any) -> Any:
    """A value as JSON holds it, alike for the same value from any format."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        return {str(key): canonical(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    return value.hex() if isinstance(value, bytes) else str(value)


def _number(value: float) -> int | float | str:
    if not math.isfinite(value):
        return str(value)
    return int(value) if value.is_integer() else value
