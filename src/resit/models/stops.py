"""Stop strings and reasoning tags: what of a model's text is the answer."""

from __future__ import annotations

from collections.abc import Sequence


def cut(text: str, stops: Sequence[str]) -> tuple[str, str | None]:
    """The text before the earliest stop string, and that stop string (None: there is none in it).

    Where two begin at the same place, the longer one is named. Empty stop strings are ignored.
    """
    place, found = len(text), None
    for stop in stops:
        start = text.find(stop, 0, place + len(stop)) if stop else -1
        if 0 <= start < place or (found and start == place and len(stop) > len(found)):
            place, found = start, stop
    return text[:place], found


def divide_reasoning(text: str, end_tag: str) -> tuple[str | None, str]:
    """The text up to and including the last end tag (None: no tag), and the answer after it, left-stripped.

    lm-eval's rule for `think_end_token`. A text without the tag is all answer: whether an unfinished
    thought may be graded is the grader's decision.
    """
    place = text.rfind(end_tag)
    if place < 0:
        return None, text
    end = place + len(end_tag)
    return text[:end], text[end:].lstrip()
