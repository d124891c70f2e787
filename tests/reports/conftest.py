"""The browser that pages and viewer are tried in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="module")  # no longer: while it is open, no other test of the process can use asyncio
def chromium() -> Iterator[Any]:
    """A browser; skips where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs `pip install 'resit[test]'`")
    if not CHROMIUM.exists():
        pytest.skip(f"needs a browser at {CHROMIUM}: `make test` installs it")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield browser
        browser.close()
