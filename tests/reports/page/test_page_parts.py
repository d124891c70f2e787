"""What the page is made of, without a browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resit.grading.filters import compile_chain
from resit.grading.spans import chain_spans
from resit.records import (
    Document,
    FilterChain,
    FilterStep,
    Generation,
    Message,
    Question,
    SampleScore,
    ScoringRules,
    Verdict,
)
from resit.reports.page.choosing import rank, representatives
from resit.reports.page.data import Row, Side
from resit.reports.page.details import votes
from resit.reports.page.drawing import length_charts
from resit.reports.page.figures import claim, flat
from resit.reports.page.gathering import gather
from resit.reports.page.html import SCRIPTS, SOURCE, embedded, script, static
from resit.reports.page.packing import ascii_json
from resit.reports.page.prompts import prompt_text, shared_beginning
from resit.reports.page.rows import TaskRows, side_of
from resit.reports.page.source import Answered


def asked(prompt: str | tuple[Message, ...], i: int = 0, text: str = "How many?") -> Question:
    return Question("t", Document(i, f"h{i}", {"question": text}), prompt, "#### 4")


def judged(repeat: int, answer: str | None, correct: float, rule: str = "robust") -> SampleScore:
    return SampleScore("t", 0, "h0", repeat, {rule: Verdict(rule, answer, correct)})


@pytest.mark.parametrize(
    ("pattern", "select", "text", "span"),
    [
        (r"#### (\-?[0-9\.\,]+)", 0, "so #### 18 and #### 19", "18"),
        (r"#### (\-?[0-9\.\,]+)", -1, "so #### 18 and #### 19", "19"),
        (r"(-?[$0-9.,]{2,})|(-?[0-9]+)", -1, "3 + 4 = 7.", "7."),
        (r"(-?[$0-9.,]{2,})|(-?[0-9]+)", -1, "of 3", "3"),
        (r"is +\S+ ", 0, "it is  5 x", "is  5"),
        (r"#### (\d+)", 0, "none", None),
        (r"#### (\d+)", 2, "#### 1", None),
    ],
)
def test_where_a_filter_reads(pattern: str, select: int, text: str, span: str | None) -> None:
    step = FilterStep("regex", {"regex_pattern": pattern, "group_select": select})
    chain = FilterChain("strict", (step, FilterStep("take_first")))
    found = chain_spans(ScoringRules((chain,), ()))["strict"](text)
    assert (text[slice(*found)] if found else None) == span
    if span is not None:  # what grading itself makes of it
        assert compile_chain(chain).apply_to_one(text, {}) == span


@given(st.text(alphabet="#0123456789.,-$ \n", max_size=60), st.integers(-2, 2))
def test_the_place_holds_what_is_graded(text: str, select: int) -> None:
    step = FilterStep("regex", {"regex_pattern": r"(-?[$0-9.,]{2,})|(-?[0-9]+)", "group_select": select})
    chain = FilterChain("flexible", (step,))
    found = chain_spans(ScoringRules((chain,), ()))["flexible"](text)
    if found is not None:
        assert text[slice(*found)] == compile_chain(chain).apply_to_one(text, {})


PARTS = st.text(alphabet="ab \n", max_size=30)


@given(PARTS, st.lists(PARTS, min_size=1, max_size=4))
def test_the_parts_of_a_prompt_are_the_prompt(shared: str, own: list[str]) -> None:
    questions = [asked(f"{shared * 8}\n\n{text}How many?") for text in own]
    beginning = shared_beginning(question.prompt for question in questions)
    for question in questions:
        parts = prompt_text(question, beginning)
        assert f"{parts['shared']}{parts['lead']}{parts['own']}" == question.prompt
        assert parts["own"]


def test_shared_exemplars_are_told_from_drawn_ones() -> None:
    head = "Solve these problems, step by step, as the examples below do it; give the number alone."
    questions = [asked(f"{head}\n\nQ: {i}?\nA: {i}\n\nQ: How many?\nA:", i) for i in range(3)]
    beginning = shared_beginning(question.prompt for question in questions)
    parts = prompt_text(questions[1], beginning)
    assert parts == {"shared": f"{head}\n\n", "lead": "Q: 1?\nA: 1\n\n", "own": "Q: How many?\nA:"}


def test_a_chat_never_folds_its_last_turn() -> None:
    turns = (Message("system", "s"), Message("user", "How many?"))
    parts = prompt_text(asked(turns), shared_beginning([turns, turns]))
    assert [turn["role"] for turn in parts["own"]] == ["user"]  # type: ignore[index]
    assert [turn["role"] for turn in parts["shared"]] == ["system"]  # type: ignore[index]


def test_a_side_counts() -> None:
    scores = [
        SampleScore("t", 0, "h", 0, {"a": Verdict("a", "1", 1.0), "b": Verdict("b", None, 0.0)}),
        SampleScore(
            "t", 0, "h", 1, {"a": Verdict("a", "2", 0.0), "b": Verdict("b", "2", 0.0)}, truncated=True
        ),
        SampleScore("t", 0, "h", 2, {}, error="429"),
    ]
    assert side_of(scores, ["a", "b"], [10, 21]) == Side(
        samples=2, errored=1, truncated=1, disagree=1, right=[1, 0], unread=[0, 1], answer=["1", None],
        votes=[1, 1], length=16,
    )  # fmt: skip


def test_row_names_are_unique_where_numbers_are_not() -> None:
    rows = TaskRows("t", 2, ["a"])
    rows.add(0, asked("p", 3), side_of((), ["a"]))
    other = Question("t", Document(3, "0123456789ab", {}), "p", "4")
    rows.add(1, other, side_of((), ["a"]))
    assert [row["id"] for row in rows.rows.values()] == ["t/3", "t/3-01234567"]
    assert [row["target"] for row in rows.rows.values()] == ["4", "4"]


def test_one_text_an_answer_is_held_first() -> None:
    answers = ["5", "5", "4", "5", None, "4", "5"]
    scores = [judged(i, answer, float(answer == "4")) for i, answer in enumerate(answers)]
    assert representatives(scores, "robust", 2) == {0, 2}
    assert representatives(scores, "robust", 4) == {0, 2, 4, 1}
    assert representatives(scores, "robust", 99) == set(range(7))
    assert [(vote["answer"], vote["count"], vote["correct"]) for vote in votes(scores)["robust"]] == [
        ("5", 4, False),
        ("4", 2, True),
        (None, 1, False),
    ]


def test_equal_values_are_one_vote() -> None:
    scores = [judged(0, "$1,200", 1.0), judged(1, "1200.00", 1.0), judged(2, "12", 0.0)]
    assert [vote["repeats"] for vote in votes(scores)["robust"]] == [[0, 1], [2]]
    assert votes(scores[:1]) == {}


def _row(*sides: tuple[int, int, int]) -> Row:
    made = [
        Side(
            samples=n,
            errored=0,
            truncated=0,
            disagree=differ,
            right=[right],
            unread=[0],
            answer=[""],
            votes=[n],
            length=1,
        )
        for n, right, differ in sides
    ]
    return Row(id="t/0", doc_id=0, question="", target="", sides=[*made])


def test_telling_questions_are_held_first() -> None:
    flipped, differing = _row((1, 1, 0), (1, 0, 0)), _row((1, 1, 1), (1, 1, 0))
    wrong, right = _row((1, 0, 0)), _row((1, 1, 0))
    assert sorted([right, wrong, differing, flipped], key=lambda row: rank(row, 0)) == [
        flipped,
        differing,
        wrong,
        right,
    ]


def test_a_claim_without_samples_claims_nothing() -> None:
    counted = {"questions": 0, "samples": 0, "errored": 3, "missing": 7, "planned": 10}
    said = claim("m", "t", [], counted)  # type: ignore[arg-type]
    assert said == "m on t: nothing is measured yet. 3 samples errored, 7 of 10 are missing."


def test_a_record_in_words() -> None:
    record = {
        "sampling": {"stop": ["\n", "Q:"], "top_p": None, "chat": True},
        "files": [{"name": "a"}],
        "x": {},
    }
    assert [*flat(record)] == [
        ("sampling.stop", "'\\n', Q:"),
        ("sampling.top_p", "none"),
        ("sampling.chat", "yes"),
        ("files.1.name", "a"),
        ("x", "none"),
    ]


@given(st.recursive(st.text() | st.floats() | st.none(), st.lists, max_leaves=8))
def test_embedded_json_cannot_leave_its_element(value: object) -> None:
    text = embedded(value)
    assert text.isascii()
    assert not set("<>&") & set(text)
    assert json.loads(text) == json.loads(ascii_json(value))


def test_json_has_no_words_that_javascript_lacks() -> None:
    assert ascii_json({"a": [float("nan"), 1.5], "b": float("inf")}) == '{"a":[null,1.5],"b":null}'


def test_the_modules_share_no_name_and_no_import_is_left() -> None:
    whole = script([*SCRIPTS[:-1], SOURCE, SCRIPTS[-1]])
    assert "\nimport " not in whole
    assert "\nexport " not in whole
    names = [
        line.removesuffix("{").split("(")[0].split("=")[0].split()[-1]
        for line in whole.splitlines()
        if line.startswith(("function ", "async function ", "const ", "let ", "class "))
    ]
    assert len(names) == len(set(names)) > 40


@pytest.mark.parametrize("name", [*SCRIPTS, SOURCE])
def test_texts_are_never_set_as_html(name: str) -> None:
    code = static(name)
    assert not [word for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "eval(") if word in code]


def test_the_samples_of_a_question_stay_together_in_the_chart_of_lengths() -> None:
    found = gather("t", [None], ["robust"], "robust")
    for i in range(2):
        made = [Generation("t", i, f"h{i}", repeat, 7, text="x" * (repeat + 1)) for repeat in range(3)]
        found.add(0, Answered(asked("?", i), made, [judged(repeat, "4", repeat % 2) for repeat in range(3)]))
    assert found.lengths == [[(n, float(n == 2), key) for key in ("h0", "h1") for n in (1, 2, 3)]]
    (chart,) = length_charts("t", ["a"], found)
    assert chart.entry["columns"] == ["Run", "Characters", "Samples", "Questions", "Right"]
    assert chart.entry["table"][1] == ["a", "2 to 2", "2", "2", "100.0 %"]


def test_the_page_is_whole_without_its_scripts(report_of: Callable[..., Path], first_run: Path) -> None:
    """Claim, scores, counts, warnings and protocol are in the HTML itself."""
    text = unescape(report_of(first_run).read_text(encoding="utf-8"))
    shown = text.partition('<script type="application/json"')[0]
    for words in (
        "first answers 44.4 % of fruit right (95 % interval 18.9 to 73.3 %), 9 questions, as strict-match",
        "flexible-extract counts 22.2 points more.",
        "rule-below-robust",
        "imported_from",
    ):
        assert words in shown


def test_no_address_is_anywhere_in_the_file_but_those_of_the_chart_schemas(
    report_of: Callable[..., Path], first_run: Path
) -> None:
    text = report_of(first_run).read_text(encoding="utf-8").partition("<script>")[0]
    assert [word for word in text.split('"') if word.startswith(("http:", "https:", "//"))] == [
        "https://vega.github.io/schema/vega-lite/v6.json"
    ] * 2
