"""Answers as exact values: a number, a clock time, or several numbers; and when two are equal."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from resit.grading.expressions import evaluate
from resit.grading.numbers import Number, find_numbers, find_tokens
from resit.grading.numerals import CJK_NUMERAL, Exact, read_cjk, write
from resit.grading.words import read_words


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day (or a duration) written h:mm, with `am` or `pm` where the text says so."""

    hours: int
    minutes: int
    half: str = ""


@dataclass(frozen=True, slots=True)
class Several:
    """Several numbers: a set or list (`brackets` empty, order free), or a tuple or interval in order."""

    items: tuple[Exact, ...]
    brackets: str = ""


class Amount(NamedTuple):
    """One number; `percent` where it was written with a percent sign."""

    value: Exact
    percent: bool = False


Value: TypeAlias = Amount | Clock | Several

_MAX_LENGTH = 2000
_WRAPPERS = (
    ("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"), ("**", "**"), ("__", "__"), ("*", "*"),
    ("\\text{", "}"), ("\\textbf{", "}"), ("\\mathbf{", "}"), ("\\mathrm{", "}"), ("\\mbox{", "}"),
    ("\\boxed{", "}"), ("\\fbox{", "}"), ("\\left(", "\\right)"), ("{", "}"), ("`", "`"), ('"', '"'),
    ("'", "'"), ("“", "”"),
)  # fmt: skip
_WRAPPER_BEGINNINGS = frozenset({opening[0] for opening, _ in _WRAPPERS} | {""})
_LABEL = re.compile(
    r"(?:[A-Za-z](?:_\{?\w\}?)?|\\text\{[^{}=]{1,40}\}|[A-Za-z][A-Za-z ]{1,30}[A-Za-z])\s*[=:]\s*(?![=>])"
)
_UNIT = re.compile(
    r"(?>(?:\s++|\\[,;:! ]|\\q?quad\b|~|\*\*|[$€£¥₹/.'’\-²³。．!]|\\\$"
    r"|\^?\{?\\(?:circ|degree)\}?|°"
    r"|\\(?:text|mathrm|mbox|textbf|textit)\{[^{}\d=]{0,60}\}(?:\^\{?[23]\}?)?"
    r"|(?!(?:[a-fi-kn-rt-zA-KM-Z]|and|or|to)(?![^\W\d_]))[^\W\d_]++(?:\^(?:[23]|\{[23]\}))?)*)"
)
"""What may follow a number without changing it: units, currency, dressing; no variables, no list.

Atomic, for a group that repeats possessively matches what it must not before Python 3.11.5.
"""
_BEFORE = re.compile(
    r"(?>(?:[\s~≈+]|\\(?:approx|sim|bf|quad|qquad)\b|\\[,;:! ]|\\?\$"
    r"|\\(?:text|textbf|mathrm|mbox)\{[^{}\d]{0,60}\}|(?:about|approximately|around|only)\s)*)",
    re.IGNORECASE,
)
"""What may precede a number without changing it."""
_PLAIN = re.compile(
    r"(?>(?:[\s\d.,:!'’\"%$€£+\-−–*/×÷·()=≈{}]|\\[,;:!$% ]|(?<=[\d\s}])x(?=\s*[\d$(\\])"
    r"|\\(?:times|cdot|div|approx|[dt]?frac|text|textbf|mathrm|mbox|q?quad|left|right)(?![A-Za-z])"
    r"|(?!(?:and|or|not|sin|cos|tan|log|sqrt)(?![^\W\d_]))[^\W\d_]{3,}"
    r"|(?:is|of|he|at|in|to|so|we|it|by|on|an|as|my|a(?=\s[^\W\d_]{2}))(?![^\W\d_]))*)",
    re.IGNORECASE,
)
"""Words and arithmetic: no power, no root, nothing that is a variable."""
_OPERATOR = re.compile(r"[+*×÷·]|\\(?:times|cdot|div)")
CLOCK = re.compile(r"(\d{1,2})[:：](\d{2})(?::\d{2})?(?!\d)\s*(?:([ap])\.?\s?m\b\.?)?", re.IGNORECASE)
_BRACKETS = re.compile(r"(\\?[\[({]|\\left[\[({]|\\lbrace)(.*?)(\\?[\])}]|\\right[\])}]|\\rbrace)", re.DOTALL)
_MAX_ITEMS = 50
_ITEM_BREAK = re.compile(
    r"[,;，、]\s{0,3}(?:\\text\{\s{0,3})?(?:and|or)\b\s{0,3}\}?|[;，、]|,(?!\d{3}(?!\d))|,(?=\s)"
    r"|\\text\{\s{0,3}(?:and|or)\s{0,3}\}|\b(?:and|or)\b"
)
_PLUS_MINUS = re.compile(r"(?:\\pm|±)\s*")
_RANGE = re.compile(r"[\d.,]+\s?[-–]\s?[\d.,]+")
"""20-25 is a range as often as a difference, so it is neither."""
_CJK = re.compile(CJK_NUMERAL)


