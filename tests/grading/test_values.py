"""Answers and golds as exact values: what a text states as a whole, and when two values are equal."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

from resit import grading
from resit.grading.values import (
    Amount,
    Clock,
    Several,
    Value,
    equal,
    gold_text,
    read_gold,
    read_value,
    written,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("18", Amount(18)),
        (" **18** ", Amount(18)),
        ("$\\boxed{\\text{18}}$", Amount(18)),
        ("\\(18\\)。", Amount(18)),
        ('"18"', Amount(18)),
        ("\\text{" * 12 + "18" + "}" * 12, Amount(18)),
        ("\\text{" * 13 + "18" + "}" * 13, None),
        ("{18", None),
        ("*18** **19*", None),
        ("\\text{18}}", None),
        ("\\text{1} {8}", None),
        ("18 apples", Amount(18)),
        ("about $18.00 per day", Amount(18)),
        ("\\approx 18 \\text{ cm}^2", Amount(18)),
        ("18%", Amount(18, percent=True)),
        ("18 c", None),
        ("18m", Amount(18)),
        ("in 18", None),
        ("18 apples, 4 pears", Several((18, 4))),
        ("eighteen", Amount(18)),
        ("eighteen hats", None),
        ("eighteen!", None),
        ("三百二十", Amount(320)),
        ("三三十", None),
        ("x = 18", Amount(18)),
        ("x_1 = 18", Amount(18)),
        ("Total cost: $18", Amount(18)),
        ("\\text{total} = 18", Amount(18)),
        ("x =", None),
        ("x = {}", None),
        ("x == 18", None),
        ("time: 3:30", Clock(3, 30)),
        ("x = 3 \\cdot 6", Amount(18)),
        ("3 \\cdot 6", Amount(18)),
        ("\\frac{\\sqrt{9}}{2}", Amount(Fraction(3, 2))),
        ("20-25", None),
        ("20 - 25 + 1", Amount(-4)),
        ("3:30", Clock(3, 30)),
        ("3:30 p.m.", Clock(3, 30, "pm")),
        ("11:05 AM", Clock(11, 5, "am")),
        ("3:75", None),
        ("3:00", Amount(3)),
        ("\\pm 3", Several((3, -3))),
        ("± \\frac{1}{2}", Several((Fraction(1, 2), Fraction(-1, 2)))),
        ("\\pm x", None),
        ("1, 2", Several((1, 2))),
        ("1 and 2", Several((1, 2))),
        ("1; 2; 3", Several((1, 2, 3))),
        ("\\{1, 2\\}", Several((1, 2))),
        ("\\lbrace 1, 2\\rbrace", Several((1, 2))),
        ("(1, 2)", Several((1, 2), "()")),
        ("[1, 2)", Several((1, 2), "[)")),
        ("\\left(1, \\frac{1}{2}\\right]", Several((1, Fraction(1, 2)), "(]")),
        ("(1, x)", None),
        ("(1, {})", None),
        ("1,250, 3", Several((1250, 3))),
        ("1; 2" + "; 3" * 48, Several((1, 2, *(3,) * 48))),
        ("1; 2" + "; 3" * 49, None),
        ("", None),
        ("$$", None),
        ("no number", None),
        ("18" + " " * 1998, Amount(18)),
        ("18" + " " * 1999, None),
    ],
)
def test_what_a_text_states_as_a_whole(text: str, value: Value | None) -> None:
    assert read_value(text) == value


@pytest.mark.parametrize(
    ("reference", "marker", "value"),
    [
        ("9 + 9 = 18\n#### 18", "####", Amount(18)),
        ("#### 17\n#### 18", "####", Amount(18)),
        ("18", "####", Amount(18)),
        ("She has nine and nine.\n18", "####", Amount(18)),
        ("9 and then some\n18\n", "####", Amount(18)),
        ("it is\nso", "####", None),
        ("A: 17 #### 18", "", None),
        ("steps A: 18", "A:", Amount(18)),
    ],
)
def test_golds(reference: str, marker: str, value: Value | None) -> None:
    assert read_gold(reference, marker) == value


def test_the_text_of_a_gold_answer() -> None:
    assert gold_text("x #### y #### z ", "####") == "z"
    assert gold_text(" x #### y ", "") == "x #### y"


@pytest.mark.parametrize(
    ("answer", "gold", "tolerance", "same"),
    [
        (Amount(18), Amount(18), None, True),
        (Amount(18), Amount(19), None, False),
        (Amount(18), Amount(19), Fraction(1), True),
        (Amount(17), Amount(19), Fraction(1), False),
        (Amount(Fraction(1, 2)), Amount(50, percent=True), None, True),
        (Amount(50), Amount(50, percent=True), None, True),
        (Amount(50, percent=True), Amount(Fraction(1, 2)), None, True),
        (Amount(50, percent=True), Amount(50), None, True),
        (Amount(100, percent=True), Amount(1), None, False),
        (Amount(Fraction(1, 2), percent=True), Amount(50, percent=True), None, False),
        (Amount(50), Amount(Fraction(1, 2)), None, False),
        (Clock(3, 30), Clock(3, 30, "pm"), None, True),
        (Clock(3, 30, "am"), Clock(3, 30, "pm"), None, False),
        (Clock(3, 30, "pm"), Clock(3, 30, "pm"), None, True),
        (Clock(3, 30), Clock(3, 31), None, False),
        (Clock(3, 30), Clock(4, 30), None, False),
        (Several((1, 2)), Several((2, 1)), None, True),
        (Several((1, 2, 2)), Several((2, 1, 1)), None, False),
        (Several((1, 2), "()"), Several((1, 2), "()"), None, True),
        (Several((1, 2), "()"), Several((2, 1), "()"), None, False),
        (Several((1, 2), "()"), Several((1, 2), "[]"), None, False),
        (Several((1, 2)), Several((1, 2), "[]"), None, False),
        (Amount(3), Clock(3, 0), None, False),
        (Several((3,)), Amount(3), None, False),
    ],
)
def test_equality(answer: Value, gold: Value, tolerance: Fraction | None, same: bool) -> None:
    assert equal(answer, gold, tolerance) is same


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Amount(Fraction(3, 2), percent=True), "1.5"),
        (Clock(3, 5), "3:05"),
        (Clock(3, 5, "pm"), "3:05 pm"),
        (Several((2, Fraction(1, 2))), "0.5, 2"),
        (Several((2, 1), "[)"), "[2, 1)"),
    ],
)
def test_the_written_form(value: Value, text: str) -> None:
    assert written(value) == text


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Before Python 3.11.5 such a group matches what it must not; an atomic group says the same."""
    folder = Path(grading.__file__).parents[1]
    possessive = re.compile(r"\)(?:[*+?]|\{\d*,?\d*\})\+")
    found = [path.name for path in folder.rglob("*.py") if possessive.search(path.read_text("utf-8"))]
    assert found == []
