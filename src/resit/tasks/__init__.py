"""The task catalogue, lm-eval's task language and its loader; imported lazily, so that listing is cheap."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from resit.tasks.identity import check_pair, protocol, protocol_digest
    from resit.tasks.loader import Group, Selection, load, select
    from resit.tasks.names import Entry, Pair, index, pairs, tags
    from resit.tasks.task import Task

_HOMES = {
    "identity": ("check_pair", "protocol", "protocol_digest"),
    "loader": ("Group", "Selection", "load", "select"),
    "names": ("Entry", "Pair", "index", "pairs", "tags"),
    "task": ("Task",),
}

__all__ = [
    "Entry",
    "Group",
    "Pair",
    "Selection",
    "Task",
    "check_pair",
    "index",
    "load",
    "pairs",
    "protocol",
    "protocol_digest",
    "select",
    "tags",
]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"resit.tasks.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
