"""Which beginnings the prompts share: a tree over token ids that grows and shrinks with the rows in sight.

An edge holds a run of tokens, a node's children differ in their first token, and every node knows how many
living rows pass through it. What a node's tokens were computed to (`store`) is divided with the node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, Self, TypeVar


class Store(Protocol):
    """Keys and values of a node's tokens."""

    def divide(self, at: int) -> Self:
        """The first `at` tokens as a store of their own; this one keeps the rest. Copies nothing."""
        ...


S = TypeVar("S", bound=Store)


class Node:
    """A run of tokens that every row below it has at positions `start` to `end`."""

    __slots__ = ("children", "done", "parent", "rows", "start", "store", "tokens")

    def __init__(self, tokens: tuple[int, ...], start: int, parent: Node | None) -> None:
        self.tokens = tokens
        self.start = start
        self.parent = parent
        self.children: dict[int, Node] = {}
        self.rows = 0
        """Living rows that pass through or end here."""
        self.store: Store | None = None
        self.done = 0
        """How many of the tokens have been computed into `store`."""

    @property
    def end(self) -> int:
        """Position after the last token."""
        return self.start + len(self.tokens)

    @property
    def complete(self) -> bool:
        """Whether all of the tokens have been computed."""
        return self.done == len(self.tokens)

    def path(self) -> list[Node]:
        """The nodes from the top of the tree down to this one, the empty root left out."""
        nodes, node = [], self
        while node.parent is not None:
            nodes.append(node)
            node = node.parent
        return nodes[::-1]


def common_length(left: Sequence[int], right: Sequence[int], offset: int = 0) -> int:
    """How many tokens `left` and `right[offset:]` have in common at their beginning."""
    low, high = 0, min(len(left), len(right) - offset)
    while low < high:  # halving compares slices in C; a loop in Python over 800 tokens would not be free
        middle = (low + high + 1) // 2
        if left[low:middle] == right[offset + low : offset + middle]:
            low = middle
        else:
            high = middle - 1
    return low


class PrefixTree:
    """The rows in sight, by what they begin with."""

    def __init__(self) -> None:
        self.root = Node((), 0, None)

    def insert(self, tokens: tuple[int, ...]) -> Node:
        """The node at which a row with these tokens ends; nodes are divided where it branches off."""
        node, position = self.root, 0
        while position < len(tokens):
            child = node.children.get(tokens[position])
            if child is None:
                child = Node(tokens[position:], position, node)
                node.children[tokens[position]] = child
            common = common_length(child.tokens, tokens, position)
            if common < len(child.tokens):
                child = self._divide(child, common)
            node, position = child, position + common
        for passed in node.path():
            passed.rows += 1
        return node

    def remove(self, leaf: Node) -> None:
        """Forget one row that ends at `leaf`; nodes through which no row passes any more are dropped."""
        for node in leaf.path():
            node.rows -= 1
            if not node.rows and node.parent is not None:
                node.parent.children.pop(node.tokens[0], None)
                node.store = None

    def nodes(self) -> Iterator[Node]:
        """Every node but the root, parents first."""
        waiting = list(self.root.children.values())
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(node.children.values())

    def _divide(self, node: Node, at: int) -> Node:
        """The new upper part of a node; `node` itself stays the lower part, so that rows keep their end."""
        assert node.parent is not None
        upper = Node(node.tokens[:at], node.start, node.parent)
        upper.rows = node.rows
        node.parent.children[upper.tokens[0]] = upper
        node.tokens, node.start, node.parent = node.tokens[at:], node.start + at, upper
        upper.children[node.tokens[0]] = node
        if node.store is not None:
            upper.store = node.store.divide(at)
            upper.done, node.done = min(node.done, at), max(node.done - at, 0)
        return upper
