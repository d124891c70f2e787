"""The viewer's own files: nothing inline, nothing that makes HTML of text, a policy that fits."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from resit.reports.page import html
from resit.reports.viewer.pages import NOTHING, SOURCE, STATIC, own, report_page, runs_page

from .conftest import FIRST

SCRIPTS = ("runs.js", SOURCE)


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_make_no_html_of_text(name: str) -> None:
    for forbidden in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
    ):
        assert forbidden not in own(name)


def test_the_table_has_nothing_inline() -> None:
    page = runs_page()
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page.text) == []
    named = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert named
    assert all(name.removeprefix("/static/") in STATIC for name in named)
    assert "unsafe" not in page.policy


def test_a_report_runs_only_its_own_script_and_asks_only_this_server() -> None:
    page = report_page(NOTHING)
    scripts = re.findall(r"<script(?: type=\"?module\"?)?>(.*?)</script>", page.text, re.DOTALL)
    hashes = {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts}
    parts = {part.split()[0]: part.split()[1:] for part in page.policy.split("; ")}
    assert set(parts["script-src"]) == {f"'sha256-{digest}'" for digest in hashes} | {"'self'"}
    assert parts["connect-src"] == ["'self'"]
    assert parts["default-src"] == parts["frame-ancestors"] == parts["base-uri"] == ["'none'"]


def test_no_name_of_the_joined_script_is_there_twice() -> None:
    names = [*html.SCRIPTS[:-1]]
    text = html.script(names) + own(SOURCE) + html.script(html.SCRIPTS[-1:])
    found = Counter(re.findall(r"^(?:async )?(?:function|const|let|class) (\w+)", text, re.MULTILINE))
    assert [name for name, count in found.items() if count > 1] == []
    assert {"ServerSource", "again", "Browser"} <= set(found)


def test_every_file_of_the_folder_is_served_or_a_part_of_a_page() -> None:
    folder = resources.files("resit.reports.viewer").joinpath("static")
    assert {file.name for file in folder.iterdir()} == (set(STATIC) - {"palette.css"}) | {"runs.html", SOURCE}


@pytest.mark.parametrize("name", STATIC)
def test_each_file_is_served_as_what_it_is(
    client_of: Callable[..., Any], run_folder: Callable[..., Path], name: str
) -> None:
    run_folder("first", FIRST)
    response = client_of().http.get(f"/static/{name}")
    assert response.status_code == 200
    assert response.headers["content-type"].partition(";")[0] == STATIC[name].kind
    assert response.text
