"""Tallies made apart and added up are the tally of the whole."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from resit.grading import score_question
from resit.records import Document, FilterChain, FilterStep, Generation, MetricSpec, Question, ScoringRules
from resit.reports.graded import Graded
from resit.reports.merging import merged
from resit.reports.results import TaskTally
from resit.reports.warnings import Setting, WarningTally

RULES = ScoringRules(
    (
        FilterChain(
            "strict", (FilterStep("regex", {"regex_pattern": r"#### (\d+)"}), FilterStep("take_first"))
        ),
        FilterChain("maj@2", (FilterStep("take_first_k", {"k": 2}), FilterStep("majority_vote"))),
    ),
    (MetricSpec("exact_match"),),
)
TEXTS = st.sampled_from(["", "#### 4", "the answer is 4", "no", "<think>4", "ha" * 80, "#### 5"])
ENDS = st.sampled_from(["stop", "length", "unknown", "error"])
SAMPLES = st.tuples(TEXTS, ENDS, st.none() | st.integers(9, 10), st.none() | st.just("Q:"))


def graded(doc_id: int, samples: list[tuple[str, str, int | None, str | None]]) -> Graded:
    prompt = "<s>" * (doc_id % 2) + "x" * (doc_id * 10)
    question = Question("t", Document(doc_id, f"h{doc_id}", {}), prompt, "4")
    generations = [
        Generation(
            "t", doc_id, f"h{doc_id}", repeat, repeat, text, end, stop, tokens,  # type: ignore[arg-type]
            error="503" if end == "error" else None,
        )
        for repeat, (text, end, tokens, stop) in enumerate(samples)
    ]  # fmt: skip
    return Graded(question, generations, score_question(question, generations, RULES))


@given(st.lists(st.lists(SAMPLES, min_size=1, max_size=3), max_size=12), st.data())
def test_parts_add_up_to_the_whole(
    runs: list[list[tuple[str, str, int | None, str | None]]], data: st.DataObject
) -> None:
    items = [graded(index, samples) for index, samples in enumerate(runs)]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(items)), max_size=3)))
    tally, suspicions = TaskTally(), WarningTally()
    whole, all_suspicions = TaskTally(), WarningTally()
    for start, end in zip([0, *cuts], [*cuts, len(items)], strict=True):
        part, part_suspicions = TaskTally(), WarningTally()
        for item in items[start:end]:
            for counted, suspected in ((part, part_suspicions), (whole, all_suspicions)):
                counted.add(item.score)
                suspected.add(item)
        tally, suspicions = merged(tally, part), merged(suspicions, part_suspicions)
    assert tally == whole
    setting = Setting("strict", 0.7, 64, 40)
    assert suspicions.warnings(setting) == all_suspicions.warnings(setting)


@dataclass
class Sum:
    number: int = 0
    share: float = 0.0
    listed: list[int] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    word: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    inner: dict[str, Counter[int]] = field(default_factory=dict)


def test_each_kind_of_value_is_added_in_its_way() -> None:
    first = Sum(1, 0.5, [1], {1}, "", Counter(a=1), {"x": Counter({1: 1})})
    second = Sum(2, 0.25, [0], {1, 2}, "w", Counter(a=1, b=2), {"x": Counter({1: 2}), "y": Counter()})
    both = merged(first, second)
    assert both == Sum(
        3, 0.75, [1, 0], {1, 2}, "w", Counter(a=2, b=2), {"x": Counter({1: 3}), "y": Counter()}
    )
    assert isinstance(both.counts, Counter)
    assert first.listed == [1], "neither of the two is changed"
    assert merged(Sum(word="a"), Sum(word="b")).word == "a"
