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
        if _DENIAL.match(text, after + 4, end):
            return None
        return _after_link(text, after + 3, end, False, None)
    link = _ENGLISH_LINK.match(text, after, end)
    if link is None:
        return None
    if link["close"]:
        return _tag(text, at, after + 1, start, end)
    if link["clause"] is not None and (
        _NEGATION.search(link["clause"]) or _DENIAL.match(text, link.end(), end)
    ):
        return None
    return _after_link(text, link.end(), end, bool(link["colon"] or link["colon_after"]), None)


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
    return Window("answer phrase", at, stop, at_once=colon, language=language) if stop > at else None


def _phrase(language: str, anchor: str) -> Callable[[str, int, int, int], Window | None]:
    def read(text: str, at: int, start: int, end: int) -> Window | None:
        link = _LINK.match(text, at + len(anchor), end)
        after = link.end() if link else at + len(anchor)
        colon = text[after - 1] in ":：="
        return _after_link(text, after if colon else at + len(anchor), end, colon, language)

    return read


def _bold(text: str, start: int, end: int) -> list[Window]:
    """Emphasis in the last two lines, in order."""
    tail = text[max(start, end - _MAX_LINE) : end]
    if "**" not in tail:
        return []
    offset = end - len(tail)
    lines = tail.rstrip().rsplit("\n", 2)
    offset += len(lines[0]) if len(lines) == 3 else 0
    return [Window("bold", m.start(1), m.end(1), whole=True) for m in _EMPHASIS.finditer(text, offset, end)]


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
