"""Writes the catalogue's index: `python -m resit.tasks.indexing`. A test keeps it equal to the files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from resit.tasks.files import Place, parse, read
from resit.tasks.names import CATALOGUE, INDEX
from resit.tasks.shelves import is_group, tags_of

PAIRS = "pairs.yaml"


def built() -> dict[str, Any]:
    """The index as the catalogue's files have it."""
    places = (
        Place(str(path))
        for path in sorted(CATALOGUE.rglob("*.yaml"))
        if path.name != PAIRS and path.parent.name != "parts"
    )
    entries = dict(_entry(place) for place in places)
    return {"entries": dict(sorted(entries.items())), "pairs": parse(Place(str(CATALOGUE / PAIRS)))}


def _entry(place: Place) -> tuple[str, Mapping[str, Any]]:
    keys = read(place)
    own = keys.get("resit") or {}
    entry: dict[str, Any] = {
        "file": place.path.removeprefix(f"{CATALOGUE}/").replace("\\", "/"),
        "about": own.get("about", ""),
    }
    if is_group(keys):
        return keys["group"], {**entry, "about": keys.get("group_alias") or "", "members": keys["task"]}
    return keys["task"], {**entry, "tags": list(tags_of(keys)), "status": own.get("status", "experimental")}


def main() -> None:
    """Write the index."""
    INDEX.write_text(json.dumps(built(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
