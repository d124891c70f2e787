"""The Chinese README says what the English one says: same outline, code, links and figures."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)


@pytest.fixture(scope="module")
def english() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def chinese() -> str:
    return (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")


def outline(text: str) -> list[str]:
    """Levels of headings, rows of tables, list items: the page's shape, in order."""
    shape = re.findall(r"^(#+ |\||- )", FENCE.sub("", text), re.M)
    return [mark.strip() for mark in shape]


def code(text: str) -> list[list[str]]:
    """The lines of each block; comments are in the reader's language."""
    return [[re.sub(r"\s+# .*", "", line) for line in block.splitlines()] for block in FENCE.findall(text)]


def prose(text: str) -> str:
    return re.sub(r"<!--.*?-->", "", FENCE.sub("", text))


def links(text: str) -> list[str]:
    others = re.findall(r"\]\(([^)]+)\)", prose(text))
    return [link for link in others if not link.startswith("README")]


def literals(text: str) -> Counter[str]:
    """What stands between backticks: options, tasks, files."""
    return Counter(re.findall(r"`([^`\n]+)`", prose(text)))


def figures(text: str) -> set[str]:
    """Numbers of two digits and more, but those that are parts of names."""
    plain = re.sub(r"`[^`]*`|\([^)]*\)|[A-Za-z][\w.-]*", "", prose(text)).replace("1.35 亿", "135")
    return set(re.findall(r"\d[\d.]*\d", plain))


def test_the_pages_have_the_same_outline(english: str, chinese: str) -> None:
    assert outline(chinese) == outline(english)


def test_the_pages_have_the_same_code(english: str, chinese: str) -> None:
    assert code(chinese) == code(english)
    assert re.findall(r"<!--.*?-->", chinese) == re.findall(r"<!--.*?-->", english)


def test_the_pages_lead_to_the_same_places(english: str, chinese: str) -> None:
    assert links(chinese) == links(english)
    assert all((ROOT / link.partition("#")[0]).exists() for link in links(english) if "://" not in link)
    assert "(README.zh-CN.md)" in english
    assert "(README.md)" in chinese


def test_the_pages_name_the_same_things(english: str, chinese: str) -> None:
    assert literals(chinese) == literals(english)
    assert figures(chinese) == figures(english)
