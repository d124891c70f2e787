"""What all charts share: colours by role, and a quiet frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

Theme: TypeAlias = Literal["light", "dark", "page"]
Spec: TypeAlias = dict[str, Any]
"""A Vega-Lite specification. Colours are roles (`@right`) until `painted`."""

COLOURS: Mapping[str, tuple[str, str]] = {
    "ink": ("#1d2430", "#e8eaee"),
    "muted": ("#5b6575", "#a3acba"),
    "line": ("#d9dde3", "#343b47"),
    "paper": ("#ffffff", "#171b22"),
    "right": ("#0b6e99", "#5ab4dc"),
    "wrong": ("#c2570c", "#f0914a"),
    "shade": ("#8a94a3", "#79849a"),
    "run1": ("#0b6e99", "#5ab4dc"),
    "run2": ("#c2570c", "#f0914a"),
    "run3": ("#1b7f5c", "#4cc29a"),
    "run4": ("#9a4f87", "#d891c3"),
    "run5": ("#6b6f00", "#c9cc5a"),
    "run6": ("#4a55a8", "#9aa5f0"),
}
"""Role to its colour on light and on dark ground. Series are told apart with all common colour blindness
(blue, vermilion, bluish green, reddish purple: Okabe and Ito's order, darkened to 4.5:1 on white)."""

RUNS: Sequence[str] = tuple(f"@run{n}" for n in range(1, 7))
"""The colours of series."""

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"


def colour(role: str, theme: Theme) -> str:
    """A role's colour; for the page a CSS variable, so that a change of theme needs no new chart."""
    if theme == "page":
        return f"var(--{role})"
    return COLOURS[role][theme == "dark"]


def painted(spec: Any, theme: Theme) -> Any:
    """The specification with every role (`@ink`) turned into its colour."""
    if isinstance(spec, dict):
        return {key: value if key == "data" else painted(value, theme) for key, value in spec.items()}
    if isinstance(spec, list):
        return [painted(value, theme) for value in spec]
    if isinstance(spec, str) and spec.startswith("@"):
        return colour(spec[1:], theme)
    return spec


def chart(values: Sequence[Mapping[str, Any]], height: int, **parts: Any) -> Spec:
    """A specification as wide as its place, over these rows, in the common frame."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "data": {"values": [dict(row) for row in values]},
        "width": "container",
        "height": height,
        "background": "transparent",
        "autosize": {"type": "fit-x", "contains": "padding"},
        **parts,
        "config": _CONFIG,
    }


def standalone(spec: Spec, title: str, theme: Theme = "light") -> Spec:
    """The same chart as a picture of its own: a fixed width, a title, paper beneath it."""
    whole: Spec = painted(
        {**spec, "width": 560, "autosize": "pad", "background": "@paper", "padding": 16, "title": title},
        theme,
    )
    return whole


def percent_axis(field: str, title: str, **more: Any) -> dict[str, Any]:
    """A quantitative encoding of fractions, shown in per cent."""
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "axis": {"format": ".0%", "tickCount": 5},
        **more,
    }


_CONFIG: Mapping[str, Any] = {
    "font": _FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": "@muted",
        "titleColor": "@muted",
        "titleFontWeight": "normal",
        "titleFontSize": 12,
        "labelFontSize": 12,
        "gridColor": "@line",
        "domainColor": "@line",
        "tickColor": "@line",
        "titlePadding": 10,
        "labelLimit": 220,
    },
    "axisY": {"ticks": False, "domain": False, "labelPadding": 8},
    "legend": {
        "labelColor": "@ink",
        "titleColor": "@muted",
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "orient": "top",
        "title": None,
        "symbolType": "circle",
        "symbolOpacity": 1,
        "labelLimit": 260,
        "columns": 2,
    },
    "header": {"labelColor": "@ink", "titleColor": "@muted", "labelFontSize": 12},
    "title": {"color": "@ink", "anchor": "start", "fontSize": 14, "fontWeight": 600, "offset": 12},
    "text": {"color": "@ink", "fontSize": 12},
}
