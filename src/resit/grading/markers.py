"""Where a response says explicitly what its answer is.

Each kind of marker is found by a plain substring search from the right, which is linear and fast; a
pattern is only tried where its substring stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from resit.grading.reasoning import REACH

MAX_MARKERS = 40
"""Of more markers of one kind that state nothing, the earlier ones are not looked at."""
_MAX_BOX = 1000
_MAX_LINE = 400


class Window(NamedTuple):
    """Where an explicit answer should stand, and how strictly it must fill the place."""

    kind: str
    start: int
    end: int
    whole: bool = False
    """The window holds the answer and nothing else (`\\boxed{}`, `<answer>`)."""
    at_once: bool = False
    """The answer must follow directly, not somewhere in the sentence."""
    sentence: bool = False
    """Where it does not follow directly, the sentence states it as one without a marker would."""
    language: str | None = None


Anchor: TypeAlias = tuple[str, int]
"""A substring that a marker holds, and from how far before the end it counts (0: from the beginning)."""

_PHRASES: dict[str, tuple[str, ...]] = {
    "de": ("antwort",),
    "es": ("respuesta",),
    "fr": ("réponse",),
    "ru": ("ответ",),
    "sw": ("jibu",),
    "zh": ("答案", "答："),
    "ja": ("答え", "答は", "解答", "回答"),
    "th": ("คำตอบ",),
    "bn": ("উত্তর",),
    "te": ("సమాధానం", "జవాబు"),
    "ko": ("정답", "답은", "답:"),
    "hi": ("उत्तर",),
    "ar": ("الإجابة", "الجواب"),
}
"""What the answer is called in the languages of MGSM, and a few more."""
_BEGIN_LONGER = "解回정"
"""Before `答：` or `답:`: that a longer one of the phrases stands there."""

_ENGLISH_LINK = re.compile(
    r"s?[\"'*_`)\]}]*"
    r"(?:(?P<clause>\b[^.!?\n:=\d<>$\\]{0,80}?)\b(?:is|are|was|equals|(?:would|will|should|must) be)\b"
    r"(?P<colon_after>\s*:)?"
    r"|[^\S\n]*(?:\([^()\n]{0,40}\)|[^\W\d_]{0,12})?[\"'*_`)\]}\s\\$]{0,12}(?:text)?"
    r"[\"'*_`)\]}{\s]{0,6}(?P<colon>[:=：])"
    r"|(?P<close>>))",
    re.IGNORECASE,
)
_NOT_A_NOUN_AFTER = frozenset(("to", "can", "cannot", "can't", "you", "we", "i", "not", "please"))
_CHECK_REACH = 40
_CHECKED = re.compile(
    r"\b(?:check|verify|confirm|test|validate)(?:ing)?\s+(?:that\s+)?(?:(?:the|our|my|your|this)\s+)?(?:final\s+)?$",
    re.IGNORECASE,
)
"""Before `answer`: that it is looked at once more, not stated."""
_APPROVED = ("correct", "right")
_NEGATION = re.compile(r"\b(?:not|incorrect|wrong)\b", re.IGNORECASE)
_DENIAL = re.compile(r"\s*(?:[^\W\d_]{2,12}ly\s+)?(?:not|incorrect|wrong)\b", re.IGNORECASE)
"""After the verb: `is not 5`, `is definitely not 5`."""
ABBREVIATION = "".join(
    rf"(?<!{re.escape(word)})"
    for word in ("i.e.", "e.g.", "approx.", "Mr.", "Mrs.", "Ms.", "Dr.", "vs.", "No.", "a.m.", "p.m.")
)
"""After a full stop: that it does not end a sentence."""
_SENTENCE_END = re.compile(rf"[.!?]{ABBREVIATION}(?=\s|$|\*\*|[\"')])|[。！？।]|\n|;\s")
_LINK = re.compile(r"[^\n.。！？।\d:：=]{0,40}[:：=]?")
_BLANK = re.compile(r"[\s*_`#>$\\\[({]*")
_LIST = re.compile(
    r"[\s*_`#>:：]*?\n[\s*_`#>]{0,8}\(?1[.)][*_]{0,2}[^\S\n]+(?=[^\n]{0,300}?\d|[^\W\d_])"
    r"|[ \t*_]{0,8}\(?1[.)][*_]{0,2}[ \t]+[^\n]{1,400}\n\s{0,8}[*_]{0,2}\(?2[.)]\s"
)
"""After a colon: the steps of a solution, numbered."""
_RESULT = re.compile(r"[\s*_$€£\\({≈]{0,8}(\d[\d,]*(?:\.\d+)?)")
_NEXT_LINE = re.compile(r"[^\n=]{0,40}\n\s{0,20}(?:[-•*+]\s+)?([\s$€£\\({*]{0,8}\d[^=\n]{0,100})=")
_DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?")
_OPERATORS = re.compile(r"(?<=[^\s(])\s*([-+*/×·÷−–]|(?<![^\W\d_])x)\s*(?=[\d$€£(\\])")
_PLAIN = {"×": "*", "·": "*", "x": "*", "÷": "/", "−": "-", "–": "-"}
_INVERSE = {"+": "-", "-": "+", "*": "/", "/": "*"}
_BOLD_STEP = re.compile(r"(?m)^\*\*\d{1,2}[.):]\*\*[^\S\n]+\S")
_EMPHASIS = re.compile(r"\*\*([^*\n]{1,120})\*\*")


def anchors_in(text: str, lowered: str) -> list[Anchor]:
    """The anchors that the text holds: looking for all is far cheaper than searching from the right."""
    anchors = _ASCII_ANCHORS if text.isascii() else _ANCHORS
    near_end = lowered[-REACH:]
    return [anchor for anchor in anchors if anchor[0] in (near_end if anchor[1] else lowered)]


def windows(text: str, lowered: str, start: int, end: int, anchors: Sequence[Anchor]) -> Iterator[Window]:
    """The places of explicit answers between two positions, from the last to the first.

    `anchors` are those of the whole text.
    """
    near_end = max(start, end - REACH)
    heads = []
    for index, (anchor, floor) in enumerate(anchors):
        at = lowered.rfind(anchor, start if floor == 0 else near_end, end)
        if at >= 0:
            heads.append((at, index))
    bold = _bold(text, start, end)
    tried = [0] * len(anchors)
    while heads or bold:
        head = max(heads, default=(-1, -1))
        if bold and bold[-1].end > head[0]:
            yield bold.pop()
            continue
        heads.remove(head)
        at, index = head
        anchor = anchors[index][0]
        tried[index] += 1
        if tried[index] < MAX_MARKERS and (before := lowered.rfind(anchor, start, at)) >= 0:
            heads.append((before, index))
        window = _READERS[anchor](text, at, start, end)
        if window is not None:
            yield window


def sentence_end(text: str, start: int, end: int) -> int:
    """Where the sentence that runs at `start` ends, within `_MAX_LINE` characters."""
    limit = min(end, start + _MAX_LINE)
    match = _SENTENCE_END.search(text, start, limit)
    return match.start() if match else limit


def line_end(text: str, start: int, end: int) -> int:
    """Where the line at `start` ends, within `_MAX_LINE` characters."""
    at = text.find("\n", start, min(end, start + _MAX_LINE))
    return at if at >= 0 else min(end, start + _MAX_LINE)


def line_around(text: str, at: int) -> tuple[int, int]:
    """The line that a position is in, within `_MAX_LINE` characters on both sides."""
    start = text.rfind("\n", max(0, at - _MAX_LINE), at) + 1 or max(0, at - _MAX_LINE)
    return start, line_end(text, at, len(text))


def _hashes(text: str, at: int, start: int, end: int) -> Window | None:
    after = at + 4
    while after < end and text[after] == "#":
        after += 1
    stop = line_end(text, after, end)
    if not text[after:stop].strip() and stop < end:
        stop = line_end(text, stop + 1, end)  # the number stands on the next line
    return Window("####", after, stop, at_once=True)


def _box(text: str, at: int, start: int, end: int) -> Window | None:
    opening = at + len("boxed")
    opening += len(text[opening : opening + 3]) - len(text[opening : opening + 3].lstrip(" "))
    if opening >= end or text[opening] != "{":
        if at > start and text[at - 1] == "\\" and opening < end and text[opening].isdigit():
            return Window("boxed", opening, sentence_end(text, opening, end), at_once=True)
        return None
    depth = 0
    limit = min(end, opening + _MAX_BOX)
    for position in range(opening, limit):
        char = text[position]
        depth += (char == "{") - (char == "}")
        if depth == 0:
            return Window("boxed", opening + 1, position, whole=True)
    closed = text.find("\n", opening, limit)
    return Window("boxed", opening + 1, closed if closed >= 0 else limit, whole=True)


def _answer(text: str, at: int, start: int, end: int) -> Window | None:
    after = at + len("answer")
    if text[max(start, at - 8) : at].rstrip().rpartition(" ")[2].lower() in _NOT_A_NOUN_AFTER:
        return None
    if text.startswith(" is ", after):  # by far the most frequent form
        if _DENIAL.match(text, after + 4, end) or (
            text.startswith(_APPROVED, after + 4) and _is_checked(text, at, start)
        ):
            return None
        return _after_link(text, after + 3, end, False, None)
    link = _ENGLISH_LINK.match(text, after, end)
    if link is None:
        return None
    if link["close"]:
        return _tag(text, at, after + 1, start, end)
    if link["colon"] and _is_checked(text, at, start):
        return None
    if link["clause"] is not None and (
        _NEGATION.search(link["clause"]) or _DENIAL.match(text, link.end(), end)
    ):
        return None
    return _after_link(text, link.end(), end, bool(link["colon"] or link["colon_after"]), None)


def _is_checked(text: str, at: int, start: int) -> bool:
    return _CHECKED.search(text, max(start, at - _CHECK_REACH), at) is not None


def _tag(text: str, at: int, after: int, start: int, end: int) -> Window | None:
    opening = text.rfind("<", max(start, at - 16), at)
    if opening < 0 or "/" in text[opening:at]:
        return None
    closing = text.find("</", after, min(end, after + _MAX_BOX))
    if closing < 0:
        return Window("tag", after, line_end(text, after, end), at_once=True)
    return Window("tag", after, closing, whole=True)


def _after_link(text: str, at: int, end: int, colon: bool, language: str | None) -> Window | None:
    """From a link word to the end of its sentence; an empty line after a colon is skipped."""
    blank = _BLANK.match(text, at, end)
    begin = blank.end() if blank else at
    stop = sentence_end(text, begin, end)
    if colon and (_LIST.match(text, at, end) or _goes_on(text, begin, stop, end)):
        return None
    return Window("answer phrase", at, stop, at_once=colon, language=language) if stop > at else None


def _goes_on(text: str, begin: int, stop: int, end: int) -> bool:
    """Whether what stands after a colon is a calculation whose result the next line calculates with.

    A line that undoes the calculation checks it, and one without an operator says the same in another unit.
    """
    equals = text.rfind("=", begin, stop)
    result = _RESULT.match(text, equals + 1, stop) if equals >= 0 else None
    if result is None:
        return False
    following = _NEXT_LINE.match(text, stop, min(end, stop + _MAX_LINE))
    if following is None:
        return False
    operators, numbers = _written(following[1])
    if not operators or result[1] not in numbers:
        return False
    before, operands = _written(text[begin:equals])
    numbers.remove(result[1])
    undone = any(_INVERSE[operator] in before for operator in operators)
    return not (undone and set(numbers) <= set(operands))


def _written(calculation: str) -> tuple[list[str], list[str]]:
    """Its operators, of several signs for one the plainest, and its numbers."""
    operators = [_PLAIN.get(sign, sign) for sign in _OPERATORS.findall(calculation)]
    return operators, _DIGITS.findall(calculation)


_SPOKEN_LAST = ("zh", "ja")
"""Languages whose sentences name the conditions before the result: `答え：1日に18ドル`."""


def _phrase(language: str, anchor: str) -> Callable[[str, int, int, int], Window | None]:
    def read(text: str, at: int, start: int, end: int) -> Window | None:
        if anchor[-1] in ":：":
            return _conclusion(text, at, at + len(anchor), start, end, language)
        link = _LINK.match(text, at + len(anchor), end)
        after = link.end() if link else at + len(anchor)
        colon = text[after - 1] in ":：="
        window = _after_link(text, after if colon else at + len(anchor), end, colon, language)
        if window and colon and language in _SPOKEN_LAST and text[window.start].isdigit():
            return window._replace(sentence=True)
        return window

    return read


def _conclusion(text: str, at: int, after: int, start: int, end: int, language: str) -> Window | None:
    """After `答：` and `답:`, but not in the words that end so and are read themselves (`解答：`)."""
    if at > start and text[at - 1] in _BEGIN_LONGER:
        return None
    window = _after_link(text, after, end, True, language)
    return window._replace(sentence=True) if window else None


def _bold(text: str, start: int, end: int) -> list[Window]:
    """Emphasis in the last two lines, in order."""
    tail = text[max(start, end - _MAX_LINE) : end]
    if "**" not in tail:
        return []
    offset = end - len(tail)
    lines = tail.rstrip().rsplit("\n", 2)
    offset += len(lines[0]) if len(lines) == 3 else 0
    return [Window("bold", begin, stop, whole=True) for begin, stop in emphasised(text, offset, end)]


def emphasised(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """What stands between two pairs of asterisks, in order; not the number of a step (`**2.** She makes`)."""
    matches = _EMPHASIS.finditer(text, start, end)
    return [match.span(1) for match in matches if not _BOLD_STEP.match(text, match.start(), end)]


_READERS: dict[str, Callable[[str, int, int, int], Window | None]] = {
    "####": _hashes,
    "boxed": _box,
    "answer": _answer,
    **{anchor: _phrase(language, anchor) for language, anchors in _PHRASES.items() for anchor in anchors},
}
_ANCHORS: tuple[Anchor, ...] = tuple(
    (anchor, 0 if place < 3 else REACH) for place, anchor in enumerate(_READERS)
)
_ASCII_ANCHORS = tuple(entry for entry in _ANCHORS if entry[0].isascii())
