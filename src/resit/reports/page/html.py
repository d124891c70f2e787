"""The page's HTML from its summary. Everything it needs is inside: style, scripts, charts, data."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from resit.errors import UsageError
from resit.reports.charts.style import COLOURS
from resit.reports.page.data import Summary
from resit.reports.page.packing import ascii_json

STYLES = ("base.css", "summary.css", "browser.css", "print.css")
SCRIPTS = (
    "dom.js",
    "text.js",
    "spans.js",
    "query.js",
    "theme.js",
    "charts.js",
    "votes.js",
    "prompt.js",
    "detail.js",
    "list.js",
    "browser.js",
    "keys.js",
    "main.js",
)
"""The page's modules, each after those that it imports. One that makes `source` comes before `main.js`."""
SOURCE = "source_file.js"


@cache
def static(name: str) -> str:
    """The text of one of the page's files."""
    return resources.files("resit.reports.page").joinpath("static", name).read_text(encoding="utf-8")


def script(names: Sequence[str]) -> str:
    """These modules as one: imports between them and exports fall away, since names are unique."""
    text = "\n".join(static(name) for name in names)
    text = re.sub(r"^import .*?;$\n?", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^export (?=(?:async )?(?:function|const|let|class) )", "", text, flags=re.MULTILINE)


@cache
def chart_library() -> str:
    """Vega, Vega-Lite and vega-embed as one script. UsageError where the package that has them is absent."""
    try:
        import vl_convert
    except ImportError:
        raise UsageError(
            "the page's charts need vl-convert, which is not installed", "pip install 'resit[report]'"
        ) from None
    bundle: str = vl_convert.javascript_bundle(
        "window.vegaEmbed = vegaEmbed;"  # the rest of the library is reached through it
    )
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def palette() -> str:
    """The colours of both themes as CSS variables."""
    light, dark = ("".join(f"--{role}:{pair[place]};" for role, pair in COLOURS.items()) for place in (0, 1))
    return (
        f":root{{{light}}}\n:root[data-theme=dark]{{{dark}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n"
    )


def embedded(value: Any) -> str:
    """JSON that may stand inside a script element."""
    return ascii_json(value).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def policy(scripts: Sequence[str], connect: str = "'none'", load: str = "") -> str:
    """The content security policy that lets just these inline scripts run.

    `connect`: whom they may ask; `load`: where other scripts may come from.
    """
    digests = (hashlib.sha256(text.encode()).digest() for text in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {f'{allowed} {load}'.strip()}; style-src 'unsafe-inline'; "
        f"img-src data:; connect-src {connect}; base-uri 'none'; form-action 'none'"
    )


def file_page(summary: Summary, specs: Mapping[str, Any], rows: str, blocks: Sequence[str]) -> str:
    """The self-contained page: `rows` and `blocks` are packed."""
    scripts = [chart_library(), script([*SCRIPTS[:-1], SOURCE, SCRIPTS[-1]])]
    return page(summary, scripts, charts=embedded(specs), rows=rows, blocks=blocks)


def page(
    summary: Summary, scripts: Sequence[str], connect: str = "'none'", load: str = "", **more: Any
) -> str:
    """The page around a summary, with these scripts inline; see `policy` for `connect` and `load`."""
    template = _environment().get_template("page.html")
    styles = palette() + "".join(static(name) for name in STYLES)
    html: str = template.render(
        summary=summary,
        summary_json=embedded(summary),
        policy=policy(scripts, connect, load),
        styles=styles,
        scripts=scripts,
        **more,
    )
    return html.encode("utf-8", "backslashreplace").decode("utf-8")


def summary_part(summary: Summary) -> str:
    """What stands above the sample browser, alone."""
    part: str = _environment().get_template("summary.html").render(summary=summary)
    return part


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("resit.reports.page"),
        autoescape=select_autoescape(("html",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = lambda value: f"{100 * value:.1f}"
    return environment
