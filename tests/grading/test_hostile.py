"""Whatever a model writes, a grader neither raises nor takes long."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resit.grading import RULES, grade
from resit.grading.deepseek_math import strip_string
from resit.grading.expressions import evaluate
from resit.grading.numbers import find_tokens
from resit.grading.numerals import read_cjk, read_numeral
from resit.grading.symbolic import is_too_large
from resit.grading.values import read_value
from resit.grading.words import find_words

MEGABYTE = 10**6
PIECES = [
    "1", "18 ", "1,", "1.", "1 ", ". ", "$", "####", "#### ", "\\boxed{", "\\boxed{18}", "{", "}",
    "(", "[", "<think>", "</think>", "<think>x</think>", "the answer is ", "The answer is 5. ",
    "answer ", "answer: ", "**", "**5**", "*", "_", "\n", "\n\n", "\nQ: ", "Question: ",
    "\nQuestion: 5\n", "-", "--", "−", "– ", "+", "= ", "=5", "5 + ", "5*", "x", "5x", "½", "²",
    "^", "9^", "9^{", "!", "/", "1/", "1/2 ", "%", "\\frac{1}{2}", "\\frac", "\\frac{", "\\sqrt{",
    "\\text{", " and ", "5 and ", ", ", "5, ", "one ", "one hundred ", "twenty-one ", "三", "百万",
    "１", "١", "\ud800", "\0", "\t", " ", "a", "é", "İ", "😀", "<", "<|", "<|im_end|>", "</s>",
    "<answer>", "<answer>5", "答案", "答案是5", "Ответ: ", "i.e. ", "(5) ", "if 5 ", "to buy 5 ",
    "for 5 ", "? ", "5? ", "! ", "; ", "5:30 ", "3:00 pm ", "\\", "\\,", "{,}", "'", "e", "1e9",
    "5e99999 ", "5 million ", ".5", "1.2.3 ", "1/0 ", "10^10^", "cannot be determined ", "of ",
    "step 1: ", "\n1. ", "\n- 5", "A: 5\n", "x = ", "5 or ", "about ", "#", "|", "\"", "10⁹⁹⁹",
    "kilo", "9" * 50, "5万", "5万5千", "三分之", "5分の2", "\nProblem: 5\n", "\nExample: ", "16 \nInput: ",
    "Answer:\n1. ", "Answer: 1 = 5\n5 = ", "check the answer: 5 ", "sold 5 for $5 ", "5 eggs - ", "答：",
    "cm^3", "for **5** ", "**5.** a\n", "\\boxed{two = 5} ",
]  # fmt: skip


def seconds(do: Callable[[str], object], text: str) -> float:
    """Processor time that it takes."""
    started = time.process_time()
    do(text)
    return time.process_time() - started


def is_linear(text: str, do: Callable[[str], object] = lambda text: grade(text, "18")) -> bool:
    """Whether a text costs next to nothing, or no more than in proportion to an eighth of it.

    A megabyte takes 0.05 s of an idle machine. On the busiest, only what takes long and grows like the square
    is wrong.
    """
    whole = seconds(do, text)
    return whole < 2 or whole < 32 * max(seconds(do, text[: len(text) // 8]) for _ in range(3))


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: ascii(piece).replace("\\", "/"))
def test_a_megabyte_of_one_thing(piece: str) -> None:
    assert is_linear(piece * (MEGABYTE // len(piece)))


@pytest.mark.parametrize("seed", range(12))
def test_a_megabyte_of_anything(seed: int) -> None:
    dice = random.Random(seed)
    for length in (2, 3, 5):
        piece = "".join(dice.choices(PIECES, k=length))
        assert is_linear(piece * (MEGABYTE // len(piece))), piece
    assert is_linear("".join(dice.choices(PIECES, k=200_000))[:MEGABYTE])


HOSTILE = {
    "digits": "9" * 100_000,
    "decimals": "The answer is 0." + "3" * 100_000,
    "commas": "1," * 50_000,
    "nested boxes": "\\boxed{" * 10_000 + "18" + "}" * 10_000,
    "open boxes": "\\boxed{" * 10_000,
    "markers": "#### 17\n" * 10_000 + "#### 18",
    "phrases": "The answer is 17. " * 10_000 + "The answer is 18.",
    "boxes": "\\boxed{17} " * 10_000 + "\\boxed{18}",
    "tower": "\\boxed{" + "9^" * 10_000 + "9}",
    "braces": "{" * MEGABYTE,
    "signs": "-" * 100_000 + "18",
    "long tail": "#### 18\n" + "checking it once more. " * 40_000,
    "surrogates": "\ud800" * 1000 + "#### 18" + "\udfff\0" * 1000,
}
READS = {"nested boxes", "markers", "phrases", "boxes", "signs", "long tail", "surrogates"}


@pytest.mark.parametrize("name", HOSTILE)
def test_known_attacks(name: str) -> None:
    verdict = grade(HOSTILE[name], "18")
    assert (verdict.extracted == "18") is (name in READS), verdict
    assert is_linear(HOSTILE[name])


@pytest.mark.parametrize(
    "tower",
    [
        "9^{9^9}",
        "9^9^9^9",
        "10^{10^{10}}",
        "\\dfrac{6^{\\left(6^{\\left(6^6\\right)}\\right)} - 6}{10}",
        "(((999999!)!)!)",
        "2^{-99999999}",
        "999999!",
        "\\sqrt{9^{999}}",
        "1/0",
        "\\frac{1}{0}",
        "9" * 399 + "^9",
        "(" * 300,
        "1" + "*9" * 150,
        "1+" * 199,
    ],
)
def test_towers_have_no_value_and_no_cost(tower: str) -> None:
    started = time.process_time()
    assert grade(f"\\boxed{{{tower}}}", "3").correct == 0.0
    assert time.process_time() - started < 30


anything = st.text(st.characters(codec=None, exclude_categories=()), max_size=80)
likely = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


@settings(deadline=None)
@given(anything | likely, st.sampled_from([n for n in RULES if n not in ("math", "deepseek_math")]))
def test_no_text_raises_and_spans_lie_in_it(text: str, rule: str) -> None:
    for finish_reason in ("stop", "length"):
        verdict = grade(text, "18", rule, finish_reason=finish_reason)
        assert verdict.rule == rule
        assert verdict.correct in (0.0, 1.0)
        if verdict.span is not None:
            assert 0 <= verdict.span[0] <= verdict.span[1] <= len(text)
        if verdict.correct:
            assert verdict.extracted is not None


@settings(deadline=None)
@given(likely, likely)
def test_no_gold_raises(answer: str, gold: str) -> None:
    if read_value(gold) is not None:
        grade(answer, gold)


@settings(deadline=None)
@given(anything | likely)
def test_the_parts_are_total(text: str) -> None:
    list(find_tokens(text, 0, len(text)))
    find_words(text, 0, len(text))
    read_value(text)
    evaluate(text)


@settings(deadline=None)
@given(st.text("0123456789.,'_ {}\\!٣１", min_size=1, max_size=12))
def test_numerals_are_total(text: str) -> None:
    for comma_decimal in (None, True, False):
        read_numeral(text, comma_decimal)


@given(st.text("零一二三四五六七八九十百千万亿", min_size=1, max_size=9))
def test_chinese_numerals_are_total(text: str) -> None:
    value = read_cjk(text)
    assert value is None or value >= 0


@given(st.integers(-(10**12), 10**12))
def test_an_integer_survives_every_way_of_writing_it(value: int) -> None:
    ways = [str(value), f"{value:,}", f"{value:,}".replace(",", "{,}"), f"{value:,}".replace(",", " ")]
    frames = ["{}", "#### {}", "The answer is {}.", "\\boxed{{{}}}", "It costs ${}.", "**{}**", "So x = {}"]
    for way, frame in itertools.product(ways, frames):
        assert grade(frame.format(way), str(value)).correct == 1.0, frame.format(way)
        assert grade(frame.format(way), str(value + 1)).correct == 0.0, frame.format(way)


@pytest.mark.parametrize("rule", ["deepseek_math", "math"])
@pytest.mark.parametrize("digits", [20_000, 100_000])
def test_long_digit_strings_cost_a_rule_with_a_worker_no_more_than_its_limit(rule: str, digits: int) -> None:
    pytest.importorskip("math_verify")
    start = time.perf_counter()
    assert grade("5" * digits, "5", rule=rule).correct == 0.0
    assert time.perf_counter() - start < 90  # the worker's 5 seconds, and its start on a busy machine


@pytest.mark.parametrize(
    "text", ["5" * 100_000, "5" * 100_000 + ".", "^" + " " * 20_000, "**" + " " * 20_000, "5" * 20_000 + " "]
)
def test_recognising_huge_powers_takes_linear_time(text: str) -> None:
    assert is_linear(text, is_too_large)
    assert is_linear(text, strip_string)
