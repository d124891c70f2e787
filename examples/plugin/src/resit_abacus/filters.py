"""The filter `last_word`, for a task's `filter_list`."""

from __future__ import annotations

from resit.grading.filters import Step


def last_word(strip: str = ".!") -> Step:
    """The last word of each response, without the marks in `strip`."""
    return Step("last_word", each=lambda text: text.split()[-1].strip(strip) if text.split() else "")
