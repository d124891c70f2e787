"""Where in a response a filter chain reads its answer: to be shown, for scoring has no use for the place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from resit.records import FilterChain, ScoringRules

Span: TypeAlias = tuple[int, int]


def chain_spans(rules: ScoringRules) -> Mapping[str, Callable[[str], Span | None]]:
    """By filter chain that begins with a regular expression: where it reads in a text, [start, end)."""
    return {chain.name: finder for chain in rules.filters if (finder := _finder(chain)) is not None}


def _finder(chain: FilterChain) -> Callable[[str], Span | None] | None:
    first = chain.steps[0] if chain.steps else None
    if first is None or first.function != "regex":
        return None
    pattern = re.compile(str(first.kwargs.get("regex_pattern", r"#### (\-?[0-9\.\,]+)")))
    select = int(first.kwargs.get("group_select", 0))

    def find(text: str) -> Span | None:
        found = [_place(match) for match in pattern.finditer(text)]
        try:
            return _stripped(text, found[select])
        except IndexError:
            return None

    return find


def _place(match: re.Match[str]) -> Span:
    """The span that `findall` reports the text of: the first group that is not empty, or the whole match."""
    groups = range(1, (match.re.groups or 0) + 1)
    return next((match.span(group) for group in groups if match[group]), match.span())


def _stripped(text: str, span: Span) -> Span | None:
    inner = text[slice(*span)]
    start = span[0] + len(inner) - len(inner.lstrip())
    return (start, start + len(inner.strip())) if inner.strip() else None
