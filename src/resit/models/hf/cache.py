"""Keys and values: those that rows share, one store a tree node, and those of each row, in fixed places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

BLOCK = 64
"""Positions by which places grow and are cleared."""


@dataclass(frozen=True, slots=True)
class LayerShape:
    """What one layer keeps of a token: `heads` x (`key_width` + `value_width`) numbers."""

    heads: int
    key_width: int
    value_width: int
    dtype: torch.dtype
    device: torch.device

    @property
    def bytes(self) -> int:
        """Bytes of one token."""
        return self.heads * (self.key_width + self.value_width) * self.dtype.itemsize


def token_bytes(shapes: Sequence[LayerShape]) -> int:
    """Bytes that a token takes in all layers together."""
    return sum(shape.bytes for shape in shapes)


class SharedStore:
    """Keys and values of a run of tokens, per layer (heads, tokens, width)."""

    def __init__(self, keys: list[Tensor], values: list[Tensor]) -> None:
        self.keys = keys
        self.values = values

    @classmethod
    def empty(cls, shapes: Sequence[LayerShape], tokens: int) -> Self:
        """Room for so many tokens."""

        def room(shape: LayerShape, width: int) -> Tensor:
            return torch.empty(shape.heads, tokens, width, dtype=shape.dtype, device=shape.device)

        return cls([room(s, s.key_width) for s in shapes], [room(s, s.value_width) for s in shapes])

    def divide(self, at: int) -> Self:
        """The first `at` tokens as a store of their own, over the same memory; this one keeps the rest."""
        first = type(self)([k[:, :at] for k in self.keys], [v[:, :at] for v in self.values])
        self.keys = [k[:, at:] for k in self.keys]
        self.values = [v[:, at:] for v in self.values]
        return first


class RowCache:
    """Each row's own keys and values, per layer (places, heads, capacity, width), allocated once.

    What lies behind a row's end is masked, never read as a number, but it must be finite: blocks are cleared
    when the longest row first reaches them, so that memory is touched only as far as it is needed.
    """

    def __init__(self, shapes: Sequence[LayerShape]) -> None:
        self.shapes = list(shapes)
        self.places = 0
        self.capacity = 0
        self._clear_to = 0
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []

    def reserve(self, places: int, capacity: int) -> None:
        """Make room for so many rows of so many tokens; what is there is kept (copied, when it must grow)."""
        capacity = -(-capacity // BLOCK) * BLOCK
        if places <= self.places and capacity <= self.capacity:
            return
        places, capacity = max(places, self.places), max(capacity, self.capacity)
        kept = min(self._clear_to, self.capacity)
        for layer, shape in enumerate(self.shapes):
            for held, width in ((self.keys, shape.key_width), (self.values, shape.value_width)):
                room = torch.empty(
                    places, shape.heads, capacity, width, dtype=shape.dtype, device=shape.device
                )
                room[:, :, :kept] = 0
                if layer < len(held):
                    room[: self.places, :, :kept] = held[layer][:, :, :kept]
                    held[layer] = room
                else:
                    held.append(room)
        self.places, self.capacity, self._clear_to = places, capacity, kept

    def release(self) -> None:
        """Give the memory back."""
        self.keys, self.values = [], []
        self.places = self.capacity = self._clear_to = 0

    def reach(self, length: int) -> None:
        """Clear what lies between the furthest position used so far and the block that holds `length`."""
        end = min(-(-length // BLOCK) * BLOCK, self.capacity)
        if end > self._clear_to:
            for held in (*self.keys, *self.values):
                held[:, :, self._clear_to : end] = 0
            self._clear_to = end

    def move(self, sources: Sequence[int], targets: Sequence[int], length: int) -> None:
        """Bring the first `length` tokens of the rows in `sources` to the places `targets`, all at once."""
        for held in (self.keys, self.values):
            for room in held:
                source = torch.tensor(sources, device=room.device)
                target = torch.tensor(targets, device=room.device)
                room[target, :, :length] = room[source, :, :length]

    def copy_shared(self, place: int, at: int, store: SharedStore) -> None:
        """Write a store's tokens into a row from position `at` on."""
        for held, shared in ((self.keys, store.keys), (self.values, store.values)):
            for room, tokens in zip(held, shared, strict=True):
                room[place, :, at : at + tokens.shape[1]] = tokens
