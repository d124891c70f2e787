"""Each warning appears when its evidence is there, with that evidence, and not a step before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resit.grading import score_question
from resit.records import (
    Document,
    FilterChain,
    FilterStep,
    Generation,
    Message,
    MetricSpec,
    Prompt,
    Question,
    ScoringRules,
)
from resit.reports.graded import Graded
from resit.reports.warnings import Setting, WarningTally
from resit.reports.warnings.finding import KINDS
from resit.reports.warnings.texts import LOOP, loops

STRICT = FilterChain(
    "strict-match",
    (FilterStep("regex", {"regex_pattern": r"#### (\-?[0-9\.\,]+)"}), FilterStep("take_first")),
)
RULES = ScoringRules((STRICT,), (MetricSpec("exact_match"),))
SETTING = Setting(headline="strict-match", temperature=0.7, max_tokens=64)


def sample(text: str, **fields: Any) -> Generation:
    return Generation("t", 0, "h0", 0, 0, text, **fields)


def graded(
    samples: Sequence[Generation], doc_id: int = 0, target: str = "4", prompt: Prompt = "Q: 2 + 2?"
) -> Graded:
    question = Question("t", Document(doc_id, f"h{doc_id}", {}), prompt, target)
    own = [
        Generation(
            **{**_fields(g), "doc_id": doc_id, "doc_hash": f"h{doc_id}", "repeat": index, "seed": index}
        )
        for index, g in enumerate(samples)
    ]
    return Graded(question, own, score_question(question, own, RULES))


def _fields(generation: Generation) -> dict[str, Any]:
    return {name: getattr(generation, name) for name in Generation.__slots__}


def warnings(items: Iterable[Graded], setting: Setting = SETTING) -> dict[str, Any]:
    """By kind, the evidence and message of what is suspected."""
    tally = WarningTally()
    for item in items:
        tally.add(item)
    found = tally.warnings(setting)
    assert all(warning["message"] for warning in found)
    order = list(KINDS)
    places = [order.index(warning["kind"]) for warning in found]
    assert places == sorted(places), "always in the order in which they are written down"
    return {warning["kind"]: {**warning["evidence"], "message": warning["message"]} for warning in found}


def test_a_good_run_has_no_warnings() -> None:
    assert warnings(graded([sample(f"So {i}. #### 4")], i) for i in range(50)) == {}
    assert warnings([]) == {}


# answers


@pytest.mark.parametrize(("count", "warned"), [(19, False), (20, True)])
def test_zero_accuracy_from_twenty_samples_on(count: int, warned: bool) -> None:
    found = warnings(graded([sample(f"{i} #### 5")], i) for i in range(count))
    assert ("zero-accuracy" in found) is warned
    if warned:
        assert found["zero-accuracy"]["right"] == {"strict-match": 0, "robust": 0}
        assert "nor under any other rule" in found["zero-accuracy"]["message"]


def test_zero_accuracy_tells_which_rules_find_right_answers() -> None:
    found = warnings(graded([sample(f"{i}: the answer is 4.")], i) for i in range(20))
    assert found["zero-accuracy"]["rule"] == "strict-match"
    assert "20 by robust under other rules" in found["zero-accuracy"]["message"]


@pytest.mark.parametrize(("unread", "warned"), [(9, False), (10, True)])
def test_unextracted_from_a_tenth_on(unread: int, warned: bool) -> None:
    texts = ["I do not know."] * unread + ["#### 4"] * (100 - unread)
    found = warnings(graded([sample(text)], i) for i, text in enumerate(texts))
    assert ("unextracted" in found) is warned
    if warned:
        assert (found["unextracted"]["count"], found["unextracted"]["share"]) == (10, 0.1)
        assert found["unextracted"]["examples"] == [{"doc_id": i, "repeat": 0} for i in range(3)]


@pytest.mark.parametrize(("missed", "warned"), [(4, False), (5, True)])
def test_a_rule_far_below_robust(missed: int, warned: bool) -> None:
    texts = ["The answer is 4."] * missed + ["#### 4"] * (100 - missed)
    found = warnings(graded([sample(text)], i) for i, text in enumerate(texts))
    assert ("rule-below-robust" in found) is warned
    if warned:
        evidence = found["rule-below-robust"]
        assert (evidence["rules"], evidence["right"], evidence["right_robust"]) == (["strict-match"], 95, 100)
        assert evidence["right_but_unextracted"] == 5


def test_rules_that_miss_the_same_samples_are_one_warning() -> None:
    votes = tuple(FilterChain(name, STRICT.steps) for name in ("score-first", "maj@8"))
    rules = ScoringRules(votes, (MetricSpec("exact_match"),))
    tally = WarningTally()
    for index in range(10):
        item = graded([sample("The answer is 4.")], index)
        score = score_question(item.question, item.generations, rules)
        tally.add(Graded(item.question, item.generations, score))
    found = [w for w in tally.warnings(SETTING) if w["kind"] == "rule-below-robust"]
    assert [warning["evidence"]["rules"] for warning in found] == [["score-first", "maj@8"]]


# texts


@pytest.mark.parametrize(("cut", "warned"), [(4, False), (5, True)])
def test_truncation_from_a_twentieth_on_with_what_it_costs(cut: int, warned: bool) -> None:
    samples = [sample("so", finish_reason="length")] * cut + [sample("#### 4")] * (100 - cut)
    found = warnings(graded([one], i) for i, one in enumerate(samples))
    assert ("truncated" in found) is warned
    if warned:
        evidence = found["truncated"]
        assert (evidence["score_of_truncated"], evidence["score_of_finished"]) == (0.0, 1.0)
        assert (evidence["max_tokens"], evidence["count"]) == (64, 5)


def test_when_all_texts_are_cut_nothing_is_divided_by_zero() -> None:
    found = warnings([graded([sample("x", finish_reason="length")])])
    assert found["truncated"]["score_of_finished"] is None


def test_unknown_ends_are_said_to_be_unknown() -> None:
    found = warnings([graded([sample("#### 4", finish_reason="unknown")])])
    assert (found["end-unknown"]["count"], found["end-unknown"]["samples"]) == (1, 1)


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_empty_texts(text: str) -> None:
    found = warnings(
        graded([sample(text if i == 7 else "#### 4", completion_tokens=30)], i) for i in range(100)
    )
    assert found["empty-texts"]["examples"] == [{"doc_id": 7, "repeat": 0}]
    assert found["empty-texts"]["with_tokens"] == 1
    assert "the model wrote tokens all the same" in found["empty-texts"]["message"]
    few = warnings(graded([sample(text if i == 7 else "#### 4")], i) for i in range(101))
    assert "empty-texts" not in few


@pytest.mark.parametrize(
    ("text", "endless"),
    [
        ("I think so. " * 20, True),
        ("A: " + "ha" * 60, True),
        ("." * LOOP, True),
        ("." * (LOOP - 1), False),
        ("So we add 5 to it and get another number which is larger than before.\n" * 4, True),
        ("So we add 5 to it and get another number which is larger than before.\n" * 3, False),
        ("One. " * 40 + "The answer is 4.", False),
        (" ".join(str(n) for n in range(200)), False),
        ("x", False),
        ("", False),
        ("0" * 15, False),
    ],
)
def test_what_goes_round_in_a_circle(text: str, endless: bool) -> None:
    assert loops(text) is endless


@given(st.text(min_size=1, max_size=40), st.text(max_size=300))
def test_any_phrase_often_enough_is_found_whatever_stands_before(phrase: str, before: str) -> None:
    turns = max(4, -(-LOOP // len(phrase))) + 1
    assert loops(before + phrase * (turns + 16 // len(phrase)))


def test_endless_repetition_is_counted() -> None:
    texts = ["no no " * 40] * 2 + ["#### 4"] * 98
    found = warnings(graded([sample(text)], i) for i, text in enumerate(texts))
    assert found["endless-repetition"]["count"] == 2
    assert "endless-repetition" not in warnings(graded([sample(t)], i) for i, t in enumerate([*texts[1:]]))


def test_identical_repeats_at_a_temperature() -> None:
    items = [graded([sample("#### 4"), sample("#### 4")], i) for i in range(9)]
    mixed = graded([sample("#### 4"), sample("#### 5")], 9)
    found = warnings([*items, mixed])
    assert (found["identical-repeats"]["count"], found["identical-repeats"]["questions"]) == (9, 10)
    assert found["identical-repeats"]["with_other_seeds"] == 9
    assert "identical-repeats" not in warnings([*items[1:], mixed])
    greedy = Setting(temperature=0.0)
    assert "identical-repeats" not in warnings(items, greedy), "greedy repeats are the same by definition"
    assert "identical-repeats" in warnings(items, Setting()), "an unknown temperature may be one"


def test_one_sample_a_question_has_no_repeats() -> None:
    assert "identical-repeats" not in warnings(graded([sample("#### 4")], i) for i in range(10))


def test_a_stop_string_inside_reasoning() -> None:
    inside = sample("<think>Q: what", finish_reason="stop", stop="Q:")
    done = sample("<think>x</think> #### 4", finish_reason="stop", stop="Q:")
    found = warnings(graded([inside if i == 0 else done], i) for i in range(100))
    assert (found["stop-inside-reasoning"]["count"], found["stop-inside-reasoning"]["by_stop"]) == (
        1,
        {"Q:": 1},
    )
    assert "stop-inside-reasoning" not in warnings([graded([sample("<think>so")])]), "its own end, or unknown"


@pytest.mark.parametrize(("early", "warned"), [(4, False), (5, True)])
def test_stopped_before_any_answer(early: int, warned: bool) -> None:
    samples = [sample("First,", stop="\n\n")] * early + [sample("#### 4", stop="\n\n")] * (100 - early)
    found = warnings(graded([one], i) for i, one in enumerate(samples))
    assert ("stopped-without-answer" in found) is warned
    if warned:
        assert found["stopped-without-answer"]["by_stop"] == {"\n\n": 5}


# prompts


@pytest.mark.parametrize(
    ("prompt", "token"),
    [
        ("<s>Q: 2 + 2?", "<s>"),
        ("<|begin_of_text|><|begin_of_text|>Q", "<|begin_of_text|>"),
        ((Message("user", "<bos>Q"),), "<bos>"),
        ("Q: what is <s>?", None),
    ],
)
def test_a_prompt_that_brings_its_own_beginning(prompt: Prompt, token: str | None) -> None:
    found = warnings([graded([sample("#### 4")], prompt=prompt)])
    assert found.get("double-bos", {}).get("token") == token


def counted(tokens: Sequence[int], lengths: Sequence[int]) -> dict[str, Any]:
    return warnings(
        graded([sample(f"{i} #### 4", prompt_tokens=count)], i, prompt="x" * length)
        for i, (count, length) in enumerate(zip(tokens, lengths, strict=True))
    )


def test_prompts_that_all_count_as_one_largest_number() -> None:
    found = counted([2050, 2050, 2050, 1800], [9000, 9900, 11000, 7000])["prompts-cut"]
    assert (found["prompt_tokens"], found["count"], found["questions"]) == (2050, 3, 4)
    assert (found["shortest_characters"], found["longest_characters"]) == (9000, 11000)


@pytest.mark.parametrize(
    ("tokens", "lengths"),
    [
        ([9, 9, 9], [14, 14, 14]),  # the same length
        ([900, 900, 900], [4000, 4010, 4020]),  # nearly
        ([900, 900, 800], [4000, 4500, 3000]),  # two can meet
        ([900, 901, 902], [4000, 4500, 5000]),  # they do not meet
    ],
)
def test_prompts_that_may_well_have_as_many_tokens(tokens: list[int], lengths: list[int]) -> None:
    assert "prompts-cut" not in counted(tokens, lengths)


# what is not there


def test_missing_and_errored_samples_are_counted_against_the_plan() -> None:
    items = [graded([sample("#### 4"), sample("", error="503", finish_reason="error")])]
    found = warnings(items, Setting(planned=5))
    assert (found["missing-samples"]["count"], found["missing-samples"]["samples"]) == (3, 5)
    assert (found["errored-samples"]["count"], found["errored-samples"]["samples"]) == (1, 5)


def test_a_question_of_which_all_samples_errored_breaks_nothing() -> None:
    found = warnings([graded([sample("", error="503", finish_reason="error")])])
    assert list(found) == ["errored-samples"]


_TEXTS = st.sampled_from(["", "#### 4", "4", "no", "<think>4", "ha" * 80, "#### 5"])


@given(st.lists(st.lists(_TEXTS, min_size=1, max_size=4), max_size=30))
def test_the_same_run_gives_the_same_warnings_and_shares_within_bounds(runs: list[list[str]]) -> None:
    items = [graded([sample(text) for text in texts], i) for i, texts in enumerate(runs)]
    first, again = warnings(items), warnings(items)
    assert first == again
    assert list(first) == list(again)
    assert all(0 < evidence.get("share", 1) <= 1 for evidence in first.values())


def test_every_kind_is_written_down() -> None:
    text = (Path(__file__).parents[2] / "docs" / "warnings.md").read_text("utf-8")
    table = "".join(f"| `{kind}` | {when} |\n" for kind, when in KINDS.items())
    assert table in text, f"put this into docs/warnings.md:\n{table}"
