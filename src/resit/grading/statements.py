"""The one number that a statement comes to: the result of its calculation, or none if it names several."""

from __future__ import annotations

import re
from typing import TypeAlias

from resit.grading.expressions import evaluate
from resit.grading.numbers import Number, Unreadable, find_tokens

Reading: TypeAlias = "Number | str"
"""A number, or the reason why there is none."""

SEVERAL = "several numbers"
RANGE = "a range"
CALCULATION = "a calculation without result"

_MAX_STEPS = 40
_OPERATION = re.compile(
    r"[\s)]{0,4}(?:/\s?[^\W\d_]{1,20}+\s{1,3})?"
    r"(?P<unit>(?:[^\W\d_]{1,20}+(?:/[^\W\d_]{1,20}+)?\s{1,3}){0,3}?)[)\s]{0,4}"
    r"(?:(?P<sum>(?P<dash>[-−–])\s{0,3}(?=[\d.$€£(\\])|\+\s{0,3}(?=[\w.$€£(\\]))"
    r"|(?:[*×÷·]|\\times|\\cdot|\\div)\s{0,3}(?=[\w.$€£(\\])|[/x]\s{0,3}(?=[\d.$€£(\\]))"
)
_RUN = re.compile(
    r"(?:[\d\s.,()+*/×÷·−–^{}$€£%-]|x(?=[\s\d$(])|\\(?:times|cdot|div|[dt]?frac|left|right|[,!;:$%]))*"
)
_EQUALS = re.compile(
    r"[^\S\n]{0,3}(?:of[^\S\n]{1,3}[\\$€£]{0,2}\d[\d.,]{0,20}[^\S\n]{0,3})?"
    r"(?:[^\W\d_]{1,20}+[^\S\n]{0,3}){0,3}(?:[=≈]|\\approx)"
)
"""From a number to an equals sign: `18 eggs =`, `20% of $90 =`."""
_AFTER_EQUALS = re.compile(r"(?:\\(?:text|mathbf|boxed)\{|[\s$€£\\({*~≈]){0,20}")
_AND = re.compile(
    r"(?:\s*,\s+(?:(?:and|&)\s+)?|(?:\s+[^\W\d_][\w'’-]{0,20}){0,5}?,?\s+(?:and|&|plus)\s+"
    r"|\s+(?:hours?|minutes?|days?|weeks?|years?|months?|feet|foot|yards?|pounds?|gallons?|dollars?),?\s+)"
    r"(?=[\d$€£.])",
    re.IGNORECASE,
)
_OR = re.compile(r"\s+(?P<unit>(?:[^\W\d_][\w'’-]{0,20}\s+){0,3}?)or\s+(?=[\d$€£.])")
_WORD = re.compile(r"\s{0,3}([^\W\d_]{1,20})")
_HYPHENATED = re.compile(r"[\d.,$€£]+\s?[-–]\s?[\d.,$€£]+\s*")
_LEFT_OUT = str.maketrans({"$": "", "€": "", "£": "", "x": "*", "·": "*", "–": "-"})


def settle(text: str, number: Number, end: int, comma_decimal: bool | None) -> Reading:
    """The number that the statement beginning at `number` comes to, up to `end`."""
    if number.end >= end:
        return number
    for _ in range(_MAX_STEPS):
        operation = _OPERATION.match(text, number.end, end)
        if operation:
            equals = text.rfind("=", operation.end(), end)
            if equals < 0:
                return _without_result(text, number, operation, end, comma_decimal)
            result = _directly_after(text, equals + 1, end, comma_decimal)
            if result is None:
                return CALCULATION
        else:
            equal = _EQUALS.match(text, number.end, end)
            result = _directly_after(text, equal.end(), end, comma_decimal) if equal else None
            if result is None:
                return _single(text, number, end, comma_decimal)
        if isinstance(result, Unreadable):
            return result.reason
        number = result
    return CALCULATION


def _directly_after(text: str, at: int, end: int, comma_decimal: bool | None) -> Number | Unreadable | None:
    blank = _AFTER_EQUALS.match(text, at, end)
    begin = blank.end() if blank else at
    token = next(find_tokens(text, at, min(end, begin + 60), comma_decimal), None)
    return token if token is not None and token.start <= begin + 1 else None


def _without_result(
    text: str, number: Number, operation: re.Match[str], end: int, comma_decimal: bool | None
) -> Reading:
    """What a calculation without a result comes to; between unlike quantities a dash is punctuation."""
    unit = operation["unit"].strip()
    if not unit:
        return _evaluated(text, number, end)
    other = next(find_tokens(text, operation.end(), end, comma_decimal), None)
    following = _WORD.match(text, other.end, end) if other else None
    if following and _singular(following[1]) != _singular(unit.split()[0]):
        return _single(text, number, end, comma_decimal) if operation["dash"] else CALCULATION
    return _in_one_unit(text, number, unit, end) if following and operation["sum"] else CALCULATION


def _singular(word: str) -> str:
    return word.lower() if len(word) < 3 else word.lower().removesuffix("s")


def _in_one_unit(text: str, number: Number, unit: str, end: int) -> Reading:
    """The value of a sum whose terms all have one unit: `20 eggs - 2 eggs`."""
    named = re.compile(rf"{re.escape(_singular(unit))}s?\b", re.IGNORECASE)
    run = re.compile(rf"(?:[\d\s.,()+−–$€£-]|{named.pattern})*", re.IGNORECASE).match(text, number.start, end)
    if run is None or text[run.end() : run.end() + 1] in tuple("*×÷/^\\"):
        return CALCULATION
    written = run[0].rstrip(" .,(")
    value = evaluate(named.sub("", written).translate(_LEFT_OUT))
    return CALCULATION if value is None else Number(value, number.start, number.start + len(written))


def _evaluated(text: str, number: Number, end: int) -> Reading:
    """The value of a calculation whose result is not given, where it can be worked out exactly."""
    run = _RUN.match(text, number.start, end)
    written = run[0].rstrip(" .,(") if run else ""
    if _HYPHENATED.fullmatch(written):
        return RANGE
    complete = run is None or not text[run.end() : run.end() + 1].isalpha() or run[0][-1:].isspace()
    value = evaluate(written.translate(_LEFT_OUT).replace("\\", " ").strip()) if complete else None
    if value is None or written[-1:] in "+-*/":
        return CALCULATION
    return Number(value, number.start, number.start + len(written))


def stands_beside(text: str, end: int, start: int) -> bool:
    """Whether a number that starts at `start` is listed beside the one that ends at `end`."""
    beside = _AND.match(text, end, start + 1)
    return beside is not None and beside.end() == start


def _single(text: str, number: Number, end: int, comma_decimal: bool | None) -> Reading:
    """The number, unless another quantity stands beside it (`4 blue and 6 red`)."""
    either = _OR.match(text, number.end, end)
    if either:
        other = next(find_tokens(text, either.end(), end, comma_decimal), None)
        if isinstance(other, Number) and other.value != number.value:
            # "2040 minutes or 34 hours" says the same twice, in the unit asked for the second time.
            return other if either["unit"].strip() else SEVERAL
        return number
    beside = _AND.match(text, number.end, end)
    if beside:
        other = next(find_tokens(text, beside.end(), end, comma_decimal), None)
        if other is not None and other.start <= beside.end() + 1:
            return SEVERAL
    return number
