"""Score by rule, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from resit.reports.charts.style import RUNS, Spec, chart, percent_axis


def score_chart(values: Sequence[Mapping[str, Any]], coloured: bool = True) -> Spec:
    """Rows are `run`, `rule`, `score`, `low`, `high` (the last two may be None); one line a rule and run.

    Not `coloured`: `rule` names the line alone, as in a table over many runs.
    """
    runs = list(dict.fromkeys(row["run"] for row in values))
    rules = list(dict.fromkeys(row["rule"] for row in values))
    several = coloured and len(runs) > 1
    tooltip = [
        {"field": "run", "title": "run"},
        {"field": "rule", "title": "rule"},
        {"field": "score", "title": "score", "format": ".2%"},
        {"field": "low", "title": "from", "format": ".2%"},
        {"field": "high", "title": "to", "format": ".2%"},
    ]
    colour: Any = (
        {
            "field": "run",
            "scale": {"domain": runs, "range": [*RUNS]},
            "legend": {"symbolType": "circle"} if several else None,
        }
        if coloured
        else {"value": "@run1"}
    )
    shared: dict[str, Any] = {
        "y": {"field": "rule", "type": "nominal", "sort": rules, "title": None},
        "color": colour,
        **({"yOffset": {"field": "run", "sort": runs}} if several else {}),
    }
    domain = _domain(values)
    return chart(
        values,
        max(80, len(values) * (18 if several else 46 if coloured else 30)),
        encoding=shared,
        layer=[
            {
                "mark": {"type": "rule", "strokeWidth": 7, "opacity": 0.28, "strokeCap": "round"},
                "encoding": {
                    "x": percent_axis("low", "score, with its 95 % interval", scale={"domain": domain}),
                    "x2": {"field": "high"},
                    "tooltip": tooltip,
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
                "encoding": {"x": {"field": "score", "type": "quantitative"}, "tooltip": tooltip},
            },
        ],
    )


def _domain(values: Sequence[Mapping[str, Any]]) -> list[float]:
    """From a little below the lowest limit to a little above the highest, within 0 to 1."""
    found = [v for row in values for v in (row["score"], row["low"], row["high"]) if v is not None]
    margin = 0.15 * (max(found) - min(found)) + 0.01
    return [max(0.0, round(min(found) - margin, 3)), min(1.0, round(max(found) + margin, 3))]
