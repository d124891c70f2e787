"""Adds up tallies that were made apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

Tally = TypeVar("Tally")


def merged(first: Tally, second: Tally) -> Tally:
    """Two tallies of different questions as one, as if `first` had gone on to take in those of `second`.

    Numbers are added, lists appended, sets united, mappings merged key by key; of two texts the first that
    says something is kept; a tally's fields are merged one by one.
    """
    return _merged(first, second)  # type: ignore[no-any-return]


def _merged(first: Any, second: Any) -> Any:
    if is_dataclass(first) and not isinstance(first, type):
        parts = {f.name: _merged(getattr(first, f.name), getattr(second, f.name)) for f in fields(first)}
        return type(first)(**parts)
    if isinstance(first, Mapping):
        both = {key: _merged(value, second[key]) if key in second else value for key, value in first.items()}
        return type(first)({**both, **{key: value for key, value in second.items() if key not in first}})  # type: ignore[call-arg]
    if isinstance(first, set):
        return first | second
    if isinstance(first, str):
        return first or second
    return first + second
