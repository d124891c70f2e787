"""Answer length against correctness: are long answers wrong more often?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

from resit.reports.charts.style import RUNS, Spec, chart, percent_axis
from resit.stats import estimate

Measured: TypeAlias = tuple[int, float, Hashable]
"""Characters of a response, its score, and its question."""

BINS = 10
"""Tenths of the samples, so that every point rests on as many."""


def length_bins(samples: Iterable[Measured], bins: int = BINS) -> list[dict[str, Any]]:
    """Samples in bins of equal number: `from`, `to`, `samples`, `questions`, `score`, `low`, `high`.

    Score and limits are those of `stats.estimate`: the mean over the bin's questions of the mean of their
    samples in it, and the limits None where all are of one question. Samples of one length stay in one bin,
    so there may be fewer bins. Empty for fewer than two lengths.
    """
    ordered = sorted(samples, key=itemgetter(0))
    if not ordered or ordered[0][0] == ordered[-1][0]:
        return []
    share = max(1, len(ordered) // bins)
    found: list[list[Measured]] = [[]]
    for sample in ordered:
        if len(found[-1]) >= share and sample[0] != found[-1][-1][0] and len(found) < bins:
            found.append([])
        found[-1].append(sample)
    return [_bin(members) for members in found]


def _bin(members: Sequence[Measured]) -> dict[str, Any]:
    groups: dict[Hashable, list[float]] = defaultdict(list)
    for _, score, question in members:
        groups[question].append(score)
    found = estimate([*groups.values()])
    middle = members[len(members) // 2][0]
    return {
        "from": members[0][0],
        "to": members[-1][0],
        "middle": middle,
        "samples": found.samples,
        "questions": found.questions,
        "score": found.value,
        "low": found.ci_low,
        "high": found.ci_high,
    }


def length_chart(values: Sequence[Mapping[str, Any]]) -> Spec:
    """Rows are `length_bins` of each `run`."""
    runs = list(dict.fromkeys(row["run"] for row in values))
    x = {
        "field": "middle",
        "type": "quantitative",
        "title": "characters of the response",
        "axis": {"grid": False, "tickCount": 6, "format": "~s"},
        "scale": {"zero": False, "nice": False, "padding": 12},
    }
    tooltip = [
        {"field": "run"},
        {"field": "from", "title": "characters from"},
        {"field": "to", "title": "to"},
        {"field": "samples"},
        {"field": "questions"},
        {"field": "score", "title": "right", "format": ".1%"},
    ]
    colour = {
        "field": "run",
        "scale": {"domain": runs, "range": [*RUNS]},
        "legend": {"symbolType": "circle"} if len(runs) > 1 else None,
    }
    return chart(
        values,
        230,
        encoding={"x": x, "color": colour},
        layer=[
            {
                "mark": {"type": "rule", "strokeWidth": 5, "opacity": 0.25, "strokeCap": "round"},
                "encoding": {"y": percent_axis("low", "share right"), "y2": {"field": "high"}},
            },
            {
                "mark": {"type": "line", "strokeWidth": 1.5, "opacity": 0.6},
                "encoding": {"y": {"field": "score", "type": "quantitative"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
                "encoding": {"y": {"field": "score", "type": "quantitative"}, "tooltip": tooltip},
            },
        ],
    )
