"""Lines such as `Problem:` in a response: headings of its own, or questions that it has invented."""

from __future__ import annotations

import re

from resit.grading.numbers import find_numbers
from resit.grading.numerals import Exact
from resit.grading.words import find_words

_HEADING = re.compile(
    r"\s*(?P<hashes>#*)[\s*>_]*(?:(?P<illustration>example|input)|problem|exercise|instruction"
    r"|(?P<question>question|q|вопрос|pregunta|frage|swali|问题|問題|প্রশ্ন|โจทย์|คำถาม|ప్రశ్న))"
    r"[ \t]?[*_]{0,2}[ \t]?[:：]",
    re.IGNORECASE,
)
"""Without a number or `next`: those, and the turns of a chat, never head a part of one's own answer."""
_WORKED_OUT = re.compile(
    r"[=≈][\s$€£*\\({]{0,8}\d|\b(?:so|therefore|thus|hence|altogether|in total)\b[^\n]{0,200}\d",
    re.IGNORECASE,
)
"""A result or a conclusion: what stands below a heading then is another question's."""
_REACH = 2000
"""How much of the text above and below a heading is looked at."""
_LARGE = 10
"""Numbers that are no larger may stand in the next question by chance."""


def is_own_heading(text: str, above: tuple[int, int], below: tuple[int, int]) -> bool:
    """Whether the line between two stretches of a response is a heading of its own solution.

    It is none where the text above works something out already. Else it is one where it illustrates
    (`Example:`) and asks nothing, where it asks without naming a number, so about what stands above, and
    where the numbers above return below. An invented question brings its own numbers. Before `Question:` a
    lone number is the answer to the one that was asked.
    """
    if not text[slice(*below)].strip():
        return False
    heading = _HEADING.fullmatch(text, above[1], below[0])
    if heading is None or _WORKED_OUT.search(text, max(above[0], above[1] - _REACH), above[1]):
        return False
    if heading["illustration"] and not heading["hashes"] and not _asks(text, *below):
        return True
    over = _values(text, max(above[0], above[1] - _REACH), above[1])
    if len(over) < 2 and heading["question"]:
        return False
    return not _names_a_number(text, *below) or _return(over, text, below)


def _asks(text: str, start: int, end: int) -> bool:
    """Whether the paragraph that begins at `start` has a question in it."""
    paragraph = text[start : min(end, start + _REACH)].lstrip().partition("\n\n")[0]
    return "?" in paragraph or "？" in paragraph


def _names_a_number(text: str, start: int, end: int) -> bool:
    """Whether the question that begins at `start` has a number in it; `one` is none."""
    start += len(text[start:end]) - len(text[start:end].lstrip(" \t\n*_"))
    limit = min(end, start + _REACH)
    marks = [at for mark in "?？" if (at := text.find(mark, start, limit)) >= 0]
    lines = text.find("\n", start, limit)
    stop = min(marks) if marks else lines if lines >= 0 else limit
    if next(find_numbers(text, start, stop), None):
        return True
    return any(words.value != 1 for words in find_words(text, start, stop))


def _return(over: set[Exact], text: str, below: tuple[int, int]) -> bool:
    """Whether every number above stands below as well, so that it goes on about the same things."""
    return max(over, default=0) > _LARGE and over <= _values(text, below[0], min(below[1], below[0] + _REACH))


def _values(text: str, start: int, end: int) -> set[Exact]:
    return {number.value for number in find_numbers(text, start, end)}
