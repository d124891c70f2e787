"""Keys and values: those that rows share, one store a tree node, and those of each row, in fixed places."""

from __future__ import annotations

import math
import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

BLOCK = 64
"""Positions by which places grow."""


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


def _blank(shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Zeros; on a processor memory is taken page by page, when a page is first written."""
    if device.type != "cpu":
        return torch.zeros(*shape, dtype=dtype, device=device)
    size = math.prod(shape) * dtype.itemsize
    try:
        room = mmap.mmap(-1, size)
    except (OSError, OverflowError) as error:  # what the engine retreats from is MemoryError
        raise MemoryError(f"no room for {size} bytes: {error}") from error
    return torch.frombuffer(room, dtype=dtype).view(*shape)


class RowCache:
    """Each row's own keys and values, per layer (places, heads, capacity, width), allocated once.

    What lies behind a row's end is masked, never read as a number, but it must be finite.
    """

    def __init__(self, shapes: Sequence[LayerShape]) -> None:
        self.shapes = list(shapes)
        self.places = 0
        self.capacity = 0
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []

    def reserve(self, places: int, capacity: int) -> None:
        """Make room for so many rows of so many tokens; what is there is kept (copied, when it must grow)."""
        capacity = -(-capacity // BLOCK) * BLOCK
        if places <= self.places and capacity <= self.capacity:
            return
        places, capacity = max(places, self.places), max(capacity, self.capacity)
        for layer, shape in enumerate(self.shapes):
            for held, width in ((self.keys, shape.key_width), (self.values, shape.value_width)):
                room = _blank((places, shape.heads, capacity, width), shape.dtype, shape.device)
                if layer < len(held):
                    room[: self.places, :, : self.capacity] = held[layer]
                    held[layer] = room
                else:
                    held.append(room)
        self.places, self.capacity = places, capacity

    def release(self) -> None:
        """Give the memory back."""
        self.keys, self.values = [], []
        self.places = self.capacity = 0

    def move(self, sources: Sequence[int], targets: Sequence[int], lengths: Sequence[int]) -> None:
        """Bring so many first tokens of the rows in `sources` to the places `targets`, all at once."""
        longest = max(lengths)
        for held in (self.keys, self.values):
            for room in held:
                taken = room[torch.tensor(sources, device=room.device), :, :longest]
                if room.device.type != "cpu":  # one call, not one a row
                    room[torch.tensor(targets, device=room.device), :, :longest] = taken
                    continue
                for row, target, length in zip(taken, targets, lengths, strict=True):
                    room[target, :, :length] = row[:, :length]  # pages behind a row's end stay untouched

    def copy_shared(self, place: int, at: int, store: SharedStore) -> None:
        """Write a store's tokens into a row from position `at` on."""
        for held, shared in ((self.keys, store.keys), (self.values, store.values)):
            for room, tokens in zip(held, shared, strict=True):
                room[place, :, at : at + tokens.shape[1]] = tokens
