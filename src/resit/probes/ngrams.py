"""n-grams of words, found and hashed by the block: a few nanoseconds a byte, whatever the text.

A word is a run of letters and digits; case and punctuation do not count. The hash of an n-gram is the
polynomial sum(byte[k] * B^k) mod 2^64 over its bytes with single blanks between words, so that the hash of
every n-gram of a block is a difference of two prefix sums (Karp & Rabin 1987). Equal hashes are only
candidates: what matches is compared byte by byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]
Hashes: TypeAlias = NDArray[np.uint64]
Places: TypeAlias = NDArray[np.int64]

BREAK = b" \x00 "
"""A word that no text has: put between two texts, no n-gram spans them."""

_BASE = 0x9E3779B97F4A7C15
"""Odd, so that it has an inverse modulo 2^64."""
_BLANK = 0x20
_LETTERS = bytes(
    byte + 32
    if 65 <= byte <= 90
    else byte
    if 97 <= byte <= 122 or 48 <= byte <= 57 or byte >= 128
    else _BLANK
    for byte in range(256)
)
_MARKS = tuple(mark.encode() for mark in "’‘“”–—…\u00a0·•«»„‚、。，！？：；（）「」")
"""Punctuation that takes several bytes."""


def normalised(text: bytes) -> bytes:
    """UTF-8 text with ASCII capitals made small and everything but letters and digits made blank."""
    if not text.isascii():
        for mark in _MARKS:
            text = text.replace(mark, b" ")
    return text.translate(_LETTERS)


@dataclass(frozen=True, slots=True)
class Grams:
    """Every n-gram of a block, in order."""

    block: bytes
    """The block with single blanks between its words."""
    hashes: Hashes
    """(grams,)"""
    starts: Places
    """(grams,) first byte of each in `block`"""
    ends: Places
    """(grams,) one past the last byte"""

    def words(self, gram: int) -> bytes:
        """The words of one n-gram."""
        return self.block[self.starts[gram] : self.ends[gram]]


@lru_cache(maxsize=2)
def _powers(length: int) -> tuple[Hashes, Hashes]:
    """B^k and B^-k mod 2^64 for k below `length`."""
    with np.errstate(over="ignore"):
        powers = np.full(length, _BASE, np.uint64)
        inverse = np.full(length, pow(_BASE, -1, 1 << 64), np.uint64)
        powers[0] = inverse[0] = 1
        return np.cumprod(powers), np.cumprod(inverse)


def _capacity(length: int) -> int:
    return max(1 << 12, 1 << (length - 1).bit_length())


def grams(text: bytes, n: int) -> Grams:
    """The n-grams of normalised text (see `normalised`)."""
    block = _single_blanks(np.frombuffer(text, np.uint8))
    blanks = np.flatnonzero(block == _BLANK)
    starts, ends = blanks[:-1] + 1, blanks[1:]  # the block begins and ends with a blank
    starts, ends = starts[: max(0, len(starts) - n + 1)], ends[n - 1 :]
    powers, inverse = _powers(_capacity(len(block)))
    sums = np.zeros(len(block) + 1, np.uint64)
    np.cumsum(block * powers[: len(block)], out=sums[1:])
    return Grams(block.tobytes(), (sums[ends] - sums[starts]) * inverse[starts], starts, ends)


def _single_blanks(text: Bytes) -> Bytes:
    """One blank before, between and after the words."""
    block = np.empty(len(text) + 2, np.uint8)
    block[0] = block[-1] = _BLANK
    block[1:-1] = text
    blank = block == _BLANK
    kept = np.empty(len(block), bool)
    kept[0] = True
    np.logical_not(blank[1:] & blank[:-1], out=kept[1:])
    return block[kept]
