"""Which texts a file holds when it cannot hold all: the telling questions first, one text an answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from resit.records import SampleScore
from resit.reports.page.data import Row, Side
from resit.reports.page.details import tally
from resit.reports.page.gathering import Gathered

CAPS = (1024, 16, 8, 4, 2, 1)
"""Samples of each question that a file may hold; the most that fit are taken."""
_BESIDE = 420
"""Characters of JSON that a sample takes beside its text, roughly."""
_PACKED = 0.42
"""Characters in the file for one of JSON: deflated to a third, then in base64."""


def samples_each(gathered: Iterable[Gathered], budget: int) -> int:
    """The most samples of each question that fit into so many characters of the file, of `CAPS`."""
    found = list(gathered)
    lengths = [length for task in found for samples in task.lengths for length, *_ in samples]
    sizes = [side["samples"] for task in found for row in task.rows.rows.values() for side in _sides(row)]
    mean = sum(lengths) / len(lengths) + _BESIDE if lengths else 0
    fitting = (cap for cap in CAPS if sum(min(cap, size) for size in sizes) * mean * _PACKED <= budget)
    return next(fitting, CAPS[-1])


def representatives(scores: Sequence[SampleScore], rule: str, cap: int) -> set[int]:
    """At most `cap` repeats: the first of each answer, most frequent first, then the others in order."""
    if len(scores) <= cap:
        return {score.repeat for score in scores}
    measured = [score for score in scores if score.error is None]
    first = [vote["repeats"][0] for vote in sorted(tally(measured, rule), key=lambda vote: -vote["count"])]
    others = [score.repeat for score in scores]
    return set(list(dict.fromkeys([*first, *others]))[:cap])


def rank(row: Row, rule: int) -> int:
    """How early a question's texts are held: flipped, rules disagree, not measured or read, wrong, right."""
    sides = _sides(row)
    means = {side["right"][rule] / side["samples"] for side in sides if side["samples"]}
    signs = (
        len(means) > 1,
        any(side["disagree"] for side in sides),
        any(side["errored"] or side["truncated"] or side["unread"][rule] for side in sides),
        any(side["right"][rule] < side["samples"] for side in sides),
    )
    return next((place for place, sign in enumerate(signs) if sign), len(signs))


def _sides(row: Row) -> list[Side]:
    return [side for side in row["sides"] if side is not None]
