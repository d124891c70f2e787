"""The number a response states last, where no marker says what its answer is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from resit.grading.numbers import Number, find_numbers
from resit.grading.words import find_words

MAX_LINES = 40
MAX_LINE = 2000
"""Of a longer line only the end is read."""

_ENUMERATOR = re.compile(
    r"[\s*_#>-]{0,12}(?:(?:step|part|case|day|week|method)\s*)?\(?\d{1,2}[.):](?=\s)", re.IGNORECASE
)
_ASIDE = re.compile(
    r"\([^()\n]{0,200}\)"
    r"|[,;:(]?\s*\b(?:i\.\s?e\.|that is,|in other words|check:|since|because|assuming|given that)[^\n]*",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])[\"'*)]*\s+|(?<=[。！？।])|;\s+")


def last_statement(text: str, start: int, end: int, comma_decimal: bool | None) -> Number | None:
    """The number stated by the last sentence that states one."""
    for line_start, line_stop in _lines_from_end(text, start, end):
        for sentence_start, sentence_stop in _sentences_from_end(text, line_start, line_stop):
            number = _stated(text, sentence_start, sentence_stop, comma_decimal)
            if number is not None:
                return number
    return None


def _lines_from_end(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    stop = end
    for _ in range(MAX_LINES):
        if stop <= start:
            return
        line = text.rfind("\n", start, stop) + 1 or start
        yield max(line, stop - MAX_LINE), stop
        stop = line - 1


def _sentences_from_end(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    enumerator = _ENUMERATOR.match(text, start, stop)
    begin = enumerator.end() if enumerator else start
    cuts = [begin, *(match.end() for match in _SENTENCE.finditer(text, begin, stop)), stop]
    return list(pairwise(cuts))[::-1]


def _stated(text: str, start: int, stop: int, comma_decimal: bool | None) -> Number | None:
    numbers = list(find_numbers(text, start, stop, comma_decimal))
    if len(numbers) > 1:
        asides = [match.span() for match in _ASIDE.finditer(text, start, stop)]
        plain = [n for n in numbers if not any(a <= n.start < b for a, b in asides)]
        numbers = plain or numbers
    if len(numbers) < 2:
        return numbers[0] if numbers else None
    equals = text.rfind("=", start, stop)
    after = [number for number in numbers if number.start > equals >= 0]
    return after[0] if after else numbers[-1]


def last_words(text: str, start: int, end: int) -> Number | None:
    """The last number in words."""
    for line_start, line_stop in _lines_from_end(text, start, end):
        found = find_words(text, line_start, line_stop)
        if found:
            return Number(*found[-1])
    return None
