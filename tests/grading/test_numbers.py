"""Numbers in running text: their exact values and places, and what digits are no number."""

from __future__ import annotations

from fractions import Fraction

import pytest

from resit.grading.numbers import EXPRESSION, Number, Unreadable, find_numbers, find_tokens
from resit.grading.numerals import MAX_DIGITS, bounded_power, read_cjk, read_numeral, with_cjk_tail, write
from resit.grading.words import find_words, read_words

MALFORMED = "a malformed or too long number"


def found(text: str, comma_decimal: bool | None = None) -> list[tuple[str, str]]:
    """What is read, as (value or reason, the characters it was read from)."""
    return [
        (write(token.value) if isinstance(token, Number) else token.reason, text[token.start : token.end])
        for token in find_tokens(text, 0, len(text), comma_decimal)
    ]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("So 12 and 7.5", [("12", "12"), ("7.5", "7.5")]),
        ("costs $5", [("5", "$5")]),
        ("costs \\$5", [("5", "\\$5")]),
        ("a loss of -$5", [("-5", "-$5")]),
        ("a loss of $-5", [("-5", "$-5")]),
        ("costs US$5", [("5", "$5")]),
        ("costs USD 5", [("5", "USD 5")]),
        ("costs Rs. 5", [("5", "Rs. 5")]),
        ("costs RM5", [("5", "RM5")]),
        ("costs USD 5k", [("5000", "USD 5k")]),
        ("costs EUR5k", [("5000", "EUR5k")]),
        ("OVER 5k", [("5", "5")]),
        ("CAR5", []),
        ("€ 5", [("5", "€ 5")]),
        ("is -5", [("-5", "-5")]),
        ("= - 5", [("-5", "- 5")]),
        ("- 5 apples", [("5", "5")]),
        ("a - 5", [("5", "5")]),
        ("8-5", [("8", "8"), ("5", "5")]),
        ("(8)-5", [("8", "8"), ("5", "5")]),
        ("8 -5", [("8", "8"), ("5", "5")]),
        ("50% -5", [("50", "50%"), ("5", "5")]),
        ("--5", [("5", "5")]),
        ("minus 5", [("-5", "minus 5")]),
        ("Negative 5", [("-5", "Negative 5")]),
        ("8 minus 5", [("8", "8"), ("5", "5")]),
        ("bonus 5", [("5", "5")]),
        ("they have 5", [("5", "5")]),
        ("x5", []),
        ("9x2", [("9", "9"), ("2", "2")]),
        ("row_5", []),
        ("_5_", [("5", "5")]),
        ("A5 has 7", [("7", "7")]),
        ("in total.5 of them", [("5", "5")]),
        ("half is .5", [("0.5", ".5")]),
        ("50%", [("50", "50%")]),
        ("50 percent", [("50", "50 percent")]),
        ("2½", [("2.5", "2½")]),
        ("2 ½ cups", [("2.5", "2 ½")]),
        ("½", [("0.5", "½")]),
        ("1.5½", [(EXPRESSION, "1.5½")]),
        ("2\\frac{1}{2}", [("2.5", "2\\frac{1}{2}")]),
        ("1.5\\frac{1}{2}", [("1.5", "1.5"), ("0.5", "\\frac{1}{2}")]),
        ("\\frac{3}{4}", [("0.75", "\\frac{3}{4}")]),
        ("\\frac{-3}{4}", [("-0.75", "\\frac{-3}{4}")]),
        ("\\frac{\\text{3}}{4}", [("0.75", "\\frac{\\text{3}}{4}")]),
        ("\\frac{1}{0}", [(MALFORMED, "\\frac{1}{0}")]),
        ("\\frac{1.2.3}{4}", [(MALFORMED, "\\frac{1.2.3}{4}")]),
        ("2 1/2", [("2.5", "2 1/2")]),
        ("2 3/2", [("2", "2"), ("1.5", "3/2")]),
        ("2 and a half", [("2.5", "2 and a half")]),
        ("2 and 1/4", [("2.25", "2 and 1/4")]),
        ("2 and 1/0", [("2", "2"), (EXPRESSION, "1/0")]),
        ("3/4", [("0.75", "3/4")]),
        ("3/0", [(EXPRESSION, "3/0")]),
        ("3/4/2024", [(EXPRESSION, "3/4/2024")]),
        ("3:4", [(EXPRESSION, "3:4")]),
        ("3:00 pm", [("3", "3:00 pm")]),
        ("3:30 pm", [("a clock time", "3:30 pm")]),
        ("1e3", [("1000", "1e3")]),
        ("1e-3", [("0.001", "1e-3")]),
        ("1e−3", [("0.001", "1e−3")]),
        ("1e999999", [(EXPRESSION, "1e999999")]),
        ("1.5 × 10^3", [("1500", "1.5 × 10^3")]),
        ("1.5 \\times 10^{-3}", [("0.0015", "1.5 \\times 10^{-3}")]),
        ("1.5 × 10³", [("1500", "1.5 × 10³")]),
        ("2 × 10⁻²", [("0.02", "2 × 10⁻²")]),
        ("7²", [("49", "7²")]),
        ("7^2", [("49", "7^2")]),
        ("7^{2}", [("49", "7^{2}")]),
        ("2^-1", [("0.5", "2^-1")]),
        ("7^2^2", [(EXPRESSION, "7^2^2")]),
        ("7^{x}", [(EXPRESSION, "7^{x}")]),
        ("0^-1", [(EXPRESSION, "0^-1")]),
        ("5! = 120", [(EXPRESSION, "5!"), ("120", "120")]),
        ("It is 5!", [("5", "5")]),
        ("2x + 1", [(EXPRESSION, "2x"), ("1", "1")]),
        ("2\\pi", [(EXPRESSION, "2\\pi")]),
        ("2 π", [(EXPRESSION, "2 π")]),
        ("\\sqrt{5} is", [(EXPRESSION, "5")]),
        ("√5", [(EXPRESSION, "5")]),
        ("3 hundred", [("300", "3 hundred")]),
        ("2.5 million", [("2500000", "2.5 million")]),
        ("2万", [("20000", "2万")]),
        ("1万2000円", [("12000", "1万2000")]),
        ("3万一年", [("30000", "3万")]),
        ("3万5元", [(EXPRESSION, "3万5元")]),
        ("3分の2です", [("2/3", "3分の2")]),
        ("0分の2", [(EXPRESSION, "0分の2")]),
        ("30分の休憩", [("30", "30")]),
        ("12 ft^2", [("12", "12")]),
        ("60 cm^{3}", [("60", "60")]),
        ("5\\,\\mathrm{cm}^3", [("5", "5")]),
        ("4 m s^{-1}", [("4", "4")]),
        ("x^2", []),
        ("^2", [("2", "2")]),
        ("$2.5k", [("2500", "$2.5k")]),
        ("$3M", [("3000000", "$3M")]),
        ("$4b", [("4000000000", "$4b")]),
        ("2.5k people", [("2.5", "2.5")]),
        ("5 dollars and 25 cents", [("5.25", "5 dollars and 25 cents")]),
        ("5.5 dollars and 25 cents", [("5.5", "5.5"), ("25", "25")]),
        ("1,250", [("1250", "1,250")]),
        ("1 250 000", [("1250000", "1 250 000")]),
        ("1{,}250", [("1250", "1{,}250")]),
        ("1\\,250", [("1250", "1\\,250")]),
        ("1'250", [("1250", "1'250")]),
        ("1,2,3", [("1", "1"), ("2", "2"), ("3", "3")]),
        ("1.2.3", [(MALFORMED, "1.2.3")]),
        ("1,25", [("1.25", "1,25")]),
        ("١٢٫٥", [("12.5", "١٢٫٥")]),
        ("１，２５０", [("1250", "１，２５０")]),
        ("90°", [("90", "90")]),
        ("90^\\circ", [("90", "90")]),
        ("7" * (MAX_DIGITS + 1), [(MALFORMED, "7" * (MAX_DIGITS + 1))]),
        ("1,2," + "7" * (MAX_DIGITS + 1), [("1", "1"), ("2", "2")]),
    ],
)
def test_tokens(text: str, tokens: list[tuple[str, str]]) -> None:
    assert found(text) == tokens