def read_value(text: str, comma_decimal: bool | None = None) -> Value | None:
    """The value that a text as a whole states, units and dressing apart; None where it is no such."""
    if len(text) > _MAX_LENGTH:
        return None
    text = _undress(text)
    if not text:
        return None
    return (
        _amount(text, comma_decimal)
        or _clock(text)
        or _several(text)
        or _labelled(text, comma_decimal)
        or _evaluated(text)
    )


def read_statement(text: str, comma_decimal: bool | None = None) -> Amount | None:
    """What an equation or sentence without variables states: `9 \\times 2 = 18`, `Janet makes 18 dollars`."""
    text = _undress(text)
    if len(text) > _MAX_LENGTH or not _PLAIN.fullmatch(text):
        return None
    calculation, equals, result = text.rpartition("=")
    if equals:
        value = None if re.search(r",\s", calculation) else read_value(result, comma_decimal)
        return value if isinstance(value, Amount) else None
    tokens = list(find_tokens(text, 0, len(text), comma_decimal))
    if len(tokens) == 1 and isinstance(tokens[0], Number) and not _OPERATOR.search(text):
        return Amount(tokens[0].value, tokens[0].percent)
    return None


@lru_cache(maxsize=8192)
def read_gold(reference: str, marker: str = "####", comma_decimal: bool | None = None) -> Value | None:
    """The value of a reference: of what follows the last `marker`, else of all, else of its last line."""
    if marker and marker in reference:
        reference = reference.rpartition(marker)[2]
    value = read_value(reference, comma_decimal)
    lines = reference.rstrip().rsplit("\n", 1)
    return read_value(lines[1], comma_decimal) if value is None and len(lines) == 2 else value


def gold_text(reference: str, marker: str) -> str:
    """What follows the last `marker` in a reference, stripped."""
    return (reference.rpartition(marker)[2] if marker else reference).strip()


def _undress(text: str) -> str:
    """The text without white space, math delimiters and emphasis around it."""
    text = text.strip()
    for _ in range(12):
        text = text.strip().rstrip("。").strip()
        if text[:1] not in _WRAPPER_BEGINNINGS:
            return text
        wrapper = next((w for w in _WRAPPERS if text.startswith(w[0]) and _closes(text, *w)), None)
        if wrapper is None:
            return text
        text = text[len(wrapper[0]) : -len(wrapper[1])]
    return text


def _closes(text: str, opening: str, closing: str) -> bool:
    """Whether the wrapper that opens the text closes at its very end, not before."""
    inner = text[len(opening) : len(text) - len(closing)]
    if len(text) < len(opening) + len(closing) or not text.endswith(closing):
        return False
    if opening.endswith("{"):
        return _balanced(inner)
    return closing not in inner


def _balanced(text: str) -> bool:
    depth = 0
    for char in text:
        depth += (char == "{") - (char == "}")
        if depth < 0:
            return False
    return depth == 0


def _amount(text: str, comma_decimal: bool | None) -> Amount | None:
    number = next(find_numbers(text, 0, len(text), comma_decimal), None)
    if number is not None:
        if _BEFORE.fullmatch(text, 0, number.start) and _UNIT.fullmatch(text, number.end):
            return Amount(number.value, number.percent)
        return None
    if _CJK.fullmatch(text):
        value = read_cjk(text)
        return None if value is None else Amount(value)
    words = read_words(text) if text[0].isalpha() and re.fullmatch(r"[A-Za-z \-]+", text) else None
    return None if words is None else Amount(words)


