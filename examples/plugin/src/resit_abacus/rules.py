"""The grading rule `last_word`, for `resit: {rules: [last_word]}` and `resit grade --rule last_word`."""

from __future__ import annotations

from resit.grading import Policy
from resit.records import Verdict


def last_word(text: str, gold: str, policy: Policy, truncated: bool) -> Verdict:
    """Right when the last word is the gold answer's; never raises, whatever the text is."""
    words = text.split()
    if not words:
        return Verdict("last_word", None, 0.0, reason="no word")
    start = text.rindex(words[-1])
    correct = words[-1].strip(".!") == gold.split()[-1:][0] if gold.split() else False
    return Verdict("last_word", words[-1], float(correct), (start, start + len(words[-1])), "last word")
