"""What of a response is shown as its answer: reasoning blocks dropped, run-on text cut.

Every search is bounded, so that the cost is linear in the length whatever the text is.
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
RUN_ON_REACH = 50_000
"""How far from the beginning of an answer run-on boundaries are looked for."""

REACH = 200_000
"""How far from its end a response is searched for anything but the markers `####`, `\\boxed` and `answer`,
which are found wherever they stand."""

_BOUNDARY = re.compile(
    r"\n[ \t]{0,8}[*#>_]{0,6}[ \t]{0,4}"
    r"(?i:(?:(?:new|next|another) )?(?:question|problem|exercise|example)|q|human|user|instruction|input"
    r"|assistant|вопрос|pregunta|frage|swali|问题|問題|প্রশ্ন|โจทย์|คำถาม|ప్రశ్న)"
    r"[ \t]?(?:no\. ?|#)?\d{0,4}[ \t]?[*_]{0,2}[ \t]?[:：]"
    r"|<(?:\|[^|<>\s]{1,30}\|>|/s>|end_of_turn>|start_of_turn>|eos>|｜[^｜<>\s]{1,40}｜>)"
    r"|\[/?INST\]"
)
"""A line that begins an invented question or turn, or a mark that ends the text or a turn."""


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


def segments(text: str, start: int, end: int) -> Iterable[tuple[int, int]]:
    """The stretches between invented questions, new chat turns and end-of-text marks, in order."""
    reach = min(end, start + RUN_ON_REACH)
    first_line = text.find("\n", start, reach)
    turns = first_line >= 0 and not text[first_line:reach].isspace()
    if turns or text.find("<", start, reach) >= 0 or text.find("INST]", start, reach) >= 0:
        return _split(text, start, end, reach)
    return ((start, end),)


def _split(text: str, start: int, end: int, reach: int) -> Iterator[tuple[int, int]]:
    for _ in range(MAX_SEGMENTS):
        boundary = _BOUNDARY.search(text, start, reach)
        if boundary is None:
            break
        yield start, boundary.start()
        start = boundary.end()
    yield start, end
