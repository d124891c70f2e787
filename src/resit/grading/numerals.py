"""One numeral, of any script and grouping, to an exact value; and an exact value to text."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from math import prod
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
_CJK_DIGIT = f"[{''.join(_CJK_DIGITS)}]"
_CJK_MAGNITUDE = f"[{''.join(_CJK_UNITS)}{''.join(_CJK_MYRIADS)}]"
_CJK_WHOLE = f"[{''.join(_CJK_DIGITS)}{''.join(_CJK_UNITS)}{''.join(_CJK_MYRIADS)}]+"
CJK_PARTS = "分[之の]"
"""Between the parts of a whole and how many of them are meant: 三分之二."""
CJK_NUMERAL = f"(?:百分之)?{_CJK_WHOLE}(?:{CJK_PARTS}{_CJK_WHOLE})?"
_CJK_NEXT = (
    r"[零〇]?(?:\d{1,3}(?:,\d{3}){1,3}|\d{1,9})(?!\d)"
    f"|[零〇]{_CJK_DIGIT}|{_CJK_DIGIT}(?={_CJK_MAGNITUDE})"
)
CJK_TAIL = f"{_CJK_MAGNITUDE}+(?:(?:{_CJK_NEXT}){_CJK_MAGNITUDE}*)*"
"""What may follow the digits of a numeral in two scripts: the 万2000 of 1万2000."""
_CJK_PART = re.compile(f"(^|{_CJK_NEXT})({_CJK_MAGNITUDE}*)")
_MAX_MAGNITUDES = 40

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


def read_cjk(text: str) -> Exact | None:
    """The value of a Chinese or Japanese numeral such as 三百二十 or 三分之二; None where it is malformed.

    百分之十八 is 18, as 18% is.
    """
    parts, _, count = text.removeprefix("百分之").replace("の", "之").rpartition("分之")
    value = _cjk_whole(count)
    if value is None or not parts:
        return value
    divisor = _cjk_whole(parts)
    return simplest(Fraction(value, divisor)) if divisor else None


def _cjk_whole(text: str) -> int | None:
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


def with_cjk_tail(value: Exact, tail: str) -> Exact | None:
    """What digits worth `value` come to with their tail: 2 with 百万, 1 with 万2000.

    None where a part is not smaller than the magnitude before it, and for 3万5: some mean 35000 by it.
    """
    total: Exact = 0
    section: Exact = 0
    below_myriad = below_unit = 10**MAX_DIGITS
    for written, magnitudes in _CJK_PART.findall(tail):
        part = _cjk_part(written) if written else value
        if len(magnitudes) > _MAX_MAGNITUDES or (len(written) == 1 and not magnitudes and below_unit > 10):
            return None
        unit = prod(_CJK_UNITS.get(char, 1) for char in magnitudes)
        myriad = prod(_CJK_MYRIADS.get(char, 1) for char in magnitudes)
        if part * unit >= below_unit:
            return None
        section, below_unit = section + part * unit, unit
        if myriad > 1:
            if section * myriad >= below_myriad:
                return None
            total, section, below_myriad, below_unit = total + section * myriad, 0, myriad, myriad
    return simplest(total + section)


def _cjk_part(written: str) -> int:
    digits = written.lstrip("零〇").replace(",", "") or "0"
    return _CJK_DIGITS[digits] if digits in _CJK_DIGITS else int(digits)


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