@pytest.mark.parametrize(
    ("comma_decimal", "values"),
    [(None, ["1.25", "1.5", "1250"]), (True, ["1250", "1.5", "1250"]), (False, ["1.25", "1", "5", "1250"])],
)
def test_points_and_commas_as_the_language_has_them(comma_decimal: bool | None, values: list[str]) -> None:
    assert [value for value, _ in found("1.250 or 1,5 or 1,250", comma_decimal)] == values


def test_only_numbers_that_begin_between_two_positions() -> None:
    text = "1 23 4.5 3:30 6"
    assert [number.start for number in find_numbers(text, 2, 14)] == [2, 5]
    assert list(find_tokens(text, 9, 14)) == [Unreadable(9, 13, "a clock time")]
    assert list(find_tokens("x5", 1, 2)) == [Number(5, 1, 2)]
    assert list(find_tokens("5%", 0, 1)) == [Number(5, 0, 1)]


def test_a_percent_sign_and_a_full_hour_are_told() -> None:
    (share, hour) = find_numbers("5% at 3:00", 0, 10)
    assert (share.percent, share.clock, hour.percent, hour.clock) == (True, False, False, True)


@pytest.mark.parametrize(
    ("text", "comma_decimal", "value"),
    [
        ("1250", None, 1250),
        ("1,250", None, 1250),
        ("1,250.50", None, Fraction(2501, 2)),
        ("1.250,50", None, Fraction(2501, 2)),
        ("12,34,567", None, 1234567),
        ("1.250", None, Fraction(5, 4)),
        ("1.250", True, 1250),
        ("0.250", True, Fraction(1, 4)),
        ("1,5", None, Fraction(3, 2)),
        ("1,5", True, Fraction(3, 2)),
        ("1,5", False, None),
        ("1,2500", None, Fraction(5, 4)),
        ("0,250", None, None),
        ("0,250", True, Fraction(1, 4)),
        ("5.", None, 5),
        ("5,", None, 5),
        (".5", None, Fraction(1, 2)),
        (",5", None, None),
        (".", None, None),
        ("", None, None),
        ("1.2.3", None, None),
        ("007", None, 7),
        ("1.50", None, Fraction(3, 2)),
        ("1.00", None, 1),
        ("9" * MAX_DIGITS, None, 10**MAX_DIGITS - 1),
        ("9" * (MAX_DIGITS + 1), None, None),
        ("0." + "0" * (MAX_DIGITS - 2) + "1", None, Fraction(1, 10 ** (MAX_DIGITS - 1))),
        ("0." + "0" * MAX_DIGITS + "1", None, None),
        ("0." + "0" * (2 * MAX_DIGITS - 2), None, 0),
        ("0." + "0" * (2 * MAX_DIGITS - 1), None, None),
    ],
)
def test_numerals(text: str, comma_decimal: bool | None, value: int | Fraction | None) -> None:
    assert read_numeral(text, comma_decimal) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("三", 3),
        ("三二〇", 320),
        ("三百二十", 320),
        ("十五", 15),
        ("二千零五", 2005),
        ("三万二千", 32000),
        ("一億二千万", 120_000_000),
        ("二兆", 2 * 10**12),
        ("三分之二", Fraction(2, 3)),
        ("三分の二", Fraction(2, 3)),
        ("百分之二十五", 25),
        ("零分之二", None),
        ("三三十", None),
        ("万", None),
        ("零万", None),
        ("一" * MAX_DIGITS, int("1" * MAX_DIGITS)),
        ("一" * (MAX_DIGITS + 1), None),
    ],
)
def test_chinese_numerals(text: str, value: int | Fraction | None) -> None:
    assert read_cjk(text) == value


