"""The tree of shared beginnings."""

from __future__ import annotations

from typing import Self

from hypothesis import given
from hypothesis import strategies as st

from resit.models.hf.prefix_tree import PrefixTree, common_length

PROMPTS = st.lists(st.lists(st.integers(0, 2), max_size=8).map(tuple), max_size=12)


class Tokens:
    """A store that is nothing but the tokens it was computed from."""

    def __init__(self, tokens: tuple[int, ...]) -> None:
        self.tokens = tokens

    def divide(self, at: int) -> Self:
        first, self.tokens = self.tokens[:at], self.tokens[at:]
        return type(self)(first)


def compute(tree: PrefixTree) -> None:
    for node in tree.nodes():
        if node.store is None:
            node.store, node.done = Tokens(node.tokens), len(node.tokens)


@given(PROMPTS)
def test_every_row_reads_back_from_its_leaf(prompts: list[tuple[int, ...]]) -> None:
    tree = PrefixTree()
    leaves = [tree.insert(prompt) for prompt in prompts]
    for prompt, leaf in zip(prompts, leaves, strict=True):
        assert sum((node.tokens for node in leaf.path()), ()) == prompt


@given(PROMPTS)
def test_a_node_counts_the_rows_that_begin_with_it(prompts: list[tuple[int, ...]]) -> None:
    tree = PrefixTree()
    for prompt in prompts:
        tree.insert(prompt)
    for node in tree.nodes():
        beginning = sum((passed.tokens for passed in node.path()), ())
        assert node.start == len(beginning) - len(node.tokens)
        assert node.rows == sum(prompt[: len(beginning)] == beginning for prompt in prompts)


@given(PROMPTS)
def test_each_distinct_beginning_stands_in_the_tree_once(prompts: list[tuple[int, ...]]) -> None:
    tree = PrefixTree()
    for prompt in prompts:
        tree.insert(prompt)
    distinct = {prompt[:length] for prompt in prompts for length in range(1, len(prompt) + 1)}
    assert sum(len(node.tokens) for node in tree.nodes()) == len(distinct)


@given(PROMPTS, st.randoms(use_true_random=False))
def test_rows_leave_in_any_order_and_nothing_remains(prompts: list[tuple[int, ...]], random: object) -> None:
    tree = PrefixTree()
    leaves = [(prompt, tree.insert(prompt)) for prompt in prompts]
    random.shuffle(leaves)  # type: ignore[attr-defined]
    while leaves:
        tree.remove(leaves.pop()[1])
        for prompt, leaf in leaves:
            assert sum((node.tokens for node in leaf.path()), ()) == prompt
            assert all(node.rows for node in leaf.path())
    assert not list(tree.nodes())


@given(PROMPTS)
def test_what_was_computed_is_divided_with_the_node(prompts: list[tuple[int, ...]]) -> None:
    tree = PrefixTree()
    for prompt in prompts:
        tree.insert(prompt)
        compute(tree)
    for node in tree.nodes():
        assert isinstance(node.store, Tokens)
        assert node.store.tokens == node.tokens
        assert node.complete


def test_a_node_that_is_half_computed_divides_what_it_has() -> None:
    tree = PrefixTree()
    lower = tree.insert((1, 2, 3, 4, 5, 6))
    lower.store, lower.done = Tokens((1, 2, 3, 4, 5, 6)), 4
    upper = tree.insert((1, 2, 3, 9)).path()[0]
    assert (upper.done, lower.done) == (3, 1)
    assert upper.complete
    assert not lower.complete


@given(st.lists(st.integers(0, 1)), st.lists(st.integers(0, 1)), st.integers(0, 3))
def test_common_length(left: list[int], right: list[int], offset: int) -> None:
    found = common_length(left, right, offset)
    rest = right[offset:]
    assert left[:found] == rest[:found]
    assert found == min(len(left), len(rest)) or left[found] != rest[found]
