"""What of a response is shown as its answer: reasoning blocks dropped, run-on text cut."""

from __future__ import annotations

import re
from collections.abc import Iterator

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

_MAY_OPEN = frozenset("<[◁")
_BOUNDARY = re.compile(
    r"\n[ \t]{0,8}[*#>_]{0,6}[ \t]{0,4}"
    r"(?i:(?:new |next |another )?(?:question|problem|exercise|example)|q|human|user|instruction|input"
    r"|assistant|вопрос|pregunta|frage|swali|问题|問題|প্রশ্ন|โจทย์|คำถาม|ప్రశ్న)"
    r"[ \t]?(?:no\. ?|#)?\d{0,4}[ \t]?[*_]{0,2}[ \t]?[:：]"
    r"|<(?:\|[^|<>\s]{1,30}\|>|/s>|end_of_turn>|start_of_turn>|eos>|｜[^｜<>\s]{1,40}｜>)"
    r"|\[/?INST\]"
)
MAX_SEGMENTS = 50
"""Run-on texts with more boundaries are read as one text after this many."""


def outside_reasoning(text: str, tags: tuple[tuple[str, str], ...]) -> list[tuple[int, int]] | None:
    """The parts of a response that are no reasoning, the last first; None: the reasoning is unfinished."""
    start, end = 0, len(text)
    parts: list[tuple[int, int]] = []
    present = [pair for pair in tags if pair[0] in text or pair[1] in text]
    if not present:
        return [(0, end)]
    opening, closing = max(present, key=lambda pair: text.rfind(pair[1]))
    while (close := text.find(closing, start)) >= 0:
        opened = text.find(opening, start, close)
        if opened > start:
            parts.append((start, opened))
        start = close + len(closing)
    if any(text.find(pair[0], start) >= 0 for pair in present):
        return None
    parts.append((start, end))
    return parts[::-1]


def segments(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The stretches between invented questions, new chat turns and end-of-text marks, in order."""
    at = start
    for _ in range(MAX_SEGMENTS):
        boundary = _BOUNDARY.search(text, at, end)
        if boundary is None:
            break
        yield at, boundary.start()
        at = boundary.end()
    yield at, end