@pytest.mark.parametrize(
    ("value", "tail", "whole"),
    [
        (2, "百万", 2 * 10**6),
        (Fraction(3, 2), "万", 15000),
        (1, "万2000", 12000),
        (1, "万2,000", 12000),
        (3, "万5千", 35000),
        (1, "亿2000万", 120_000_000),
        (2, "千5百万", 25_000_000),
        (1, "億2千5百万3500", 125_003_500),
        (1, "万二千", 12000),
        (1, "万零5", 10005),
        (5, "万零八", 50008),
        (3, "千零五十", 3050),
        (2, "十5", 25),
        (1, "万亿", 10**12),
        (3, "万5", None),
        (3, "百5", None),
        (1, "万20000", None),
        (1, "万2000万", None),
        (2, "百3千", None),
        (1, "兆" * 33, 10**396),
        (1, "兆" * 34, None),
        (1, "百" * 10_000, None),
    ],
)
def test_digits_with_a_chinese_tail(value: int | Fraction, tail: str, whole: int | None) -> None:
    assert with_cjk_tail(value, tail) == whole


@pytest.mark.parametrize(
    ("base", "exponent", "power"),
    [
        (2, 10, 1024),
        (Fraction(1, 2), -2, 4),
        (0, 5, 0),
        (0, -1, None),
        (10, 10_000, None),
        (Fraction(1, 10), 10_000, None),
        (10, -10_000, None),
        (1, 1332, 1),
        (1, 1333, None),
    ],
)
def test_powers_within_bounds(base: int | Fraction, exponent: int, power: int | None) -> None:
    assert bounded_power(base, exponent) == power


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (18, "18"),
        (-18, "-18"),
        (Fraction(18, 1), "18"),
        (Fraction(1, 2), "0.5"),
        (Fraction(-1, 8), "-0.125"),
        (Fraction(1, 3), "1/3"),
        (Fraction(-7, 6), "-7/6"),
        (Fraction(125, 100), "1.25"),
        (Fraction(1, 2**30), "0.000000000931322574615478515625"),
        (Fraction(1, 2**31), f"1/{2**31}"),
    ],
)
def test_each_value_has_one_written_form(value: int | Fraction, text: str) -> None:
    assert write(value) == text