def _labelled(text: str, comma_decimal: bool | None) -> Value | None:
    """The right side of `x = 18` or `Total: 18`."""
    label = _LABEL.match(text)
    if label is None:
        return None
    rest = _undress(text[label.end() :])
    return (_amount(rest, comma_decimal) or _clock(rest) or _evaluated(rest)) if rest else None


def _evaluated(text: str) -> Amount | None:
    value = None if _RANGE.fullmatch(text) else evaluate(text)
    return None if value is None else Amount(value)


def _clock(text: str) -> Clock | None:
    match = CLOCK.fullmatch(text.rstrip(". "))
    return clock_of(match) if match else None


def clock_of(match: re.Match[str]) -> Clock | None:
    """The time a match of the clock pattern states; None where minutes are out of range."""
    hours, minutes = int(match[1]), int(match[2])
    return Clock(hours, minutes, f"{match[3].lower()}m" if match[3] else "") if minutes < 60 else None


def _several(text: str) -> Several | None:
    if sign := _PLUS_MINUS.match(text):
        amount = _amount(text[sign.end() :].strip(), False) or _evaluated(text[sign.end() :])
        return None if amount is None else Several((amount.value, -amount.value))
    brackets = ""
    if match := _BRACKETS.fullmatch(text):
        opening, text, closing = match[1][-1], match[2], match[3][-1]
        brackets = "" if opening in "{e" else opening + closing
    items = [item for item in _ITEM_BREAK.split(text) if item.strip()]
    if not 2 <= len(items) <= _MAX_ITEMS:
        return None
    known = tuple(value for item in items if (value := read_item(item)) is not None)
    if len(known) != len(items):
        return None
    return Several(known, brackets)


def read_item(text: str) -> Exact | None:
    """The number that one item of a list is."""
    text = _undress(text)
    amount = (_amount(text, False) or _evaluated(text)) if text else None
    return None if amount is None else amount.value


def equal(answer: Value, gold: Value, tolerance: Fraction | None = None) -> bool:
    """Whether the answer is the gold one: exact, but for a tolerance that the task declares."""
    if isinstance(answer, Amount) and isinstance(gold, Amount):
        return _same_amount(answer, gold, tolerance)
    if isinstance(answer, Clock) and isinstance(gold, Clock):
        return _same_time(answer, gold)
    if isinstance(answer, Several) and isinstance(gold, Several):
        if answer.brackets or gold.brackets:
            return answer == gold
        return Counter(answer.items) == Counter(gold.items)
    return False


def _same_amount(answer: Amount, gold: Amount, tolerance: Fraction | None) -> bool:
    if _near(answer.value, gold.value, tolerance):
        return True
    if gold.percent and not answer.percent:
        return _near(answer.value * 100, gold.value, None)
    whole_gold = isinstance(gold.value, int)
    return answer.percent and not gold.percent and not whole_gold and answer.value == gold.value * 100


def _near(a: Exact, b: Exact, tolerance: Fraction | None) -> bool:
    return a == b or (tolerance is not None and abs(Fraction(a) - b) <= tolerance)


def _same_time(answer: Clock, gold: Clock) -> bool:
    if answer.half and gold.half:
        return answer == gold
    return (answer.hours, answer.minutes) == (gold.hours, gold.minutes)


def written(value: Value) -> str:
    """The value in its one written form; equal numbers are written alike."""
    if isinstance(value, Amount):
        return write(value.value)
    if isinstance(value, Clock):
        return f"{value.hours}:{value.minutes:02}{' ' + value.half if value.half else ''}"
    items = ", ".join(map(write, value.items if value.brackets else sorted(value.items)))
    return f"{value.brackets[0]}{items}{value.brackets[1]}" if value.brackets else items


def amount_of(number: Number) -> Amount:
    """The number without its place."""
    return Amount(number.value, number.percent)
