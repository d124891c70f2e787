"""The browser that pages and viewer are tried in."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")  # no longer: while it is open, no other test of the process can use asyncio
def chromium() -> Iterator[Any]:
    """A browser. Without one its tests fail: what is missing can be installed."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    assert program, "needs Chromium in PATH: `make test` installs it on Debian"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()
