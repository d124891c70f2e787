"""The documentation's text and its code blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from resit.cli.checking.ledger import Place, needs_checkout

FENCE = re.compile(r"^(?P<indent> *)(?P<fence>```+|~~~+) *(?P<language>[\w+-]*)[^\n]*$")
PLACES = ("*.md", "docs/**/*.md", "examples/**/*.md")
NOT_OURS = {".venv", ".venv-vllm", "node_modules", "site"}


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced code block."""

    file: str
    line: int
    """Of its first line, from 1."""
    language: str
    lines: tuple[str, ...]


def documents(place: Place) -> Iterator[tuple[str, str]]:
    """(name, text) of every page of documentation; none without a checkout."""
    if place.checkout is None:
        return
    for file in pages(place.checkout):
        yield file.relative_to(place.checkout).as_posix(), file.read_text(encoding="utf-8", errors="replace")


def pages(root: Path) -> list[Path]:
    """The pages of documentation of a working tree."""
    found = {file for pattern in PLACES for file in root.glob(pattern)}
    return sorted(file for file in found if not NOT_OURS & set(file.relative_to(root).parts))


def blocks(place: Place, *languages: str) -> Iterator[Block]:
    """The code blocks in those languages. Raises Unchecked without a checkout."""
    needs_checkout(place)
    for file, text in documents(place):
        yield from (block for block in fenced(file, text) if block.language in languages)


def fenced(file: str, text: str) -> Iterator[Block]:
    """Every fenced block of a page."""
    opening: re.Match[str] | None = None
    first, inside = 0, list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        match = FENCE.match(line)
        if opening is None:
            if match:
                opening, first, inside = match, number + 1, []
        elif match and match["fence"].startswith(opening["fence"]) and not match["language"]:
            yield Block(file, first, opening["language"].lower(), tuple(inside))
            opening = None
        else:
            inside.append(line.removeprefix(opening["indent"]))