@pytest.mark.parametrize(
    ("phrase", "value"),
    [
        ("twelve", 12),
        ("Twenty-One", 21),
        ("one hundred and five", 105),
        ("a hundred", 100),
        ("hundred", 100),
        ("two hundred", 200),
        ("two thousand three hundred", 2300),
        ("three hundred thousand", 300_000),
        ("one million two hundred thousand and six", 1_200_006),
        ("thousand", 1000),
        ("minus seven", -7),
        ("negative one half", Fraction(-1, 2)),
        ("a quarter", Fraction(1, 4)),
        ("half", Fraction(1, 2)),
        ("three quarters", Fraction(3, 4)),
        ("two and a half", Fraction(5, 2)),
        ("one hundred and two and three quarters", Fraction(411, 4)),
        ("three five", None),
        ("twenty thirty", None),
        ("twenty eleven", None),
        ("five twenty", None),
        ("twenty zero", None),
        ("and a half", None),
        ("half million", None),
        ("five half three", None),
        ("minus", None),
        ("a", None),
        ("an", None),
        ("minus a", None),
        ("", None),
    ],
)
def test_number_words(phrase: str, value: int | Fraction | None) -> None:
    assert read_words(phrase) == value


def test_words_have_their_places() -> None:
    text = "She has twenty-one cats, three five dogs and a half bowl"
    assert [(found.value, text[found.start : found.end]) for found in find_words(text, 0, len(text))] == [
        (21, "twenty-one"),
        (Fraction(1, 2), "a half"),
    ]
