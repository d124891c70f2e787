"""The viewer's own page, the table of runs, and the report's page with the server as its source."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import NamedTuple

from resit.reports.page import html
from resit.reports.page.data import Summary
from resit.reports.viewer.access import HEADERS

SOURCE = "source_server.js"


class StaticFile(NamedTuple):
    """A file of the viewer's own: the only ones that have an address."""

    kind: str
    text: Callable[[], str]


@cache
def own(name: str) -> str:
    """The text of one of the viewer's files."""
    return resources.files("resit.reports.viewer").joinpath("static", name).read_text(encoding="utf-8")


STATIC = {
    "runs.js": StaticFile("text/javascript", lambda: own("runs.js")),
    "runs.css": StaticFile("text/css", lambda: own("runs.css")),
    "palette.css": StaticFile("text/css", html.palette),
}


class Page(NamedTuple):
    """A page, and the content security policy that fits it."""

    text: str
    policy: str


def runs_page() -> Page:
    """The table of runs."""
    return Page(own("runs.html"), HEADERS["content-security-policy"])


def report_page(summary: Summary) -> Page:
    """The report's page, which asks this server for rows and samples."""
    names = [*html.SCRIPTS[:-1]]
    scripts = [html.chart_library(), html.script(names) + own(SOURCE) + html.script(html.SCRIPTS[-1:])]
    connect = "'self'"
    policy = f"{html.policy(scripts, connect)}; frame-ancestors 'none'"
    return Page(html.page(summary, scripts, connect), policy)
