"""maj@k, pass@k and pass^k, each with its band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from resit.reports.charts.style import Spec, chart, percent_axis


def sampling_chart(values: Sequence[Mapping[str, Any]]) -> Spec:
    """Rows are `run`, `curve` (maj@k, …), `k`, `value`, `low`, `high`."""
    runs = list(dict.fromkeys(row["run"] for row in values))
    curves = ["maj@k", "pass@k", "pass^k"]
    colour = {
        "field": "curve",
        "scale": {"domain": curves, "range": ["@run1", "@run3", "@run2"]},
        "legend": {"symbolType": "square", "symbolOpacity": 1, "columns": 3},
    }
    tooltip = [
        {"field": "run"},
        {"field": "curve"},
        {"field": "k"},
        {"field": "value", "title": "score", "format": ".2%"},
        {"field": "low", "title": "from", "format": ".2%"},
        {"field": "high", "title": "to", "format": ".2%"},
    ]
    ticks = [2**n for n in range(11) if 2**n <= max(row["k"] for row in values)]
    x = {
        "field": "k",
        "type": "quantitative",
        "scale": {"type": "log", "base": 2, "nice": False},
        "axis": {"values": ticks, "format": "d", "grid": False},
        "title": "k, samples a question",
    }
    several = {"strokeDash": {"field": "run", "sort": None, "legend": {"symbolType": "stroke"}}}
    return chart(
        values,
        250,
        encoding={"x": x, "color": colour, **(several if len(runs) > 1 else {})},
        layer=[
            {
                "mark": {"type": "area", "opacity": 0.16},
                "encoding": {
                    "y": percent_axis("low", "score", scale={"zero": False}),
                    "y2": {"field": "high"},
                    "detail": {"field": "run"},
                },
            },
            {
                "mark": {"type": "line", "strokeWidth": 2},
                "encoding": {"y": {"field": "value", "type": "quantitative"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0},
                "encoding": {"y": {"field": "value", "type": "quantitative"}, "tooltip": tooltip},
            },
        ],
    )
