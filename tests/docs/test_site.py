"""The documentation builds without a warning, holds what it must, and asks no other machine for anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from resit.tasks import index

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; building it strictly fails at the first warning, such as a broken link or anchor."""
    pytest.importorskip("material", reason="needs `pip install 'resit[docs]'`")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_every_task_has_a_page_with_its_frame(site: Path) -> None:
    for name in index():
        page = (site / "protocols" / f"{name}.html").read_text("utf-8")
        assert "sha256 of this frame" in page, name
        assert "‹" in page, name


def test_formulas_are_set_and_no_mark_is_left(site: Path) -> None:
    assert (site / "statistics.html").read_text("utf-8").count("<math") >= 8
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        assert 'class="arithmatex"' not in text, page
        assert not re.search(r"<!-- (test|file|given):", text), page


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loading = re.compile(
        r'<(?:script|img|iframe|source)\b[^>]*\bsrc="(?:https?:)?//|<link\b[^>]*\bhref="https?://'
    )
    for page in site.rglob("*.html"):
        found = loading.search(page.read_text("utf-8"))
        assert found is None, f"{page}: {found and found[0]}"
