"""Rows under way: what each still has to compute, and which of its prompt it shares with others."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch

from resit.models.hf.cache import LayerShape, SharedStore
from resit.models.hf.prefix_tree import Node
from resit.models.hf.rows import Finished, Insertion, Intervene, Row
from resit.models.hf.sampling import Draw
from resit.models.hf.transcript import Transcript

WORTH = 512
"""Keys (tokens x rows) that must be saved at each step for a part of its own in attention to pay."""

LONG = 128
"""A shared run this long is never copied to a row."""

SHORTEST = 16
"""Shared tokens that are worth computing apart from the rows."""


class Flight:
    """One row from admission to its end.

    Its prompt lies, from the front: in shared runs that it attends to where they are; in shared runs that
    are copied to its own place; in tokens of its own, at least the last, whose logits start the answer.
    """

    def __init__(self, row: Row, leaf: Node, transcript: Transcript) -> None:
        self.row = row
        self.leaf = leaf
        self.transcript = transcript
        self.draw = Draw(row.sampling, row.seed)
        self.insertions: list[Insertion] = []
        self.began = time.perf_counter()
        self.cached = 0
        self.place = -1
        self.length = 0
        """Own tokens whose keys are in the cache."""
        self.todo: list[int] = []
        """Own tokens still to compute; one, while the row decodes."""
        self.below: Node | None = None
        """The last shared run that is attended to where it is."""
        self.copied_to: Node | None = None
        """The last shared run that is copied to the row's own place."""

    @property
    def start(self) -> int:
        """Position of the first own token."""
        return self.below.end if self.below is not None else 0

    @property
    def decoding(self) -> bool:
        """Whether one token, just drawn or the last of the prompt, is all that is to be computed."""
        return len(self.todo) == 1 and all(node.complete for node in self.above())

    def above(self) -> list[Node]:
        """The shared runs that are attended to where they are, from the top."""
        return self.below.path() if self.below is not None else []

    def to_copy(self) -> list[Node]:
        """The shared runs still to be copied, from the top. (The tree may divide them at any time.)"""
        path = self.copied_to.path() if self.copied_to is not None else []
        return [node for node in path if node.start >= self.start + self.length]

    def admit(self, place: int, shapes: Sequence[LayerShape]) -> None:
        """Take a place, and settle what is shared from what is in sight now."""
        shared, copied = divided(self.leaf)
        self.below = shared[-1] if shared else None
        self.copied_to = copied[-1] if copied else None
        self.place, self.length = place, 0
        self.todo = [*self.row.token_ids, *self.transcript.tokens][self.start :]
        self.cached = sum(len(node.tokens) for node in (*shared, *copied) if node.store is not None)
        for node in (*shared, *copied):
            store_of(node, shapes)

    def land(self) -> None:
        """Give up the place; everything is computed again after the next admission."""
        self.place, self.length, self.todo, self.copied_to, self.below = -1, 0, [], None, None

    def follow(self, leader: Flight) -> None:
        """Take over what another row with the same tokens has computed."""
        self.length, self.todo = leader.length, leader.todo
        self.below, self.copied_to = leader.below, leader.copied_to

    def needs(self, context: int) -> int:
        """Tokens that its place must hold."""
        shared, _ = divided(self.leaf)
        longest = min(len(self.row.token_ids) + self.row.sampling.max_tokens, context)
        return longest - (shared[-1].end if shared else 0)

    def tell_draw(self, vocabulary: int, device: torch.device) -> None:
        """Let the sampling know of the tokens that it has not been told of."""
        if self.draw.penalised:
            new = self.transcript.tokens[-1:]
            if self.draw.seen is None:
                new = [*self.row.token_ids, *self.transcript.tokens]
            self.draw.see(new, vocabulary, device)

    def computed(self, count: int) -> None:
        """Note that the first `count` tokens to do are in the cache."""
        self.length += count
        self.todo = self.todo[count:]

    def advance(self, token: int, ends: frozenset[int], context: int) -> Finished | None:
        """Take in the token that was drawn; the row's end, if that was its last."""
        self.computed(len(self.todo))
        transcript = self.transcript
        if token in ends:
            transcript.tokens.append(token)
            return self.finished("stop")
        said = len(transcript.text)
        stop = transcript.append(token)
        self.todo = [token]
        if stop is None and self.row.intervene is not None and len(transcript.text) > said:
            stop = self._intervened(self.row.intervene)
        if stop is not None:
            return self.finished("stop")
        if len(transcript.tokens) >= min(self.row.sampling.max_tokens, context - len(self.row.token_ids)):
            return self.finished("length")
        return None

    def _intervened(self, intervene: Intervene) -> str | None:
        """Ask what is to be put in, and put it in; the stop string that it completes, if any.

        Text so far and insertion are tokenised together, as a backend does that is sent the text again; the
        computed tokens are kept as far as the new ones agree with them.
        """
        said = self.transcript.text
        inserted = intervene(said)
        if not inserted:
            return None
        self.insertions.append(Insertion(len(said), inserted))
        self.draw.seen = None
        tokens = self.transcript.tokens_of(said + inserted)
        self.go_on(tokens)
        return self.transcript.replace(tokens)

    def go_on(self, tokens: Sequence[int]) -> None:
        """Make the answer these tokens; what of them is in the cache already stays there."""
        old, prompt = self.transcript.tokens, self.row.token_ids[self.start :]
        kept = next((i for i, (a, b) in enumerate(zip(old, tokens, strict=False)) if a != b), len(old))
        own = [*prompt, *tokens]
        self.length = min(self.length, len(prompt) + kept, len(own) - 1)  # the last has to be computed again
        self.todo = own[self.length :]

    def finished(self, reason: Literal["stop", "length", "error"], error: str | None = None) -> Finished:
        """The row's end."""
        text, stop = self.transcript.answer()
        return Finished(
            key=self.row.key,
            token_ids=tuple(self.transcript.tokens),
            text=text,
            finish_reason=reason,
            stop=stop if reason == "stop" else None,
            prompt_tokens=len(self.row.token_ids),
            cached_tokens=self.cached,
            insertions=tuple(self.insertions),
            seconds=round(time.perf_counter() - self.began, 4),
            error=error,
        )


def divided(leaf: Node) -> tuple[list[Node], list[Node]]:
    """Shared runs on the way to a row's end: those to attend to where they are, and those to copy."""
    path = leaf.path()
    in_place = copied = 0
    for index, node in enumerate(path, 1):
        length = len(node.tokens)
        if node.rows > 1 or node.store is not None:
            if length >= LONG or node.rows * length >= WORTH:
                in_place = index
            if node.end - (path[in_place - 1].end if in_place else 0) >= SHORTEST:
                copied = index
    return path[:in_place], path[in_place : max(in_place, copied)]


def store_of(node: Node, shapes: Sequence[LayerShape]) -> SharedStore:
    """Where a node's keys and values go; made when it is first computed."""
    if node.store is None:
        node.store = SharedStore.empty(shapes, len(node.tokens))
    assert isinstance(node.store, SharedStore)
    return node.store


def held(node: Node) -> SharedStore:
    """A computed node's keys and values."""
    assert isinstance(node.store, SharedStore)
    return node.store


def new_flight(row: Row, leaf: Node, tokenizer: Any, special: Mapping[int, str]) -> Flight:
    """A row that waits for a place."""
    return Flight(row, leaf, Transcript(tokenizer, row.sampling.stop, special))
