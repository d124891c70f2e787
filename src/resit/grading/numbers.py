"""Numbers in running text, read as exact integers and fractions with the place where they stand.

Nothing goes through a float. A token that is part of something else (an identifier, a date, a clock
time, a version `1.2.3`, an unevaluated power) is no number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from resit.grading import numerals
from resit.grading.numerals import Exact, read_numeral, simplest
from resit.grading.words import MAGNITUDES, read_words

COMMA_DECIMAL_LANGUAGES = frozenset({"de", "es", "fr", "it", "nl", "pt", "ru", "tr", "id", "pl"})
"""Where 1.250 is twelve hundred and fifty, and 1,5 one and a half."""


class Number(NamedTuple):
    """A number and where it stands, sign, currency, unit of magnitude and percent sign included."""

    value: Exact
    start: int
    end: int
    percent: bool = False
    clock: bool = False
    """Written as a full hour: 2:00."""


class Unreadable(NamedTuple):
    """Digits that are no number, and why."""

    start: int
    end: int
    reason: str


EXPRESSION = "an expression, not a number"

_SPACE = "[ \u00a0\u2007\u2009\u202f]"
_CLUSTER = (
    rf"\d{{1,3}}(?:{_SPACE}\d{{3}})+(?![\d,'’])(?:[.,]\d+)?"
    r"|[.．]?\d+(?:[.,'’_٫٬，．]\d+|\{[,.]\}\d+|,?\\[,!;: ]\d+)*"
)
_SIDE = r"(?:\{\s?(?:\\text\{\s?)?-?\d[\d.,]{0,30}\s?\}{1,2}|\d)"
_FRACTION = rf"\\[dtc]?frac\s?({_SIDE})\s?({_SIDE})"
_VULGAR = "".join(numerals.VULGAR)
TOKEN = re.compile(rf"{_FRACTION}|{_CLUSTER}|[{_VULGAR}]")
_FIRST = re.compile(rf"[\d\\.．{_VULGAR}]")
"""What a token can begin with: searching for one character is much quicker than for a whole token."""
_GAP = r"\s{0,3}"
_SUPERSCRIPT = "[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,6}"
_PLAIN_FRACTION = rf"\\[dtc]?frac\s?{_SIDE}\s?{_SIDE}"
_TAIL = re.compile(
    rf"""
      (?P<exponent>[eE][+\-−]?\d{{1,6}}(?!\w))                           # 1e3
    | {_GAP}(?:[×x*·]|\\times|\\cdot){_GAP}10{_GAP}                      # 1.5 × 10^3, 1.5 × 10³
      (?:\^{_GAP}\{{?{_GAP}(?P<power_of_ten>[+\-−]?\d{{1,6}})(?:{_GAP}\}})?|(?P<raised_ten>{_SUPERSCRIPT}))
    | (?P<raised>{_SUPERSCRIPT})                                         # 7²
    | {_GAP}\^{_GAP}                                                     # 7^2, 7^{{2}}
      (?:\{{{_GAP}(?P<power>-?\d{{1,6}}){_GAP}\}}|(?P<power_bare>-?\d{{1,6}})(?![\d^!]))
    | \s?(?P<vulgar>[{_VULGAR}])                                         # 2½
    | {_GAP}(?P<mixed>{_PLAIN_FRACTION})                                 # 2\frac{{1}}{{2}}
    | \s{{1,3}}and\s{{1,3}}                                              # 2 and a half, 2 and 1/2
      (?P<and_part>(?:a|one|three|\d{{1,2}})[ /](?:half|third|quarters?|\d{{1,2}}))\b
    | [ -](?P<mixed_over>\d{{1,9}}\s?[/⁄]\s?\d{{1,9}})(?![\d/])          # 2 1/2
    | \s?[/⁄∕]\s?(?P<over>\d+)(?![\d/]|[.,]\d)                           # 1/2, no date
    | {_GAP}(?P<magnitude>hundred|thousand|million|billion|trillion)\b
    | (?P<cjk>{numerals.CJK_TAIL})                                       # 2,300万, 1万2000
    | \s?{numerals.CJK_PARTS}\s?(?P<of_parts>\d{{1,9}})(?!\d)            # 3分の2
    | (?P<suffix>[kKMB])(?!\w)                                           # $2.5k
    | {_GAP}dollars?(?:,?\s{{1,3}}and|,)?\s{{1,3}}(?P<cents>\d{{1,2}})\s{{1,3}}cents?\b
    | :(?P<minutes>[0-5]\d)(?::[0-5]\d)?(?!\d)(?:{_GAP}[ap]\.?\s?m\b\.?)?
    | (?P<other>:\d|[/⁄]\d                                               # a ratio, a date
      |[xyzn](?![\w'’])                                                  # 2x
      |{_GAP}(?:\\(?:sqrt|pi|theta|alpha|ln|log|sin|cos|tan)\b|[π√])
      |{_GAP}\^(?!{_GAP}\{{?{_GAP}\\circ)                                # a power that was not read above
      |!(?=[\d\s]{{0,6}}[*/+^=)}}]))                                     # a factorial, no exclamation
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PERCENT = re.compile(r"\s{0,3}(?:\\?%|[％٪]|per\s?cent(?:age)?\b|\\text\{\s?per\s?cent\s?\})", re.IGNORECASE)
_BEFORE_CODE = re.compile(r"(?<![^\W\d_])(?:USD|EUR|GBP|AUD|CAD|INR|AED|Rs|R|RM)\.?\s?$")
_FRACTION_SIDES = re.compile(_FRACTION)
_RUN = re.compile(r"\S*")
_ROOT = re.compile(r"(?:sqrt|√)[\s{(\[]*$")
_CURRENCY = frozenset("$€£¥₹₽₩฿৳₦₫₱￥＄￡")
_DASHES = frozenset("-−–﹣－‐‑")
_JOINED = re.compile(r"[^\W_぀-ヿ㐀-鿿가-힯฀-๿]|\d")
"""What makes a following dash a hyphen or an operator; after scripts without blanks it is a sign."""
_LATIN = re.compile(r"[A-Za-zÀ-ÖØ-öø-ɏΑ-ωА-яЁё_]")


def find_numbers(text: str, start: int, end: int, comma_decimal: bool | None = None) -> Iterator[Number]:
    """The numbers that begin between two positions, from left to right."""
    for token in find_tokens(text, start, end, comma_decimal):
        if isinstance(token, Number):
            yield token


def find_tokens(
    text: str, start: int, end: int, comma_decimal: bool | None = None
) -> Iterator[Number | Unreadable]:
    """The numbers, and the digits that are none, from left to right."""
    at = start
    while first := _FIRST.search(text, at, end):
        match = TOKEN.match(text, first.start(), end)
        token = _token(text, match, start, end, comma_decimal) if match else None
        if match is None or token is None:
            at = match.end() if match else first.end()
        elif isinstance(token, Unreadable) and _is_list(match[0]):
            yield from _pieces(match)
            at = match.end()
        else:
            yield token
            at = max(token.end, match.start() + 1)


def _is_list(cluster: str) -> bool:
    return "," in cluster and "." not in cluster and "\\" not in cluster


def _pieces(match: re.Match[str]) -> Iterator[Number]:
    for piece in re.finditer(r"\d+", match[0]):
        value = read_numeral(piece[0])
        if value is not None:
            yield Number(value, match.start() + piece.start(), match.start() + piece.end())


def _token(
    text: str, match: re.Match[str], floor: int, end: int, comma_decimal: bool | None
) -> Number | Unreadable | None:
    """The number at a token; None inside an identifier."""
    start, stop = match.span()
    if text[start] == "." and start > floor and text[start - 1].isalnum():
        start += 1  # "in total.5 of them": a full stop without a space
    left = _left(text, start, floor)
    if left is None:
        return None
    if start > floor and text[start - 1] in "{([√" and _ROOT.search(text[max(floor, start - 8) : start]):
        return Unreadable(start, stop, EXPRESSION)
    value = _core(text[start:stop], comma_decimal)
    start, negative, currency = left
    if value is None:
        return Unreadable(start, stop, "a malformed or too long number")
    if stop < len(text) and text[stop] not in "\n.,;)" and (tail := _TAIL.match(text, stop, end)):
        if tail["minutes"]:
            if tail["minutes"] == "00":
                return Number(value, start, tail.end(), clock=True)
            return Unreadable(start, tail.end(), "a clock time")
        extended = _extend(value, tail, currency)
        if extended is None:
            return Unreadable(start, _end_of_run(text, tail.end(), end), EXPRESSION)
        if extended is not value:
            value, stop = extended, tail.end()
    percent = _PERCENT.match(text, stop, end) if stop < end else None
    return Number(
        -value if negative else value, start, percent.end() if percent else stop, percent is not None
    )


def _end_of_run(text: str, at: int, end: int) -> int:
    """Where the white space after a rejected token begins, so that no part of it is read."""
    run = _RUN.match(text, at, end)
    return run.end() if run else at


def _core(core: str, comma_decimal: bool | None) -> Exact | None:
    if core in numerals.VULGAR:
        return numerals.VULGAR[core]
    if core[0] == "\\":
        sides = _FRACTION_SIDES.match(core)
        return _ratio(sides[1], sides[2]) if sides else None
    return read_numeral(core, comma_decimal)


def _ratio(above: str, below: str) -> Exact | None:
    values = []
    for side in (above, below):
        side = side.replace("\\text", "").strip("{} ")
        value = read_numeral(side.lstrip("-"))
        if value is None:
            return None
        values.append(-value if side.startswith("-") else value)
    return simplest(Fraction(values[0]) / Fraction(values[1])) if values[1] else None


def _extend(value: Exact, tail: re.Match[str], currency: bool) -> Exact | None:
    """The value with what follows it; the same object where that is not part of it, None for no number."""
    groups = tail.groupdict()
    if exponent := groups["exponent"]:
        return _times_ten_to(value, exponent[1:])
    if exponent := groups["power_of_ten"] or groups["raised_ten"]:
        return _times_ten_to(value, exponent)
    if exponent := groups["raised"] or groups["power"] or groups["power_bare"]:
        return numerals.bounded_power(value, int(exponent.translate(numerals.SUPERSCRIPTS)))
    if vulgar := groups["vulgar"]:
        return simplest(value + numerals.VULGAR[vulgar]) if isinstance(value, int) else None
    if mixed := groups["mixed"]:
        part = _core(mixed, None)
        return value if part is None or not isinstance(value, int) else simplest(value + part)
    if mixed := groups["mixed_over"]:
        above, below = re.split(r"\s?[/⁄]\s?", mixed)
        part = _ratio(above, below)
        return (
            simplest(value + part) if part is not None and isinstance(value, int) and 0 < part < 1 else value
        )
    if written := groups["and_part"]:
        fraction = _ratio(*written.split("/")) if "/" in written else read_words(written)
        return value if fraction is None or not isinstance(value, int) else simplest(value + fraction)
    if below := groups["over"]:
        divisor = read_numeral(below)
        return simplest(Fraction(value) / divisor) if divisor else None
    if magnitude := groups["magnitude"]:
        word = magnitude.lower()
        return simplest(value * (100 if word == "hundred" else MAGNITUDES[word]))
    if characters := groups["cjk"]:
        return numerals.with_cjk_tail(value, characters)
    if count := groups["of_parts"]:
        return simplest(Fraction(int(count)) / value) if value else None
    if suffix := groups["suffix"]:
        factor = {"k": 10**3, "m": 10**6, "b": 10**9}[suffix.lower()]
        return simplest(value * factor) if currency else value
    if cents := groups["cents"]:
        return simplest(value + Fraction(int(cents), 100)) if isinstance(value, int) else value
    return None


def _times_ten_to(value: Exact, exponent: str) -> Exact | None:
    power = numerals.bounded_power(10, int(exponent.translate(numerals.SUPERSCRIPTS).replace("−", "-")))
    return None if power is None else simplest(value * power)


def _left(text: str, start: int, floor: int) -> tuple[int, bool, bool] | None:
    """Start with sign and currency, whether negative, whether an amount; None inside an identifier."""
    at, currency = start, False
    if (
        start - floor > 1
        and text[start - 1] == " "
        and text[start - 2].isalpha()
        and text[start - 2] not in "esDMPR"
    ):
        return start, False, False  # after a word: by far the most frequent place
    if start - floor > 2 and text[start - 2 : start] == " $" and text[start - 3].isalpha():
        return start - 1, False, True
    negative: bool | None = None
    while at > floor:
        char = text[at - 1]
        if char == " " and at - 1 > floor and (text[at - 2] in _CURRENCY or text[at - 2] in _DASHES):
            spaced = text[at - 2] in _DASHES
            if spaced and not _is_spaced_sign(text, at - 2):
                break
            at -= 1
        elif char in _CURRENCY:
            at -= 2 if at - 2 >= floor and text[at - 2] == "\\" else 1
            currency = True
        elif char in _DASHES and negative is None:
            if not _is_sign(text, at - 1, floor):
                break
            at, negative = at - 1, True
        else:
            break
    if at > floor and text[at - 1] in "^{" and _is_exponent(text, at, floor):
        return None
    if at > floor and negative is None:
        code = _before(text, at, floor, currency)
        if code is None:
            return None
        at, named_currency, negative = code
        currency = currency or named_currency
    return at, bool(negative), currency


def _is_exponent(text: str, at: int, floor: int) -> bool:
    """Whether a unit, a name or a bracket is raised to the number: cm^3, m^{-1}."""
    base = text[max(floor, at - 3) : at].rstrip("{")
    return base[-1:] == "^" and (base[-2:-1].isalpha() or base[-2:-1] in (")", "}"))


def _before(text: str, at: int, floor: int, currency: bool) -> tuple[int, bool, bool] | None:
    """What letters before a number mean: a currency code, `minus`, or (None) an identifier."""
    char = text[at - 1]
    code = _BEFORE_CODE.search(text, max(floor, at - 6), at)
    if code:
        return code.start(), True, False
    if char == " ":
        negative = text[at - 3 : at - 1] in ("ve", "us") and _follows_minus(text, at, floor)
        return at - negative, currency, negative > 0
    if _LATIN.match(char):
        if char in "xX" and at - 2 >= floor and not text[at - 2].isalpha():
            return at, currency, False  # 9x2: a multiplication sign
        if char == "_" and (at - 2 < floor or not text[at - 2].isalnum()):
            return at, currency, False  # Markdown emphasis
        return (at, currency, False) if currency else None
    return at, currency, False


def _follows_minus(text: str, at: int, floor: int) -> int:
    """How long the word `minus` or `negative` before a number is, 0 where it is an operator or absent."""
    for word in ("negative ", "minus "):
        if text[max(floor, at - len(word)) : at].lower() == word:
            operand = text[max(floor, at - len(word) - 2) : at - len(word)].rstrip()
            if not operand[-1:].isdigit():
                return len(word)
    return 0


def _is_sign(text: str, dash: int, floor: int) -> bool:
    """Whether the dash directly before a number (or its currency) is its sign, no hyphen or operator."""
    before = text[max(floor, dash - 12) : dash]
    if not before:
        return True
    if _JOINED.match(before[-1]) or before[-1] in _DASHES or before[-1] in ")]}%":
        return False
    operand = before.rstrip()
    return not operand or not (operand[-1].isdigit() or operand[-1] in ")%")


def _is_spaced_sign(text: str, dash: int) -> bool:
    """`= - 5` and `is - 5` are signs; `- 5` at the start of a line is a bullet, `a - 5` an operator."""
    operand = text[max(0, dash - 12) : dash].rstrip(" ")
    return operand.endswith(("=", ":", "：", "#", "{", "(", "$", " is"))
