"""What an address may ask: its parameters, checked. Nothing in them is a path, a pattern or a command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from resit.errors import UsageError
from resit.reports.viewer import listing, table

MOST_RUNS = 8
MOST_ROWS = 500
MOST_TEXT = 1000
Choice = TypeVar("Choice", bound=str)
Query = Mapping[str, str]


def run_ids(query: Query, name: str = "runs") -> list[str]:
    """The runs that are asked about, at least one. UsageError for none or too many."""
    found = [part for part in text(query, name).split(",") if part]
    if not 1 <= len(found) <= MOST_RUNS:
        raise UsageError(f"{name}: expected 1 to {MOST_RUNS} runs, found {len(found)}")
    return found


def text(query: Query, name: str, default: str = "") -> str:
    """A text of at most `MOST_TEXT` characters."""
    value = query.get(name, default)
    if len(value) > MOST_TEXT:
        raise UsageError(f"{name}: expected at most {MOST_TEXT} characters, found {len(value)}")
    return value


def whole(query: Query, name: str, default: int, most: int) -> int:
    """A whole number from 0 to `most`."""
    value = query.get(name, "")
    if not value:
        return default
    if not (value.isascii() and value.isdecimal() and len(value) <= 12):
        raise UsageError(f"{name}: expected a whole number, found {value!r:.40}")
    return min(int(value), most)


def choice(query: Query, name: str, choices: Sequence[Choice]) -> Choice:
    """One of some words; the first where none is given."""
    value = query.get(name) or choices[0]
    for known in choices:
        if known == value:
            return known
    raise UsageError(f"{name}: expected one of {', '.join(choices)}, found {value!r:.40}")


def rows_asked(query: Query) -> listing.Asked:
    """Which rows of a task."""
    return listing.Asked(
        run=whole(query, "run", 0, MOST_RUNS),
        against=whole(query, "against", 0, MOST_RUNS) if query.get("against") else None,
        rule=text(query, "rule"),
        show=choice(query, "show", listing.SHOWS),
        sort=choice(query, "sort", listing.SORTS),
    )


def table_asked(query: Query) -> table.Asked:
    """Which rows of the table of runs."""
    return table.Asked(
        search=text(query, "search"),
        sort=choice(query, "sort", table.SORTS),
        descending=query.get("order") == "descending",
        offset=whole(query, "offset", 0, 10**9),
        count=whole(query, "count", 100, MOST_ROWS),
    )
