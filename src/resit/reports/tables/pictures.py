"""Each chart of a report as a picture; needs vl-convert (extra `report`), and no network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from resit.errors import ResitError, UsageError
from resit.reports.charts.style import Spec, Theme, standalone

Kind: TypeAlias = Literal["png", "svg"]
SCALE = 2.0
"""Pixels of a PNG for each of the chart's."""


def pictures(
    charts: Mapping[str, tuple[str, Spec]], kind: Kind, theme: Theme = "light"
) -> Iterator[tuple[str, bytes]]:
    """Name and content of a picture for each chart, which is given with its title.

    Raises UsageError without vl-convert, ResitError where a chart cannot be drawn.
    """
    try:
        import vl_convert
    except ImportError:
        raise UsageError("pictures of charts need vl-convert", "pip install 'resit[report]'") from None
    for name, (title, spec) in charts.items():
        whole = standalone(spec, title, theme)
        try:
            if kind == "png":
                yield name, vl_convert.vegalite_to_png(whole, scale=SCALE, allowed_base_urls=[])
            else:
                yield name, vl_convert.vegalite_to_svg(whole, allowed_base_urls=[]).encode()
        except ValueError as error:
            raise ResitError(f"the chart {name} cannot be drawn: {error}") from error
