"""Arithmetic as answers write it: its exact value, or none."""

from __future__ import annotations

from fractions import Fraction

import pytest

from resit.grading.expressions import MAX_LENGTH, evaluate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3*6", 18),
        ("3 × 6", 18),
        ("3 \\times 6 \\cdot 2", 36),
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("{2 + 3} 4", None),
        ("2(3 + 4)", 14),
        ("2{3}", 6),
        ("(2)(3)", 6),
        ("10 - 4 - 3", 3),
        ("10 − 4 + 3", 9),
        ("-5 + 2", -3),
        ("+5", 5),
        ("−5", -5),
        ("3 * -2", -6),
        ("6 / -4", Fraction(-3, 2)),
        ("6 \\div 4", Fraction(3, 2)),
        ("8 ÷ 2 / 2", 2),
        ("1,250 / 2", 625),
        ("1{,}250", 1250),
        ("0.5 + .5", 1),
        ("2^{10}", 1024),
        ("2^10", 1024),
        ("2^{-2}", Fraction(1, 4)),
        ("2^-2", Fraction(1, 4)),
        ("2^{1+1}", 4),
        ("-2^2", -4),
        ("2^3^2", None),
        ("2^{1/2}", None),
        ("2 ** 3", None),
        ("5!", 120),
        ("3!!", 720),
        ("0!", 1),
        ("3!^2", 36),
        ("400! / 399!", 400),
        ("401!", None),
        ("(1/2)!", None),
        ("(-1)!", None),
        ("\\frac{1}{2}", Fraction(1, 2)),
        ("\\dfrac{1}{2} + \\tfrac12", 1),
        ("\\frac12", Fraction(1, 2)),
        ("\\frac123", None),
        ("2\\frac{1}{2}", 1),
        ("\\frac{1}{\\sqrt{9}}", Fraction(1, 3)),
        ("\\frac{1}{0}", None),
        ("\\frac{1}", None),
        ("\\frac x2", None),
        ("\\sqrt{16}", 4),
        ("\\sqrt9", 3),
        ("2\\sqrt{\\frac{9}{4}}", 3),
        ("\\sqrt{2}", None),
        ("\\sqrt{\\frac{1}{2}}", None),
        ("\\sqrt{-4}", None),
        ("\\sqrt[3]{8}", None),
        ("\\sqrt(4)", None),
        ("\\left(3 + 4\\right) \\cdot 2", 14),
        ("\\displaystyle 3\\,~4", None),
        ("3\\ +\\; 4", 7),
        ("(1 + 2", None),
        ("(1 + 2}", None),
        ("1 + 2)", None),
        ("1 +", None),
        ("* 2", None),
        ("", None),
        ("()", None),
        ("2x", None),
        ("2 @ 3", None),
        ("[3]", None),
        ("1.2.3", None),
        ("0^{-1}", None),
        ("0^0", 1),
    ],
)
def test_values(text: str, value: int | Fraction | None) -> None:
    assert evaluate(text) == value


@pytest.mark.parametrize(
    ("text", "has_value"),
    [
        ("(" * 39 + "7" + ")" * 39, True),
        ("(" * 40 + "7" + ")" * 40, False),
        ("1" + "+1" * 199, True),
        ("7" + " " * (MAX_LENGTH - 1), True),
        ("7" + " " * MAX_LENGTH, False),
        ("10^{300} * 10^{300}", True),
        ("10^{300}" + " * 10^{300}" * 4, False),
        ("9^{9999}", False),
    ],
)
def test_beyond_bounds_there_is_none(text: str, has_value: bool) -> None:
    assert (evaluate(text) is not None) is has_value


def test_a_whole_number_is_an_integer() -> None:
    assert type(evaluate("4 / 2")) is int
    assert type(evaluate("\\sqrt{4}")) is int
    assert type(evaluate("1 / 2")) is Fraction
