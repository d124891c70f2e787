"""What of a response is shown as its answer: reasoning blocks dropped, run-on text cut.

Everything is found by plain substring search with a bounded number of candidates, so that the cost
is linear in the length whatever the text is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

REASONING_TAGS: tuple[tuple[str, str], ...] = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<reflection>", "</reflection>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
)
"""Pairs of tags around reasoning that are known without being told."""

_ALSO_END_OF_TURN = ("<|end|>",)
"""Closing tags that mean nothing without their opening one."""

MAX_BLOCKS = 20
"""Of more reasoning blocks only the text after the last one, and between the first ones, is read."""
MAX_SEGMENTS = 50
"""A run-on text with more boundaries is read as one text after this many."""
_MAX_CANDIDATES = 100
"""Of more occurrences of a boundary's word in a row, none that is a boundary, the rest is not looked at."""

REACH = 200_000
"""How far from the beginning a response is searched for the first run-on boundary, and how far from its
end for anything but the markers `####`, `\\boxed` and `answer`, which are found wherever they stand."""

_ASCII_TURNS = (
    "question", "q:", "\nq", "problem", "exercise", "example", "instruction", "input:", "user:", "human:",
    "assistant:", "pregunta", "frage", "swali",
)  # fmt: skip
_OTHER_TURNS = ("вопрос", "问题", "問題", "প্রশ্ন", "โจทย์", "คำถาม", "ప్రశ్న")
_MARKS = ("<|", "</s>", "_of_turn>", "<eos>", "inst]", "<｜")
"""Parts of the marks that end a text or a chat turn."""

_LINE_START = re.compile(r"\n[ \t]{0,8}[*#>_]{0,6}[ \t]{0,4}(?:(?:new|next|another) )?$")
_TURN_END = re.compile(r"[ \t]?(?:no\. ?|#)?\d{0,4}[ \t]?[*_]{0,2}[ \t]?[:：]|(?<=[:：])")
_MARK = re.compile(
    r"<(?:\|[^|<>\s]{1,30}\|>|/s>|end_of_turn>|start_of_turn>|eos>|｜[^｜<>\s]{1,40}｜>)|\[/?inst\]"
)


def lower(text: str) -> str:
    """Lower case of the same length; of a very long text that is not ASCII only the end."""
    head = "" if text.isascii() else text[:-REACH]
    # İ is the one letter whose lower case is longer.
    return head + text[len(head) :].replace("İ", "I").lower()


def outside_reasoning(text: str, tags: tuple[tuple[str, str], ...]) -> list[tuple[int, int]] | None:
    """The parts of a response that are no reasoning, the last first; None: the reasoning is unfinished."""
    for char in _first_characters(tags):
        if char in text:
            break
    else:
        return [(0, len(text))]
    present = [
        pair for pair in tags if pair[0] in text or (pair[1] in text and pair[1] not in _ALSO_END_OF_TURN)
    ]
    if not present:
        return [(0, len(text))]
    opening, closing = max(present, key=lambda pair: text.rfind(pair[1]))
    last = text.rfind(closing)
    answer = last + len(closing) if last >= 0 else 0
    if any(text.find(pair[0], answer) >= 0 for pair in present):
        return None
    return [(answer, len(text)), *_between(text, opening, closing, answer)[::-1]]


@lru_cache(maxsize=64)
def _first_characters(tags: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    return tuple({tag[0] for pair in tags for tag in pair})


def _between(text: str, opening: str, closing: str, stop: int) -> list[tuple[int, int]]:
    """The parts before and between finished blocks; what precedes a lone closing tag is reasoning."""
    parts, start = [], 0
    for _ in range(MAX_BLOCKS):
        opened = text.find(opening, start, stop)
        if opened < 0:
            break
        if opened > start and text.find(closing, start, opened) < 0:
            parts.append((start, opened))
        start = text.find(closing, opened, stop) + len(closing)
    return parts


def segments(text: str, lowered: str, start: int, end: int) -> Iterable[tuple[int, int]]:
    """The stretches between invented questions, new chat turns and end-of-text marks, in order.

    `lowered` is the text in lower case, character by character.
    """
    reach = min(end, start + REACH)
    words = [word for word in _words(text, start, reach) if lowered.find(word, start, reach) >= 0]
    return _split(lowered, words, start, end, reach) if words else ((start, end),)


def _split(lowered: str, words: list[str], start: int, end: int, reach: int) -> Iterator[tuple[int, int]]:
    ahead = {word: (start, start) for word in words if lowered.find(word, start, reach) >= 0}
    at = start
    for _ in range(MAX_SEGMENTS if ahead else 0):
        for word, boundary in list(ahead.items()):
            if boundary[0] < at or boundary == (start, start):
                following = _next_boundary(lowered, word, at, reach)
                if following is None:
                    del ahead[word]
                else:
                    ahead[word] = following
        if not ahead:
            break
        first = min(ahead.values())
        yield at, first[0]
        at = first[1]
    yield at, end


def _words(text: str, start: int, reach: int) -> tuple[str, ...]:
    """What boundaries are looked for: a turn needs a line before it, a mark a bracket."""
    turns: tuple[str, ...] = ()
    first_line = text.find("\n", start, reach)
    if first_line >= 0 and not text[first_line:reach].isspace():
        turns = _ASCII_TURNS if text.isascii() else _ASCII_TURNS + _OTHER_TURNS
    return turns + _MARKS if text.find("<", start, reach) >= 0 or "INST]" in text else turns


def _next_boundary(lowered: str, word: str, at: int, end: int) -> tuple[int, int] | None:
    """Where the next boundary that holds `word` begins and ends."""
    for _ in range(_MAX_CANDIDATES):
        found = lowered.find(word, at, end)
        if found < 0:
            return None
        if word in _MARKS:
            mark = _MARK.search(lowered, max(at, found - 12), min(end, found + 45))
            if mark and mark.start() <= found:
                return mark.span()
        elif boundary := _turn(lowered, word, found, end):
            return boundary
        at = found + len(word)
    return None


def _turn(lowered: str, word: str, found: int, end: int) -> tuple[int, int] | None:
    """The boundary that a line beginning with `word` is, with a number and a colon after it."""
    head = found + 1 if word[0] == "\n" else found
    before = _LINE_START.search(lowered[max(0, head - 30) : head])
    after = _TURN_END.match(lowered, found + len(word), end)
    if before is None or after is None:
        return None
    return max(0, head - 30) + before.start(), after.end()
