"""One numeral, of any script and grouping, to an exact value; and an exact value to text."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from typing import TypeAlias

Exact: TypeAlias = int | Fraction

MAX_DIGITS = 400
"""Longer numerals, and powers beyond it, are refused: no exam asks for them."""

_GROUP_SEPARATORS = str.maketrans(
    {"，": ",", "٬": ",", "٫": ".", "．": ".", "’": "'"} | dict.fromkeys("\u00a0\u2007\u2009\u202f", " ")
)
_TEX_SEPARATOR = re.compile(r"\{,\}|,?\\[,!;: ]")
_GROUPED = re.compile(r"\d{1,3}([,' _])\d{3}(?:\1\d{3})*(?P<decimals>\.\d+)?")
_GROUPED_BY_DOT = re.compile(r"\d{1,3}(?:(?:\.\d{3}){2,}|(?:\.\d{3})+(?=,))(?P<decimals>,\d+)?")
_INDIAN = re.compile(r"\d{1,2}(?:,\d{2})+,\d{3}(?P<decimals>\.\d+)?")
_ONE_DOT_GROUP = re.compile(r"[1-9]\d{0,2}\.\d{3}")

_CJK_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_CJK_UNITS = {"十": 10, "百": 100, "千": 1000}
_CJK_MYRIADS = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8, "兆": 10**12}
CJK_NUMERAL = f"[{''.join(_CJK_DIGITS)}{''.join(_CJK_UNITS)}{''.join(_CJK_MYRIADS)}]"
CJK_MAGNITUDE = f"[{''.join(_CJK_UNITS)}{''.join(_CJK_MYRIADS)}]"

VULGAR = {
    char: Fraction(*map(int, unicodedata.normalize("NFKC", char).split("⁄"))) for char in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒"
}
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")


def read_numeral(text: str, comma_decimal: bool | None = None) -> Exact | None:
    """The value of one numeral such as `1,000.50`; None where it is malformed or ambiguous.

    `comma_decimal` says whether the language writes 1,5 for one and a half and 1.250 for 1250;
    None means that it is not known, and then 1.250 is a decimal and 1,5 one too.
    """
    if len(text) > 2 * MAX_DIGITS:
        return None
    if text.isdecimal():
        return int(text) if len(text) <= MAX_DIGITS else None
    text = _TEX_SEPARATOR.sub(",", text.translate(_GROUP_SEPARATORS))
    if comma_decimal and _ONE_DOT_GROUP.fullmatch(text):
        return int(text.replace(".", ""))
    if match := _grouped(text):
        decimals = match["decimals"] or ""
        return _decimal(_digits(text[: len(text) - len(decimals)]), _digits(decimals))
    whole, mark, decimals = text.partition("." if "." in text else ",")
    if (
        (whole or mark == ".")
        and (whole + decimals).isdecimal()
        and _may_be_decimal(mark, decimals, comma_decimal)
    ):
        return _decimal(whole, decimals)
    return None


def _grouped(text: str) -> re.Match[str] | None:
    if text.startswith("0"):
        return None
    return _GROUPED.fullmatch(text) or _GROUPED_BY_DOT.fullmatch(text) or _INDIAN.fullmatch(text)


def _may_be_decimal(mark: str, decimals: str, comma_decimal: bool | None) -> bool:
    return (
        mark == "."
        or comma_decimal is True
        or (comma_decimal is None and len(decimals) != 3)
        or decimals == ""
    )


def _digits(text: str) -> str:
    return "".join(char for char in text if char.isdecimal())


def _decimal(whole: str, decimals: str) -> Exact | None:
    decimals = decimals.rstrip("0")
    if len(whole) + len(decimals) > MAX_DIGITS:
        return None
    if not decimals:
        return int(whole or "0")
    return simplest(Fraction(int(whole + decimals), 10 ** len(decimals)))


def simplest(value: Exact) -> Exact:
    """The value as an integer where it is one."""
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def read_cjk(text: str) -> int | None:
    """The value of a Chinese or Japanese numeral such as 三百二十; None where it is malformed."""
    if len(text) > MAX_DIGITS:
        return None
    if all(char in _CJK_DIGITS for char in text):
        return int("".join(str(_CJK_DIGITS[char]) for char in text))
    total = myriad = section = 0
    digit: int | None = None
    for char in text:
        if char in _CJK_DIGITS:
            if digit not in (None, 0):
                return None
            digit = _CJK_DIGITS[char]
        elif char in _CJK_UNITS:
            section += (1 if digit is None else digit) * _CJK_UNITS[char]
            digit = None
        else:
            myriad = (section + (digit or 0)) * _CJK_MYRIADS[char]
            if myriad == 0:
                return None
            total, section, digit = total + myriad, 0, None
    return total + section + (digit or 0)


def cjk_magnitude(text: str) -> int | None:
    """The factor that characters such as 百万 after digits stand for."""
    factor = 1
    for char in text:
        factor *= _CJK_UNITS.get(char) or _CJK_MYRIADS[char]
    return factor if factor < 10**MAX_DIGITS else None


def bounded_power(base: Exact, exponent: int) -> Exact | None:
    """`base` to the `exponent`, None where it would have more than about `MAX_DIGITS` digits."""
    size = max(abs(base.numerator), base.denominator).bit_length()
    if abs(exponent) * max(size, 1) > MAX_DIGITS * 3.33 or (base == 0 and exponent < 0):
        return None
    return simplest(Fraction(base) ** exponent)


def write(value: Exact) -> str:
    """The value in its one written form: an integer, a finite decimal, else `n/d`."""
    if isinstance(value, int):
        return str(value)
    if value.denominator == 1:
        return str(value.numerator)
    places = _decimal_places(value.denominator)
    if places is None:
        return f"{value.numerator}/{value.denominator}"
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def _decimal_places(denominator: int) -> int | None:
    """How many decimals 1/denominator has; None where they do not end, or are very many."""
    twos = fives = 0
    while denominator % 2 == 0:
        denominator, twos = denominator // 2, twos + 1
    while denominator % 5 == 0:
        denominator, fives = denominator // 5, fives + 1
    places = max(twos, fives)
    return places if denominator == 1 and 0 < places <= 30 else None
