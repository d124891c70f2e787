"""The viewer in a real browser: the table, comparing, the gap, a run's page as it grows, the keyboard."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from resit import jsonl
from resit.reports.viewer import finding, search
from resit.runs.folder import question_to
from resit.runs.journal import to_line

from .conftest import FIRST, SECOND, generation, question
from .test_viewer_answers import HOSTILE

pytestmark = pytest.mark.slow
WAIT = 20_000


@pytest.fixture
def opened(chromium: Any, served_here: Callable[..., str]) -> Iterator[Callable[..., Any]]:
    """Open the viewer over a folder; at the end no page has complained or asked another place."""
    contexts, complaints, asked = [], [], []

    def open_page(root: Path, path: str = "/", width: int = 1300, **options: Any) -> Any:
        address = served_here(root)
        context = chromium.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append((address, request.url)))
        page.goto(f"{address}{path}")
        page.wait_for_selector("#rows tr")
        return page

    yield open_page
    for context in contexts:
        context.close()
    refusals = [text for text in complaints if "400 (Bad Request)" in text or "409 (Conflict)" in text]
    assert [text for text in complaints if text not in refusals] == []
    assert [url for address, url in asked if not url.startswith((address, "data:"))] == []


def names(page: Any) -> list[str]:
    return [text.strip() for text in page.locator("#rows td.name a").all_inner_texts()]


def table_shows(page: Any, expected: list[str]) -> None:
    wanted = "\n".join(expected)
    shown = "[...document.querySelectorAll('#rows td.name a')].map((link) => link.textContent)"
    page.wait_for_function(f"wanted => {shown}.join('\\n') === wanted", arg=wanted)


def listed(page: Any, expected: list[int]) -> None:
    page.wait_for_function(
        """wanted => {
            const rows = [...document.querySelectorAll('#rows .row')];
            rows.sort((a, b) => a.ariaPosInSet - b.ariaPosInSet);
            return rows.map((row) => row.dataset.id.split('/').pop()).join() === wanted;
        }""",
        arg=",".join(map(str, expected)),
    )


def ready(page: Any) -> None:
    page.wait_for_selector("html[data-ready]")


@pytest.fixture
def runs(run_folder: Callable[..., Path]) -> Path:
    run_folder("first", FIRST, model="m")
    run_folder("second", SECOND, model="m")
    run_folder("other", SECOND, num_fewshot=5)
    return run_folder("veg", SECOND, task="veg", model="m").parent


def test_the_table_is_searched_sorted_and_walked_by_keyboard(opened: Callable[..., Any], runs: Path) -> None:
    page = opened(runs)
    table_shows(page, ["first", "other", "second", "veg"])
    page.keyboard.press("/")
    page.keyboard.type("VEG")
    table_shows(page, ["veg"])
    page.keyboard.press("Escape")
    table_shows(page, ["first", "other", "second", "veg"])
    page.get_by_role("button", name="Score").click()
    page.wait_for_selector("th[aria-sort=descending] >> text=Score")
    table_shows(page, ["veg", "second", "other", "first"])
    page.get_by_role("button", name="Score").click()
    table_shows(page, ["first", "other", "second", "veg"])
    for key in "jjkj":
        page.keyboard.press(key)
    assert page.locator("tr.current td.name").inner_text() == "other"
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    ready(page)
    assert page.url.endswith("#task=fruit") or "/report?runs=" in page.url
    listed(page, [0, 1, 2, 3, 4, 5])


def test_two_are_ticked_compared_and_opened_side_by_side(opened: Callable[..., Any], runs: Path) -> None:
    page = opened(runs)
    page.keyboard.press("j")
    page.keyboard.press("x")
    assert page.locator("#compare").is_disabled()
    page.get_by_label("Tick second fruit").check()
    page.keyboard.press("c")
    page.wait_for_selector("#outcome .verdict >> text=Not distinguishable")
    assert "questions are better in" in page.inner_text("#outcome ul")
    page.keyboard.press("s")
    ready(page)
    listed(page, [1, 2, 5])
    assert page.locator('[data-show="flipped"]').get_attribute("aria-pressed") == "true"
    page.keyboard.press("Enter")
    assert page.locator("#detail .side").count() == 2
    page.get_by_role("link", name="← Runs").click()
    page.wait_for_selector("#rows tr")


def test_a_gap_is_shown_and_a_refusal_has_its_reason(opened: Callable[..., Any], runs: Path) -> None:
    page = opened(runs)
    page.get_by_label("Tick first fruit").check()
    page.get_by_label("Tick veg veg").check()
    assert page.locator("#gap").inner_text() == "Gap: fruit seen, veg fresh"
    page.keyboard.press("g")
    page.wait_for_selector("#outcome:not(.refused) .verdict")
    assert "One-sided, of a higher score on fruit" in page.inner_text("#outcome")
    page.click("#swap")
    assert page.locator("#gap").inner_text() == "Gap: veg seen, fruit fresh"
    page.keyboard.press("Escape")
    assert page.locator("#pair").is_hidden()
    page.get_by_label("Tick first fruit").check()
    page.get_by_label("Tick other fruit").check()
    page.click("#compare")
    page.wait_for_selector("#outcome.refused .verdict >> text=first and other were asked differently")
    assert "num_fewshot: 1 against 5" in page.inner_text("#outcome")


@pytest.mark.parametrize(
    ("show", "numbers"),
    [("wrong", [1, 2, 4]), ("right", [0, 5]), ("disagree", [1]), ("unextracted", [1, 4]), ("errored", [3])],
)
def test_a_run_is_filtered(
    opened: Callable[..., Any], run_folder: Callable[..., Path], show: str, numbers: list[int]
) -> None:
    page = opened(run_folder("first", FIRST))
    page.click("#rows td.name a")
    ready(page)
    assert page.locator(f'[data-show="{show}"] b').inner_text() == str(len(numbers))
    page.click(f'[data-show="{show}"]')
    listed(page, numbers)


def test_a_run_is_searched_read_and_its_charts_are_drawn(opened: Callable[..., Any], runs: Path) -> None:
    page = opened(runs)
    page.click("#rows td.name a")
    ready(page)
    page.keyboard.press("/")
    page.keyboard.type("the answer is")
    listed(page, [1])
    page.keyboard.press("Enter")
    page.wait_for_selector("#detail mark")
    assert page.locator("#detail .verdicts tr.chosen .read").inner_text() == "nothing"
    page.wait_for_selector("figure[data-chart='fruit-scores'][data-state=drawn] svg")


def test_hostile_texts_are_only_text(opened: Callable[..., Any], run_folder: Callable[..., Path]) -> None:
    words = [f"{text[:60]} pears?" for text in HOSTILE]
    folder = run_folder("<img src=x onerror=alert(1)>", [[text] for text in HOSTILE], words=words)
    page = opened(folder.parent)
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    assert page.locator("#rows img").count() == 0
    page.click("#rows td.name a")
    ready(page)
    for number in range(len(HOSTILE)):
        page.wait_for_function(
            f"() => document.getElementById('position').textContent.startsWith('#{number} ')"
        )
        assert "####" in page.inner_text("#detail")
        page.keyboard.press("j")
    assert page.locator("main img, main script").count() == 0
    assert page.inner_text("#detail").count("<script>") == 0


def test_new_samples_come_while_the_page_is_open(
    opened: Callable[..., Any], run_folder: Callable[..., Path]
) -> None:
    folder = run_folder("live", FIRST, planned=8)
    page = opened(folder)
    page.click("#rows td.name a")
    ready(page)
    listed(page, [0, 1, 2, 3, 4, 5])
    page.keyboard.press("j")
    page.wait_for_function("() => document.getElementById('position').textContent.startsWith('#1 ')")
    write(folder, 6)
    listed(page, [0, 1, 2, 3, 4, 5, 6])
    page.wait_for_function("() => document.querySelector('[data-show=right] b').textContent === '3'")
    assert page.inner_text("#position").startswith("#1 ")
    page.wait_for_selector("main > section.task .tiles >> text=6 samples of 8")
    page.click('[data-show="right"]')
    listed(page, [0, 5, 6])
    write(folder, 7)
    listed(page, [0, 5, 6, 7])


def test_a_search_that_is_not_over_says_so(
    opened: Callable[..., Any], run_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    real = search._search

    def slowly(*arguments: Any) -> None:
        gate.wait(60)
        real(*arguments)

    monkeypatch.setattr(search, "_search", slowly)
    monkeypatch.setattr(finding, "PATIENCE", 60)
    page = opened(run_folder("first", FIRST))
    page.click("#rows td.name a")
    ready(page)
    page.fill("#search", "answer")
    page.wait_for_selector("#status >> text=0 questions found, searched 0 %…")
    assert page.inner_text("#nothing") == "Nothing yet; still looking…"
    gate.set()
    listed(page, [1])
    page.wait_for_selector("#status >> text=/^1 question found$/")


def write(folder: Path, number: int) -> None:
    for name, value in (
        ("prompts.jsonl", question_to(question(number))),
        ("generations.jsonl", to_line(generation(number, 0, f"#### {2 * number}"))),
    ):
        with (folder / name).open("ab") as file:
            file.write(jsonl.encode(value) + b"\n")


def test_a_run_that_vanishes_is_said(opened: Callable[..., Any], run_folder: Callable[..., Path]) -> None:
    folder = run_folder("gone", FIRST)
    page = opened(folder.parent)
    page.click("#rows td.name a")
    ready(page)
    page.wait_for_selector("#progress", state="attached")  # its first event has come
    for chart in page.eval_on_selector_all("figure[data-chart]", "all => all.map(one => one.dataset.chart)"):
        page.locator(f"figure[data-chart='{chart}']").scroll_into_view_if_needed()
        page.wait_for_selector(f"figure[data-chart='{chart}'][data-state=drawn]")  # none is asked for later
    folder.rename(folder.parent.parent / "elsewhere")
    # It depends on whether the page or the table of all runs looks first.
    page.wait_for_selector(r"#viewer-says >> text=/gone holds no samples|there is no such run/")


def test_it_fits_a_phone_and_goes_dark(opened: Callable[..., Any], runs: Path) -> None:
    page = opened(runs, width=390, color_scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(23, 27, 34)"
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.click("#rows td.name a")
    ready(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
