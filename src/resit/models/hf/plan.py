"""What the next forward pass computes, and whose next tokens it gives."""

from __future__ import annotations

from resit.models.hf.cache import RowCache
from resit.models.hf.flight import Flight, held, store_of
from resit.models.hf.layout import Group, Pass, Span
from resit.models.hf.prefix_tree import Node


class Plan:
    """A pass while it is put together: first the decoding rows, by place, then prompt tokens of newcomers."""

    def __init__(self, cache: RowCache, room: int) -> None:
        self.pass_ = Pass()
        self.keep: list[int] = []
        """Packed tokens behind which a row's next token is drawn."""
        self.rows: list[Flight] = []
        """Those rows, in the same order."""
        self.tails: list[tuple[Flight, int]] = []
        """Rows that compute so many tokens of their own prompt."""
        self.room = room
        """Prompt tokens that still go in."""
        self._cache = cache
        self._fresh: set[Node] = set()
        """Shared runs that get tokens in this pass: they can be attended to, but not copied yet."""
        self._queries: dict[Node, list[tuple[int, int]]] = {}
        """Packed tokens that stand below each shared run."""

    def decode(self, flight: Flight) -> None:
        """Add the one token of a decoding row."""
        _, end = self._add(flight.todo, flight.start + flight.length, flight.above())
        self.pass_.places.append(flight.place)
        self.pass_.lengths.append(flight.length + 1)
        self._draw_behind(end, flight)

    def prompt(self, flight: Flight) -> None:
        """Add what a newcomer needs next, as far as there is room: shared runs first, then its own tokens."""
        copies = flight.to_copy()
        for node in (*flight.above(), *copies):
            self._run(node)
            if not node.complete:
                return
        if not self._fresh.isdisjoint(copies):
            return
        for node in copies:
            self._cache.copy_shared(flight.place, flight.length, held(node))
            flight.computed(len(node.tokens))
        self._tail(flight)

    def finish(self) -> Plan:
        """The plan, ready to be computed."""
        for node, ranges in self._queries.items():
            self.pass_.groups.append(Group(held(node), node.start, len(node.tokens), ranges))
        self.pass_.finish()
        return self

    def _add(self, tokens: list[int] | tuple[int, ...], position: int, above: list[Node]) -> tuple[int, int]:
        """Pack tokens that stand below shared runs; where they are, [begin, end)."""
        packed = self.pass_.add(tokens, position)
        for node in above:
            self._queries.setdefault(node, []).append(packed)
        return packed

    def _draw_behind(self, end: int, flight: Flight) -> None:
        self.keep.append(end - 1)
        self.rows.append(flight)

    def _run(self, node: Node) -> None:
        """Add tokens of a shared run that are not computed yet."""
        count = min(self.room, len(node.tokens) - node.done)
        if not count:
            return
        tokens = node.tokens[node.done : node.done + count]
        begin, end = self._add(tokens, node.start + node.done, node.path()[:-1])
        self.pass_.spans.append(Span(begin, end, node.done, store_of(node, self._cache.shapes)))
        self._fresh.add(node)
        node.done += count
        self.room -= count

    def _tail(self, flight: Flight) -> None:
        """Add a newcomer's own tokens; behind the last of them its answer begins."""
        count = min(self.room, len(flight.todo))
        if not count:
            return
        begin, end = self._add(flight.todo[:count], flight.start + flight.length, flight.above())
        self.pass_.spans.append(Span(begin, end, flight.length, place=flight.place))
        self.tails.append((flight, count))
        self.room -= count
        if count == len(flight.todo):
            self._draw_behind(end, flight)
