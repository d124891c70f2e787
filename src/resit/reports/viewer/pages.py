"""The viewer's own page, the table of runs, and the report's page with the server as its source."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from importlib import resources
from typing import NamedTuple

from resit.errors import ResitError
from resit.reports.page import html
from resit.reports.page.data import Held, Summary
from resit.reports.viewer.access import HEADERS
from resit.reports.viewer.workshop import Workshop

SOURCE = "source_server.js"
HERE = "'self'"
"""This server, as a policy calls it."""
LIBRARY_SECONDS = 120.0


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
    "icon.svg": StaticFile("image/svg+xml", lambda: own("icon.svg")),
    "palette.css": StaticFile("text/css", html.palette),
}


NOTHING = Summary(
    title="",
    resit="",
    runs=[],
    tasks=[],
    gaps=[],
    gaps_claim="",
    charts=[],
    notes=[],
    held=Held(texts=0, of=0, rule=""),
    live=False,
)
"""What a page is made of to have its templates ready."""


class ChartLibrary:
    """The script that draws charts, put together in a process that ends with it: that takes much memory."""

    def __init__(self) -> None:
        self._made: Future[str] = Future()
        self._workshop = Workshop()

    def make(self) -> None:
        """Put it together."""
        try:
            self._made.set_result(self._workshop.call(html.chart_library, seconds=LIBRARY_SECONDS))
        except ResitError as error:
            self._made.set_exception(error)
        finally:
            self.close()

    def close(self) -> None:
        """Stop that process, and start none any more. Safe to call twice."""
        self._workshop.close()

    @property
    def ready(self) -> bool:
        """Whether the script is there, or why not is known."""
        return self._made.done()

    def text(self) -> str:
        """The script, when it is ready. Raises ResitError where it cannot be had."""
        return self._made.result(0)


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
    scripts = [html.script(names) + own(SOURCE) + html.script(html.SCRIPTS[-1:])]
    page = html.page(summary, scripts, HERE, HERE)
    return Page(page, f"{html.policy(scripts, HERE, HERE)}; frame-ancestors 'none'")
