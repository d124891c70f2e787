"""Votes per question: how many samples of each are right, and what the vote then elects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from resit.reports.charts.style import Spec, chart

OUTCOMES = ("vote right", "tie", "vote wrong")


def outcome(right: int, wrong: Sequence[int]) -> str:
    """What a question's vote elects, from the votes for the right answer and for each wrong one."""
    most = max(wrong, default=0)
    if right == most:
        return "tie" if right else "vote wrong"
    return "vote right" if right > most else "vote wrong"


def vote_chart(values: Sequence[Mapping[str, Any]]) -> Spec:
    """Rows are `run`, `share` (middle of a bin of the share of right samples), `outcome`, `questions`."""
    runs = list(dict.fromkeys(row["run"] for row in values))
    return chart(
        values,
        200,
        mark={"type": "bar", "cornerRadiusEnd": 2, "width": {"band": 0.9}},
        encoding={
            "x": {
                "field": "share",
                "type": "ordinal",
                "title": "share of a question's samples that are right",
                "axis": {"labelAngle": 0, "labelOverlap": True},
                "sort": None,
            },
            "y": {
                "field": "questions",
                "type": "quantitative",
                "title": "questions",
                "axis": {"tickMinStep": 1},
            },
            "color": {
                "field": "outcome",
                "scale": {"domain": [*OUTCOMES], "range": ["@right", "@shade", "@wrong"]},
                "legend": {"symbolType": "square", "columns": 3},
            },
            "order": {"field": "rank"},
            "tooltip": [{"field": "run"}, {"field": "share"}, {"field": "outcome"}, {"field": "questions"}],
            **({"row": {"field": "run", "title": None, "sort": None}} if len(runs) > 1 else {}),
        },
    )
