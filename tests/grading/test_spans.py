"""Where a filter chain reads, to be shown."""

from __future__ import annotations

import pytest

from resit.grading.spans import chain_spans
from resit.records import FilterChain, FilterStep, ScoringRules


def rules(*chains: FilterChain) -> ScoringRules:
    return ScoringRules(chains, ())


@pytest.mark.parametrize(
    ("settings", "text", "read"),
    [
        ({}, "So it is #### 18 and\n#### 20", "18"),
        ({"group_select": -1}, "#### 18 and\n#### 20", "20"),
        ({"group_select": 2}, "#### 18 and\n#### 20", None),
        ({"regex_pattern": r"is (\d+)|was (\d+)"}, "it was 7", "7"),
        ({"regex_pattern": r"\d+"}, "it was 7", "7"),
        ({"regex_pattern": r"is(.*)"}, "it is  7 ", "7"),
        ({"regex_pattern": r"is(\s*)$"}, "this is  ", None),
        ({"regex_pattern": r"is(x?)$"}, "this is", "is"),
        ({"regex_pattern": r"\s+"}, "a  b", None),
        ({}, "no marker", None),
    ],
)
def test_the_place_of_what_is_read(settings: dict[str, object], text: str, read: str | None) -> None:
    find = chain_spans(rules(FilterChain("a", (FilterStep("regex", settings),))))["a"]
    found = find(text)
    assert (found and text[slice(*found)]) == read


def test_only_chains_that_begin_with_a_regex_have_a_place() -> None:
    regex, other = FilterStep("regex"), FilterStep("lowercase")
    found = chain_spans(
        rules(FilterChain("a", (regex,)), FilterChain("b", (other, regex)), FilterChain("c", ()))
    )
    assert list(found) == ["a"]
