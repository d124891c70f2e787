"""From a response to the answer it states: value, place and reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from resit.grading import closing, markers
from resit.grading.expressions import evaluate
from resit.grading.headings import is_own_heading
from resit.grading.markers import Window
from resit.grading.numbers import COMMA_DECIMAL_LANGUAGES, Number, Unreadable, find_numbers, find_tokens
from resit.grading.numerals import CJK_NUMERAL, read_cjk
from resit.grading.reasoning import lower, outside_reasoning, segments
from resit.grading.statements import settle
from resit.grading.values import (
    CLOCK,
    Amount,
    Clock,
    Several,
    Value,
    amount_of,
    clock_of,
    read_statement,
    read_value,
)
from resit.grading.words import find_words

UNFINISHED = "unfinished reasoning"
TRUNCATED = "truncated"
LAST_NUMBER = "last number stated"

_SHORT = 120
_BARE_WORDS = 3

Stretch: TypeAlias = tuple[int, int]


class Extraction(NamedTuple):
    """What a response states; `value` None: nothing, for the reason given."""

    value: Value | None
    start: int = 0
    end: int = 0
    reason: str = closing.NOTHING
    final: bool = False
    """Nothing that follows in the response is to be read: it answers, or it says that it cannot."""


class Reader(NamedTuple):
    """How answers of one kind are read: where a marker says, and where none does."""

    in_window: Callable[[str, Window, bool | None], Extraction | None]
    """None where the marker states nothing of the kind, so that an earlier marker may."""
    at_end: Callable[[str, int, int, bool | None], Extraction]


_DRESSING = re.compile(
    r"(?:[\s*_`$\\\[({\"'~≈=:：,“]|\\(?:text|mathbf|mathrm|textbf|boxed|approx|quad|bf|displaystyle)\b\{?"
    r"|\b(?:is|are|approximately|about|exactly|only|just|a total of|total of|roughly|around|nearly|simply"
    r"|therefore|thus|so|the|equal to|equals|answer|final)\b"
    r"|[a-zA-Z]\s*(?==)|(?:option\s{1,3})?\(?[A-H][).:]\s*(?:[-–—]\s+)?)*",
    re.IGNORECASE,
)
_ATTRIBUTE = re.compile(r"\*\*-[^\W\d_]")
"""After an emphasised number: `a **400**-meter race`."""
_HEADING = re.compile(r"[.)]\s+[^\W\d_]|:\s*\w")
_CJK = re.compile(CJK_NUMERAL)
_CLAUSE_END = re.compile(r"[，。；（(\n]|,\s")


class _Response(NamedTuple):
    text: str
    lowered: str
    anchors: list[markers.Anchor]
    reader: Reader
    language: str | None
    truncated: bool


def extract(
    text: str,
    wanted: type[Value],
    tags: tuple[tuple[str, str], ...],
    language: str | None,
    truncated: bool,
) -> Extraction:
    """The answer a response gives, read as the kind of value that is wanted."""
    parts = outside_reasoning(text, tags)
    if parts is None:
        return Extraction(None, reason=UNFINISHED)
    lowered = lower(text)
    anchors = markers.anchors_in(text, lowered)
    response = _Response(text, lowered, anchors, _READERS[wanted], language, truncated)
    found = Extraction(None)
    for part in parts:
        stretches = iter(segments(text, *part))
        for stretch in stretches:
            explicit = _explicit(response, stretch)
            found = explicit or _at_end(response, stretch)
            if found.value is not None and found.final:
                return found
            if found.value is not None or found.final:
                return explicit or _below_own_headings(response, stretch, stretches) or found
    return found


def _explicit(response: _Response, stretch: Stretch) -> Extraction | None:
    text, lowered, anchors, reader, language, truncated = response
    for window in markers.windows(text, lowered, *stretch, anchors):
        found = reader.in_window(text, window, _comma_decimal(language or window.language))
        if found is not None:
            cut_off = truncated and found.end >= len(text)
            return Extraction(None, reason=TRUNCATED) if cut_off else found
    return None


def _at_end(response: _Response, stretch: Stretch) -> Extraction:
    if response.truncated and stretch[1] == len(response.text):
        return Extraction(None, reason=TRUNCATED)
    return response.reader.at_end(response.text, *stretch, _comma_decimal(response.language))


def _below_own_headings(
    response: _Response, above: Stretch, stretches: Iterator[Stretch]
) -> Extraction | None:
    """The first explicit answer below, as long as the lines between are headings of one solution."""
    for stretch in stretches:
        if not is_own_heading(response.text, above, stretch):
            return None
        explicit = _explicit(response, stretch)
        if explicit is not None:
            return explicit
        above = (above[0], stretch[1])
    return None


def _comma_decimal(language: str | None) -> bool | None:
    return True if language in COMMA_DECIMAL_LANGUAGES else None


def _has_company(text: str, token: Number | Unreadable, window: Window, comma_decimal: bool | None) -> bool:
    """Whether another number stands in the clause, as in `答：9个鸡蛋卖了18美元`."""
    clause = _CLAUSE_END.search(text, token.end, window.end)
    stop = clause.start() if clause else window.end
    return next(find_tokens(text, token.end, stop, comma_decimal), None) is not None


def _number_in_window(text: str, window: Window, comma_decimal: bool | None) -> Extraction | None:
    if window.whole:
        return _whole(text, window, comma_decimal)
    token = next(find_tokens(text, window.start, window.end, comma_decimal), None)
    if token is None or (window.at_once and not _directly(text, window.start, token.start)):
        token = _in_words(text, window, token is not None)
    if token is not None and window.sentence and _has_company(text, token, window, comma_decimal):
        token = None
    if token is None and window.sentence:
        number, _ = closing.last_statement(text, window.start, window.end, comma_decimal)
        return _found(number, window.kind, final=True) if number else None
    if token is None or (window.kind == "####" and _HEADING.match(text, token.end)):
        return None
    if isinstance(token, Unreadable):
        return Extraction(None, token.start, token.end, token.reason, True)
    reading = settle(text, token, window.end, comma_decimal)
    if isinstance(reading, str):
        return Extraction(None, token.start, window.end, reading, True)
    return _found(reading, window.kind, final=True)


def _found(number: Number, reason: str, final: bool = False) -> Extraction:
    return Extraction(amount_of(number), number.start, number.end, reason, final)


def _directly(text: str, start: int, number: int) -> bool:
    dressing = _DRESSING.match(text, start, number)
    return dressing is not None and dressing.end() == number


def _in_words(text: str, window: Window, digits: bool) -> Number | None:
    """The number in words or Chinese numerals; with digits farther on, 一 belongs to 一共 or 一天."""
    words = find_words(text, window.start, window.end)
    if words and (not window.at_once or _directly(text, window.start, words[0].start)):
        return Number(*words[0])
    match = None if text.isascii() else _CJK.search(text, window.start, window.end)
    if match and digits and (match[0] == "一" or not _directly(text, window.start, match.start())):
        return None
    if match:
        value = read_cjk(match[0])
        return None if value is None else Number(value, match.start(), match.end())
    return None


def _whole(text: str, window: Window, comma_decimal: bool | None) -> Extraction | None:
    if window.kind == "bold" and _is_beside_the_point(text, window, comma_decimal):
        return None
    content = text[window.start : window.end]
    value = read_value(content, comma_decimal)
    if window.kind == "boxed" and "!" in content and (exact := evaluate(content)) is not None:
        value = Amount(exact)  # in prose "18!" is an exclamation
    if window.kind == "boxed" and value is None:
        value = read_statement(content, comma_decimal)
    if isinstance(value, Amount):
        return _spanned(text, window.start, window.end, value, window.kind)
    if isinstance(value, Clock) and not value.minutes:
        return _spanned(text, window.start, window.end, Amount(value.hours), window.kind)
    if window.kind == "tag":
        number, _ = closing.last_statement(text, window.start, window.end, comma_decimal)
        return _found(number, window.kind, final=True) if number else None
    if window.kind == "bold" or not any(char.isdigit() for char in content):
        return None
    return Extraction(None, window.start, window.end, f"{window.kind} content is not a number", True)


def _is_beside_the_point(text: str, window: Window, comma_decimal: bool | None) -> bool:
    """Whether it is another emphasised number of the same sentence that counts."""
    start, stop = markers.line_around(text, window.start)
    numbers = {
        begin: number
        for begin, end in markers.emphasised(text, start, stop)
        if not _ATTRIBUTE.match(text, end)
        and (number := next(find_numbers(text, begin, end, comma_decimal), None))
    }
    own = numbers.get(window.start)
    others = list(numbers.values())
    return (
        own is not None and len(others) > 1 and closing.beside_the_point(text, start, stop, own.start, others)
    )


def _number_at_end(text: str, start: int, end: int, comma_decimal: bool | None) -> Extraction:
    if end - start <= _SHORT:
        value = read_value(text[start:end], comma_decimal)
        if isinstance(value, Amount):
            # `Given: 16 eggs` and `16 eggs are laid every day` may be the beginning of an answer
            bare = ":" not in text[start:end] and len(text[start:end].split()) <= _BARE_WORDS
            return _spanned(text, start, end, value, LAST_NUMBER)._replace(final=bare)
    number, reason = closing.last_statement(text, start, end, comma_decimal)
    if number is None:
        return Extraction(None, reason=reason, final=reason not in (closing.NOTHING, closing.QUESTION))
    return _found(number, LAST_NUMBER)


def _spanned(text: str, start: int, end: int, value: Value, reason: str) -> Extraction:
    content = text[start:end]
    start += len(content) - len(content.lstrip())
    return Extraction(value, start, end - len(content) + len(content.rstrip()), reason, True)


def _clock_in_window(text: str, window: Window, comma_decimal: bool | None) -> Extraction | None:
    match = CLOCK.search(text, window.start, window.end)
    clock = clock_of(match) if match else None
    return Extraction(clock, *match.span(), window.kind, True) if match and clock else None


def _clock_at_end(text: str, start: int, end: int, comma_decimal: bool | None) -> Extraction:
    matches = list(CLOCK.finditer(text, max(start, end - closing.MAX_LINE), end))
    match = matches[-1] if matches else None
    clock = clock_of(match) if match else None
    return Extraction(clock, *match.span(), "last time stated") if match and clock else Extraction(None)


def _several_in_window(text: str, window: Window, comma_decimal: bool | None) -> Extraction | None:
    value = read_value(text[window.start : window.end].lstrip(" :="), comma_decimal)
    return _spanned(text, window.start, window.end, value, window.kind) if value else None


def _several_at_end(text: str, start: int, end: int, comma_decimal: bool | None) -> Extraction:
    last_line = text.rstrip().rfind("\n", start, end) + 1 or start
    for begin in (start, last_line):
        value = read_value(text[begin:end].rpartition("=")[2], comma_decimal)
        if value:
            return _spanned(text, begin, end, value, "last numbers stated")
    return Extraction(None)


_READERS: dict[type[Value], Reader] = {
    Amount: Reader(_number_in_window, _number_at_end),
    Clock: Reader(_clock_in_window, _clock_at_end),
    Several: Reader(_several_in_window, _several_at_end),
}
