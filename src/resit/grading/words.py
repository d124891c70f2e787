"""English number words: `twelve`, `one hundred and five`, `three quarters`, `two and a half`."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from resit.grading.numerals import Exact, simplest

_SMALL = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15,
    "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19,
}  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fourty": 40, "fifty": 50, "sixty": 60, "seventy": 70,
    "eighty": 80, "ninety": 90,
}  # fmt: skip
MAGNITUDES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_PARTS = {
    "half": 2,
    "halves": 2,
    "third": 3,
    "thirds": 3,
    "quarter": 4,
    "quarters": 4,
    "fourth": 4,
    "fourths": 4,
    "fifth": 5,
    "fifths": 5,
    "eighth": 8,
    "eighths": 8,
    "tenth": 10,
    "tenths": 10,
}

_ANY = "|".join([*_SMALL, *_TENS, "hundred", *MAGNITUDES, *_PARTS])
_PHRASE = re.compile(
    rf"\b(?:(?:minus|negative)\s+)?(?:an?\s+(?=half|third|quarter|fifth|hundred|thousand|million))?"
    rf"(?:{_ANY})(?:(?:\s+and\s+(?:a\s+)?|\s*-\s*|\s+)(?:{_ANY}))*\b(?!-)",
    re.IGNORECASE,
)


class Words(NamedTuple):
    """A number in words and where it stands."""

    value: Exact
    start: int
    end: int


def find_words(text: str, start: int, end: int) -> list[Words]:
    """The numbers in words between two positions, in order."""
    found = []
    for match in _PHRASE.finditer(text, start, end):
        value = read_words(match[0])
        if value is not None:
            found.append(Words(value, match.start(), match.end()))
    return found


def read_words(phrase: str) -> Exact | None:
    """The value of a phrase of number words; None where the words do not make one number."""
    tokens = re.findall(r"[a-z]+", phrase.lower())
    negative = tokens[:1] in (["minus"], ["negative"])
    tokens = tokens[1:] if negative else tokens
    whole, fraction = _split_fraction(tokens)
    if whole is None or fraction is None:
        return None
    value = simplest(whole + fraction)
    return -value if negative else value


def _split_fraction(tokens: list[str]) -> tuple[int | None, Exact | None]:
    """Whole and fractional part: `two and a half`, `three quarters`, `a quarter`."""
    if not tokens or tokens[-1] not in _PARTS:
        return _whole(tokens), 0
    parts = _PARTS[tokens[-1]]
    rest = tokens[:-1]
    if "and" in rest:
        cut = len(rest) - 1 - rest[::-1].index("and")
        count = _count(rest[cut + 1 :])
        return _whole(rest[:cut]), None if count is None else Fraction(count, parts)
    count = _count(rest)
    return 0, None if count is None else Fraction(count, parts)


def _count(tokens: list[str]) -> int | None:
    return 1 if tokens in ([], ["a"], ["an"]) else _whole(tokens)


def _whole(tokens: list[str]) -> int | None:
    total = section = 0
    last = 10**18
    tokens = [token for token in tokens if token != "and"]
    if all(token in ("a", "an") for token in tokens):
        return None  # an article alone is no number
    for token in tokens:
        if token in ("a", "an"):
            section += 1
        elif token in _SMALL or token in _TENS:
            value = _SMALL.get(token, _TENS.get(token, 0))
            if value >= last or (last < 100 and not (last >= 20 and 0 < value < 10)):
                return None  # "three five" is two numbers
            section, last = section + value, value
        elif token == "hundred":
            section, last = max(section, 1) * 100, 100
        elif token in MAGNITUDES:
            total, section, last = total + max(section, 1) * MAGNITUDES[token], 0, MAGNITUDES[token]
        else:
            return None
    return total + section
