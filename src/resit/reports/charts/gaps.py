"""Gaps of models as a forest plot; what each design cannot see is shaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from resit.reports.charts.style import Spec, chart


def gap_chart(values: Sequence[Mapping[str, Any]]) -> Spec:
    """Rows are `model`, `gap`, `low`, `high`, `detectable`, in points; the order is kept."""
    tooltip = [
        {"field": "model"},
        {"field": "gap", "title": "gap, points", "format": "+.2f"},
        {"field": "low", "title": "from", "format": "+.2f"},
        {"field": "high", "title": "to", "format": "+.2f"},
        {"field": "detectable", "title": "detectable from", "format": ".2f"},
    ]
    rows = [{**row, "unseen_from": -row["detectable"], "unseen_to": row["detectable"]} for row in values]
    y = {"field": "model", "type": "nominal", "sort": None, "title": None}
    return chart(
        rows,
        30 * max(2, len(rows)),
        layer=[
            {
                "mark": {"type": "bar", "color": "@shade", "opacity": 0.22, "height": {"band": 1}},
                "encoding": {
                    "y": y,
                    "x": {
                        "field": "unseen_from",
                        "type": "quantitative",
                        "title": "gap in points; shaded: smaller than the design can see",
                        "axis": {"tickCount": 8},
                    },
                    "x2": {"field": "unseen_to"},
                    "tooltip": tooltip,
                },
            },
            {"mark": {"type": "rule", "color": "@muted"}, "encoding": {"x": {"datum": 0}}},
            {
                "mark": {"type": "rule", "strokeWidth": 3, "color": "@run1"},
                "encoding": {
                    "y": y,
                    "x": {"field": "low", "type": "quantitative"},
                    "x2": {"field": "high"},
                    "tooltip": tooltip,
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 90, "color": "@run1", "opacity": 1},
                "encoding": {"y": y, "x": {"field": "gap", "type": "quantitative"}, "tooltip": tooltip},
            },
        ],
    )
