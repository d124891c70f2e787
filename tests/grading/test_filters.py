"""lm-eval's filters; the expected values were obtained from lm-eval 0.4.13 or follow from its reference."""

from __future__ import annotations

from typing import Any

import pytest

from resit.errors import UsageError
from resit.grading.filters import TooFewSamples, Unscorable, compile_chain
from resit.records import FilterChain, FilterStep


def run(
    responses: Any, *steps: tuple[str, dict[str, Any]] | str, fields: dict[str, Any] | None = None
) -> Any:
    made = tuple(FilterStep(s) if isinstance(s, str) else FilterStep(s[0], s[1]) for s in steps)
    return compile_chain(FilterChain("test", made)).apply(responses, fields or {})


FLEXIBLE = ("regex", {"regex_pattern": "(-?[$0-9.,]{2,})|(-?[0-9]+)", "group_select": -1})
COT = ("regex", {"regex_pattern": "The answer is (\\-?[0-9\\.\\,]+)."})
STRICT = ("regex", {"regex_pattern": "#### (\\-?[0-9\\.\\,]+)"})


@pytest.mark.parametrize(
    ("response", "step", "expected"),
    [
        ("The answer is 18", COT, "1"),  # the trailing any-character eats the last digit
        ("The answer is 8", COT, "[invalid]"),
        ("The answer is $18.", COT, "[invalid]"),
        ("The answer is 18. More", COT, "18."),
        ("The answer is 18.. More", COT, "18.."),
        ("#### $18", STRICT, "[invalid]"),
        ("####18", STRICT, "[invalid]"),
        ("#### 3\n#### 18", STRICT, "3"),
        ("18...", FLEXIBLE, "18..."),
        ("It costs $18.00", FLEXIBLE, "$18.00"),
        ("1/2", FLEXIBLE, "2"),
        ("10%", FLEXIBLE, "10"),
        ("5-3=2", FLEXIBLE, "2"),
        ("a $ b", FLEXIBLE, "[invalid]"),
        ("x", ("regex", {"regex_pattern": "(a)|(b)", "fallback": None}), None),
        ("x", ("regex", {"regex_pattern": "(a)?(b)?", "fallback": " none "}), "none"),
        ("abc", ("regex", {"regex_pattern": "[0-9]*"}), ""),
        (" y ", "remove_whitespace", "y"),
        ("YeS", "lowercase", "yes"),
        ("YeS", "uppercase", "YES"),
        ("A", ("map", {"mapping_dict": {"A": 1}, "default_value": 0}), 1),
        ("B", ("map", {"mapping_dict": {"A": 1}}), None),
        ("('the', 'DET'), ('cat', 'NOUN')", "regex_pos", ["DET", "NOUN"]),
        ("none", "regex_pos", ["invalid"]),
        ("Person: Ann, Bo $$ location: none", "format_span", "per: ann $ per: bo"),
        ("Organization: ACME$$Date: 1 May\nLoc: Rome", "format_span", "org: acme $ date: 1 may $ loc: rome"),
    ],
)
def test_a_step_maps_each_response(response: str, step: Any, expected: Any) -> None:
    assert run([response, response], step) == [expected, expected]


def test_a_response_that_is_no_text_is_an_empty_one_to_regex() -> None:
    assert run([None, 5, "#### 7"], STRICT) == ["[invalid]", "[invalid]", "7"]


def test_group_select_counts_matches_and_not_groups() -> None:
    assert run(["1 2 3"], ("regex", {"regex_pattern": "([0-9])", "group_select": 1})) == ["2"]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (["take_first"], "a"),
        (["take_first", "take_first"], "a"),
        ([("take_first_k", {"k": 2})], ["a", "b"]),
        (["majority_vote"], ["b"]),
        (["majority_vote", "take_first"], "b"),
        ([("take_first_k", {"k": 2}), "majority_vote", "take_first"], "a"),  # a tie: the one seen first
        (["take_first", "uppercase"], ["A"]),  # a text is a list of characters to the next step
    ],
)
def test_steps_that_choose(steps: list[Any], expected: Any) -> None:
    assert run(["a", "b", "b"], *steps) == expected


