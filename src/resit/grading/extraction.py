"""From a response to the answer it states: value, place and reason."""

from __future__ import annotations

import re
from typing import NamedTuple

from resit.grading import closing, markers
from resit.grading.markers import Window
from resit.grading.numbers import COMMA_DECIMAL_LANGUAGES, Number, find_numbers
from resit.grading.numerals import CJK_NUMERAL, read_cjk
from resit.grading.reasoning import outside_reasoning, segments
from resit.grading.values import Amount, Value, amount_of, read_value
from resit.grading.words import find_words

UNFINISHED = "unfinished reasoning"
TRUNCATED = "truncated"
NOTHING = "no answer found"
UNREADABLE = "is not a number"


class Extraction(NamedTuple):
    """What a response states; `value` None: nothing, for the reason given."""

    value: Value | None
    start: int = 0
    end: int = 0
    reason: str = NOTHING
    explicit: bool = False


_DRESSING = re.compile(
    r"(?:[\s*_`$\\\[({\"'~≈=:：,“]|\\(?:text|mathbf|mathrm|textbf|boxed|approx|quad|bf|displaystyle)\b\{?"
    r"|\b(?:is|are|approximately|about|exactly|only|just|a total of|total of|roughly|around|nearly|simply"
    r"|therefore|thus|so|the|equal to|equals|answer|final)\b"
    r"|[a-zA-Z]\s*(?==))*",
    re.IGNORECASE,
)
_OPERATION = re.compile(r"\s*[^\W\d_]{0,20}\s*(?:[-+*/×÷·–−]|\bx\b|\\times|\\cdot|\\div)\s*(?=[\d$(.\\])")
_EQUALS = re.compile(r"[^\n=\d.!?]{0,40}[=≈]\s*")
_HEADING = re.compile(r"[.)]\s+[^\W\d_]|:\s*\w")
_CJK = re.compile(f"{CJK_NUMERAL}+")
_NOT_BLANK = re.compile(r"\S")


def extract_number(
    text: str, tags: tuple[tuple[str, str], ...], language: str | None, truncated: bool
) -> Extraction:
    """The number that a response gives as its answer."""
    parts = outside_reasoning(text, tags)
    if parts is None:
        return Extraction(None, reason=UNFINISHED)
    lowered = _lower(text)
    found = Extraction(None)
    for start, end in parts:
        for segment in segments(text, start, end):
            found = _in_segment(text, lowered, *segment, language, truncated)
            if found.value is not None or found.explicit:
                return found
    return found


def _lower(text: str) -> str:
    """Lower case, of the same length."""
    return text.replace("İ", "I").lower()


def _in_segment(
    text: str, lowered: str, start: int, end: int, language: str | None, truncated: bool
) -> Extraction:
    for window in markers.windows(text, lowered, start, end):
        found = _in_window(text, window, language)
        if found is not None:
            if truncated and found.end >= len(text):
                return Extraction(None, reason=TRUNCATED)
            return found
    if truncated and end == len(text):
        return Extraction(None, reason=TRUNCATED)
    comma_decimal = True if language in COMMA_DECIMAL_LANGUAGES else None
    number = closing.last_statement(text, start, end, comma_decimal) or closing.last_words(text, start, end)
    return _found(number, "last number stated") if number else Extraction(None)


def _in_window(text: str, window: Window, language: str | None) -> Extraction | None:
    """What an explicit marker states; None where it states nothing, so that an earlier one may."""
    spoken = language or window.language
    comma_decimal = True if spoken in COMMA_DECIMAL_LANGUAGES else None
    if window.whole:
        return _whole(text, window, comma_decimal)
    number = next(find_numbers(text, window.start, window.end, comma_decimal), None)
    if number is None or (window.at_once and not _directly(text, window.start, number.start)):
        number = _in_words(text, window)
    if number is None:
        return None
    if window.kind == "####" and _HEADING.match(text, number.end):
        return None
    number = _result(text, number, window.end, comma_decimal)
    return _found(number, window.kind, explicit=True)


def _found(number: Number, reason: str, explicit: bool = False) -> Extraction:
    return Extraction(amount_of(number), number.start, number.end, reason, explicit)


def _directly(text: str, start: int, number: int) -> bool:
    dressing = _DRESSING.match(text, start, number)
    return dressing is not None and dressing.end() == number


def _in_words(text: str, window: Window) -> Number | None:
    words = find_words(text, window.start, window.end)
    if words and (not window.at_once or _directly(text, window.start, words[0].start)):
        return Number(*words[0])
    match = None if text.isascii() else _CJK.search(text, window.start, window.end)
    if match:
        value = read_cjk(match[0])
        return None if value is None else Number(value, match.start(), match.end())
    return None


def _result(text: str, number: Number, end: int, comma_decimal: bool | None) -> Number:
    """The right side, where the number begins a calculation `16 - 3 = 13`."""
    at = number
    for _ in range(20):
        operation = _OPERATION.match(text, at.end, end)
        following = next(find_numbers(text, operation.end(), end, comma_decimal), None) if operation else None
        if following is None or operation is None or following.start > operation.end() + 2:
            break
        at = following
    equals = _EQUALS.match(text, at.end, end) if at is not number else None
    if equals is None:
        return number
    result = next(find_numbers(text, equals.end(), end, comma_decimal), None)
    return (
        _result(text, result, end, comma_decimal) if result and result.start <= equals.end() + 3 else number
    )


def _whole(text: str, window: Window, comma_decimal: bool | None) -> Extraction | None:
    content = text[window.start : window.end]
    value = read_value(content, comma_decimal)
    if isinstance(value, Amount):
        start = window.start + len(content) - len(content.lstrip())
        return Extraction(value, start, window.start + len(content.rstrip()), window.kind, True)
    if window.kind == "tag":
        number = closing.last_statement(text, window.start, window.end, comma_decimal)
        return _found(number, window.kind, explicit=True) if number else None
    if window.kind == "bold" or not any(char.isdigit() for char in content):
        return None
    return Extraction(None, window.start, window.end, f"{window.kind} {UNREADABLE}", True)
