"""Search finds what a plain reading of every text finds, and stops when nobody waits."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resit.reports.viewer import finding, search
from resit.reports.viewer.files import RunFiles
from resit.reports.viewer.finding import Hunts
from resit.reports.viewer.index import RunIndex, Snapshot
from resit.reports.viewer.search import Needle, scan
from resit.runs.folder import question_to
from resit.runs.journal import to_line

from .conftest import generation, question, write_lines

LETTERS = st.text(alphabet='abnrtuXN019 é É"\\/\n\t\x00\u2028🍐', max_size=12)


def index(folder: Path, texts: list[str]) -> Snapshot:
    write_lines(
        folder / "generations.jsonl", (to_line(generation(n, 0, text)) for n, text in enumerate(texts))
    )
    return RunIndex(RunFiles(folder.resolve())).refresh()


def found(taken: Snapshot, text: str) -> list[int]:
    mask = np.zeros(len(taken.tasks), bool)
    for _, so_far in scan(taken, Needle(text)):
        mask = so_far
    return np.nonzero(mask)[0].tolist()


@given(texts=st.lists(LETTERS, max_size=8), needle=LETTERS.filter(bool))
@settings(max_examples=300)
def test_it_finds_what_reading_finds(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], needle: str
) -> None:
    taken = index(tmp_path_factory.mktemp("run"), texts)
    assert found(taken, needle) == [n for n, text in enumerate(texts) if needle.lower() in text.lower()]


@given(texts=st.lists(LETTERS, min_size=1, max_size=8), start=st.integers(0, 9), length=st.integers(1, 6))
def test_it_finds_every_part_of_a_text(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], start: int, length: int
) -> None:
    needle = texts[0][start : start + length]
    if needle:
        taken = index(tmp_path_factory.mktemp("run"), texts)
        assert 0 in found(taken, needle.upper() if needle.upper().lower() == needle.lower() else needle)


@pytest.mark.parametrize(
    ("text", "needle", "hit"),
    [
        ("one\ntwo", "n", True),
        ("\n", "n", False),
        ("\\n", "\\n", True),
        ("\n", "\\n", False),
        ('say "yes"', '"yes"', True),
        ("\ud800 broken é", "BROKEN É", True),
        ("\ud800 broken é", "u00e9", False),
        ("\x00", "\x00", True),
        ("\x00", "0000", False),
        ("the text", '"text"', False),
        ("Straße", "STRASSE", False),
        ("ÉCOLE", "école", True),
    ],
)
def test_escapes_are_neither_missed_nor_found(tmp_path: Path, text: str, needle: str, hit: bool) -> None:
    assert found(index(tmp_path, [text]), needle) == ([0] if hit else [])


def test_keys_hashes_and_errors_are_not_found(tmp_path: Path) -> None:
    line = to_line(generation(0, 0, "plain", error="503 needle"))
    write_lines(tmp_path / "generations.jsonl", [line])
    taken = RunIndex(RunFiles(tmp_path.resolve())).refresh()
    assert [found(taken, text) for text in ("doc_hash", "fruit", "000000", "needle", "plain")] == [[]] * 4 + [
        [0]
    ]


def test_questions_are_searched_and_exemplars_are_not(tmp_path: Path) -> None:
    write_lines(tmp_path / "prompts.jsonl", (question_to(question(n)) for n in range(3)))
    taken = index(tmp_path, ["a", "b", "c"])
    assert found(taken, "BASKET 1 holds") == [1]
    assert found(taken, "tray") == []


def test_it_reads_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "BLOCK", 300)
    taken = index(tmp_path, [f"text {n} " + "x" * (n * 40) for n in range(30)])
    shares = [share for share, _ in scan(taken, Needle("text"))]
    assert len(shares) > 10
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert found(taken, "text 2") == [2, *range(20, 30)]


def test_a_search_goes_on_until_nobody_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "BLOCK", 300)
    monkeypatch.setattr(finding, "PATIENCE", 600)
    taken = index(tmp_path, ["needle"] * 400)
    allowed = threading.Semaphore(20)
    real = search._search

    def slowly(*arguments: object) -> None:
        allowed.acquire()
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(search, "_search", slowly)
    hunts = Hunts()

    def asked_until_more(known: int) -> tuple[int, float]:
        """How much is found, and the share that was searched, once it is more than is known."""
        for _ in range(600):
            mask, share = hunts.find("run", taken, "needle", 0.1)
            if mask.sum() > known:
                return int(mask.sum()), share
        raise AssertionError("the search does not go on")

    found, share = asked_until_more(0)
    assert 0 < share < 1
    assert found < 400
    allowed.release(20)
    more, further = asked_until_more(found)
    assert share <= further < 1
    assert more < 400
    (hunt,) = hunts._hunts.values()
    monkeypatch.setattr(finding, "PATIENCE", -1)
    for _ in range(600):
        allowed.release()
        if hunt.stopped:
            break
        time.sleep(0.1)
    assert hunt.stopped, "nobody waits"
    monkeypatch.setattr(finding, "PATIENCE", 600)
    allowed.release(10_000)
    mask, share = hunts.find("run", taken, "needle", 120)
    assert share == 1
    assert mask.all()
