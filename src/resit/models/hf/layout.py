"""How the new tokens of one forward pass lie: first one a decoding row, then runs of prompt tokens."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import torch
from torch import Tensor

from resit.models.hf.cache import SharedStore

BANDS = 4
"""Most groups of neighbouring places that are attended to with a length of their own."""

ROWS_A_BAND = 8
"""A band of fewer rows would cost more in calls than it saves in keys."""


IN_VAIN = 512
"""Keys that a band may read for nothing before it is worth dividing."""


def window_mask(positions: Tensor, start: int, count: int, window: int | None) -> Tensor:
    """Which of `count` keys from position `start` on queries at `positions` see: True (queries, keys)."""
    keys = torch.arange(start, start + count, device=positions.device)
    seen = keys <= positions[:, None]
    return seen if window is None else seen & (keys > positions[:, None] - window)


def hiding(hidden: Tensor) -> Tensor:
    """0, and minus infinity where hidden: adding it costs a sixth of filling by a mask."""
    return torch.zeros(hidden.shape, device=hidden.device).masked_fill_(hidden, -torch.inf)


@dataclass(frozen=True, slots=True)
class Span:
    """New tokens at consecutive positions, packed at `begin` to `end`, of a shared node or of one row."""

    begin: int
    end: int
    offset: int
    """Tokens that the node's store or the row's own cache holds before them."""
    store: SharedStore | None = None
    place: int = -1

    @property
    def count(self) -> int:
        """New tokens."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Band:
    """Neighbouring places whose rows are attended to up to the same length."""

    first: int
    last: int
    length: int
    queries: slice
    """Which of the decoding rows lie in it."""

    def rows(self, places: Tensor) -> Tensor:
        """Where in the band its decoding rows lie."""
        return places[self.queries] - self.first


class Group:
    """A shared run of tokens, and the packed queries that stand below it."""

    __slots__ = ("_index", "start", "store", "tokens")

    def __init__(
        self, store: SharedStore, start: int, tokens: int, ranges: Iterable[tuple[int, int]]
    ) -> None:
        self.store = store
        self.start = start
        self.tokens = tokens
        joined: list[tuple[int, int]] = []
        for begin, end in sorted(ranges):
            if joined and joined[-1][1] == begin:
                joined[-1] = (joined[-1][0], end)
            else:
                joined.append((begin, end))
        self._index: slice | Tensor = (
            slice(*joined[0])
            if len(joined) == 1
            else torch.cat([torch.arange(begin, end) for begin, end in joined])
        )

    def on(self, device: torch.device) -> slice | Tensor:
        """Index of the queries, on the layer's device."""
        if isinstance(self._index, Tensor) and self._index.device != device:
            self._index = self._index.to(device)
        return self._index


@dataclass(slots=True)
class Pass:
    """What one forward pass computes."""

    token_ids: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    """Of the decoding rows, in the order of their tokens, ascending."""
    lengths: list[int] = field(default_factory=list)
    """Own tokens of each, the new one included."""
    spans: list[Span] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    bands: list[Band] = field(default_factory=list)
    _tensors: dict[tuple[object, ...], Tensor | None] = field(default_factory=dict)

    @property
    def dense(self) -> bool:
        """Whether the decoding rows fill the places from 0 on without a gap."""
        return not self.places or self.places[-1] == len(self.places) - 1

    def add(self, tokens: Sequence[int], position: int) -> tuple[int, int]:
        """Append tokens that stand from `position` on; where they are packed, [begin, end)."""
        begin = len(self.token_ids)
        self.token_ids.extend(tokens)
        self.positions.extend(range(position, position + len(tokens)))
        return begin, len(self.token_ids)

    def finish(self) -> None:
        """Divide the places into bands; call when every row is in."""
        if self.places:
            self.bands = bands(self.places, self.lengths)

    def on(self, device: torch.device, name: str) -> Tensor:
        """`places`, `last` (index of each row's newest key), `positions` or `token_ids`, on a device."""
        key = (name, device)
        if key not in self._tensors:
            held = [n - 1 for n in self.lengths] if name == "last" else getattr(self, name)
            self._tensors[key] = torch.tensor(held, device=device)
        found = self._tensors[key]
        assert found is not None
        return found

    def bias(self, band: Band, window: int | None, device: torch.device, key_heads: int) -> Tensor | None:
        """What hides (rows x key heads, 1, keys) the keys that a row does not see; None: it sees all."""
        key = (band.first, window, device, key_heads)
        if key not in self._tensors:
            lengths = [1] * (band.last - band.first)  # a place that does not decode sees its first key
            for place, length in zip(self.places[band.queries], self.lengths[band.queries], strict=True):
                lengths[place - band.first] = length
            newest = torch.tensor(lengths, device=device) - 1
            seen = window_mask(newest, 0, band.length, window)
            full = min(lengths) == band.length and (window is None or window >= band.length)
            self._tensors[key] = None if full else hiding(~seen.repeat_interleave(key_heads, 0)[:, None])
        return self._tensors[key]

    def shared_mask(self, group: Group, window: int | None, device: torch.device) -> Tensor | None:
        """True (queries, keys) where a query's window reaches a shared key; None: everywhere."""
        if window is None:
            return None
        key = (id(group), window, device)
        if key not in self._tensors:
            seen = window_mask(
                self.on(device, "positions")[group.on(device)], group.start, group.tokens, window
            )
            self._tensors[key] = None if bool(seen.all()) else seen
        return self._tensors[key]


def band_edges(total: int) -> list[int]:
    """Where bands begin among so many places, and the end of the last."""
    number = max(1, min(BANDS, total // ROWS_A_BAND))
    return [total * i // number for i in range(number + 1)]


def bands(places: list[int], lengths: list[int]) -> list[Band]:
    """Runs of neighbouring places, from 0 to the last, each with its longest row's length.

    Neighbours of nearly one length are one band: keys in vain cost less than calls.
    """
    found: list[Band] = []
    for first, last in pairwise(band_edges(places[-1] + 1)):
        queries = slice(bisect_left(places, first), bisect_left(places, last))
        band = Band(first, last, max(lengths[queries], default=1), queries)
        if found:
            longest, before = max(found[-1].length, band.length), found[-1]
            vain = (longest - before.length) * (before.last - before.first)
            vain += (longest - band.length) * (last - first)
            if vain <= IN_VAIN:
                band = Band(before.first, last, longest, slice(before.queries.start, queries.stop))
                found.pop()
        found.append(band)
    return found