def test_the_vote_counts_texts_and_invalid_may_win() -> None:
    answers = ["The answer is 1,000.", "no", "The answer is 1000.", "no"]
    assert run(answers, COT, "majority_vote", "take_first") == "[invalid]"


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("The answer is (B)", "(B)"),
        ("It was the cats I saw", "(B)"),
        ("surely: A", "(A)"),
        ("no idea", "[invalid]"),
    ],
)
def test_multiple_choice_by_pattern_text_or_letter(response: str, expected: str) -> None:
    step = ("multi_choice_regex", {"regex_pattern": "(\\([A-Z]\\))", "ignore_case": True})
    assert run([response], step, fields={"choices": ["cat", "cats"]}) == [expected]


def test_multiple_choice_ignores_punctuation_and_patterns() -> None:
    settings = {"ignore_punctuation": True, "regexes_to_ignore": ["\\s"], "ignore_case": True}
    fields = {"choices": ["red car", "blue-car"]}
    assert run(["THE BLUE CAR!"], ("multi_choice_regex", settings), fields=fields) == ["(B)"]


@pytest.mark.parametrize(
    ("response", "expected"),
    [("Cat", "(A)"), ("cat", "[invalid]"), ("so <B>", "B"), ("so (C)", "(C)"), ("so <>", "[invalid]")],
)
def test_multiple_choice_by_any_group_and_with_case(response: str, expected: str) -> None:
    step = ("multi_choice_regex", {"regex_pattern": "<([A-Z]?)>|(\\([A-Z]\\))"})
    assert run([response], step, fields={"choices": ["Cat", "Dog", "Hen"]}) == [expected]


def test_a_custom_step_is_given_all_documents() -> None:
    def shout(responses: list[list[str]], docs: list[dict[str, Any]]) -> list[list[str]]:
        return [[r + docs[0]["mark"] for r in rs] for rs in responses]

    steps = (FilterStep("custom", {}, shout), FilterStep("take_first"))
    assert compile_chain(FilterChain("c", steps)).apply(["a"], {"mark": "!"}) == "a!"


@pytest.mark.parametrize(
    ("responses", "steps", "error"),
    [
        (["1"], [("regex", {"regex_pattern": "([0-9])", "group_select": 2})], "IndexError"),
        ([None], ["lowercase"], "AttributeError"),
        ([], ["take_first"], "IndexError"),
        ([], ["majority_vote"], "IndexError"),
        (["x"], ["multi_choice_regex"], "KeyError"),
    ],
)
def test_what_ends_lm_eval_is_a_reason_here(responses: list[Any], steps: list[Any], error: str) -> None:
    with pytest.raises(Unscorable, match=error):
        run(responses, *steps)


def test_what_a_custom_step_raises_is_a_reason() -> None:
    def raises(responses: Any, docs: Any) -> Any:
        raise ValueError("no unit")

    with pytest.raises(Unscorable, match=r"^filter custom: ValueError: no unit$"):
        compile_chain(FilterChain("c", (FilterStep("custom", {}, raises),))).apply(["a"], {})


def test_too_few_samples_are_told_apart() -> None:
    with pytest.raises(TooFewSamples, match="needs 8 samples, the question has 2"):
        run(["a", "b"], ("take_first_k", {"k": 8}))


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (FilterStep("regexp"), "filter 'regexp' of 'x' is not known"),
        (FilterStep("take_first", {"k": 1}), "got an unexpected keyword argument 'k'"),
        (FilterStep("take_first_k"), "missing a required argument: 'k'"),
        (FilterStep("regex", {"regex_pattern": "("}), "is not a regular expression"),
        (FilterStep("map", {"mapping_dict": "ab"}), "must be a mapping, found str"),
        (FilterStep("custom"), "needs filter_fn"),
    ],
)
def test_a_bad_step_is_told_before_anything_runs(step: FilterStep, message: str) -> None:
    with pytest.raises(UsageError, match=None) as raised:
        compile_chain(FilterChain("x", (step,)))
    assert message in str(raised.value)


def test_an_unknown_filter_gets_a_suggestion() -> None:
    with pytest.raises(UsageError) as raised:
        compile_chain(FilterChain("x", (FilterStep("majority_votes"),)))
    assert raised.value.hint == "did you mean 'majority_vote'?"
