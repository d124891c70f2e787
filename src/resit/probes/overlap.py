"""Which test questions stand in a training text, word for word: the 13-gram check of Brown et al. (2020).

One pass over text of any size; memory holds the questions' n-grams and one block of the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from resit.errors import UsageError
from resit.probes.ngrams import BREAK, Grams, grams, normalised

N = 13
BLOCK = 1 << 20
"""Bytes of text that are looked at together."""

_FILTER_BITS = 22
_MIXER = np.uint64(0xD6E8FEB86659FD93)


@dataclass(slots=True)
class Overlap:
    """What of one question was found."""

    question: str
    """Its name."""
    grams: int
    """n-grams that it has; none: it is too short to be looked for."""
    found: set[int] = field(default_factory=set)
    """Which of them stand in the text."""
    first_place: str = ""
    """Where the first one that was found stands."""
    first_words: str = ""

    @property
    def share(self) -> float:
        """Of the question's n-grams, the share that was found; 0 where it has none."""
        return len(self.found) / self.grams if self.grams else 0.0

    def as_json(self) -> dict[str, Any]:
        """Flat; the place and the words only where something was found."""
        shown = {
            "question": self.question,
            "ngrams": self.grams,
            "found": len(self.found),
            "share": self.share,
        }
        return {**shown, "place": self.first_place, "words": self.first_words} if self.found else shown


@dataclass(slots=True)
class Block:
    """Texts that are looked at together, and where each begins."""

    parts: list[bytes] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    length: int = 0

    def add(self, place: str, text: bytes) -> None:
        """Put a text, normalised, behind the others."""
        self.places.append(place)
        self.offsets.append(self.length)
        self.parts += (text, BREAK)
        self.length += len(text) + len(BREAK)

    def place_of(self, breaks_before: int) -> str:
        """The place of the text that stands after so many breaks."""
        return self.places[breaks_before]


class Scan:
    """Looks for the n-grams of questions in a stream of texts."""

    def __init__(self, questions: Mapping[str, str], n: int = N) -> None:
        if n < 1:
            raise UsageError(f"an n-gram has at least one word, found n={n}")
        self.n = n
        self.bytes = 0
        """Of text looked at, before normalising."""
        self.texts = 0
        self.overlaps: list[Overlap] = []
        self._postings: dict[bytes, list[tuple[int, int]]] = {}
        hashes = [self._add(name, text) for name, text in questions.items()]
        self._hashes: NDArray[np.uint64] = (
            np.unique(np.concatenate(hashes)) if hashes else np.empty(0, np.uint64)
        )
        self._filter = np.zeros(1 << _FILTER_BITS, bool)
        self._filter[self._slots(self._hashes)] = True

    def _add(self, name: str, text: str) -> NDArray[np.uint64]:
        found = grams(normalised(text.encode("utf-8", "surrogatepass")), self.n)
        number = len(self.overlaps)
        self.overlaps.append(Overlap(name, len(found.hashes)))
        for position in range(len(found.hashes)):
            self._postings.setdefault(found.words(position), []).append((number, position))
        return found.hashes

    def _slots(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return (hashes * _MIXER) >> np.uint64(64 - _FILTER_BITS)

    def read(self, texts: Iterable[tuple[str, bytes]]) -> None:
        """Look through texts, each a (place, UTF-8 bytes)."""
        for block in self._blocks(texts):
            self._look(block)

    def _blocks(self, texts: Iterable[tuple[str, bytes]]) -> Iterator[Block]:
        block = Block()
        for place, text in texts:
            self.texts += 1
            self.bytes += len(text)
            for piece in _pieces(normalised(text), self.n):
                block.add(place, piece)
                if block.length >= BLOCK:
                    yield block
                    block = Block()
        if block.length:
            yield block

    def _look(self, block: Block) -> None:
        found = grams(b"".join(block.parts), self.n)
        candidates = np.flatnonzero(self._filter[self._slots(found.hashes)])
        candidates = candidates[np.isin(found.hashes[candidates], self._hashes)]
        for gram in candidates.tolist():
            words = found.words(gram)
            for number, position in self._postings.get(words, ()):
                overlap = self.overlaps[number]
                if not overlap.found:
                    overlap.first_place = block.place_of(_breaks_before(found, gram))
                    overlap.first_words = words.decode("utf-8", "replace")
                overlap.found.add(position)


def _breaks_before(found: Grams, gram: int) -> int:
    return found.block.count(b"\x00", 0, int(found.starts[gram]))


def _pieces(text: bytes, n: int) -> Iterator[bytes]:
    """A long text in pieces of about a block that share n - 1 words: no n-gram is lost between them."""
    start, end = 0, BLOCK
    while len(text) - end > BLOCK and (end := text.find(b" ", end)) >= 0:
        words = text[start:end].rsplit(None, n - 1)
        if len(words) == n and words[0].strip():  # the next piece begins behind this one's beginning
            yield text[start:end]
            start += len(words[0])
        end += BLOCK
    yield text[start:]
