"""The page in a real browser: every filter, the search, the order, every key, the address."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FILTERS = {
    "all": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    "wrong": [1, 2, 3, 5, 8],
    "right": [0, 6, 7, 9],
    "disagree": [1, 8],
    "unextracted": [1, 3, 5, 8],
    "truncated": [3],
    "errored": [4],
}


def test_every_filter_lists_its_questions_and_says_how_many(opened: Callable, first_run: Path) -> None:
    page = opened(first_run)
    for show, numbers in FILTERS.items():
        chip = page.page.locator(f'[data-show="{show}"]')
        assert chip.locator("b").inner_text() == str(len(numbers)), show
        chip.click()
        page.shows(numbers)
        assert page.page.locator(f'[data-show="{show}"]').get_attribute("aria-pressed") == "true"
    assert page.page.locator('[data-show="flipped"]').count() == 0


def test_another_rule_lists_other_questions(opened: Callable, first_run: Path) -> None:
    page = opened(first_run)
    page.page.locator('[aria-label="Rule"]').select_option("robust")
    page.page.click('[data-show="wrong"]')
    page.shows([2, 3, 5])


@pytest.mark.parametrize(
    ("typed", "numbers"),
    [
        ("basket 7 ", [7]),
        ("FOURTEEN", [7]),
        ("#8", [8]),
        ("pears", list(range(10))),
        ("no such words", []),
    ],
)
def test_search_reads_questions_and_responses(
    opened: Callable, first_run: Path, typed: str, numbers: list[int]
) -> None:
    page = opened(first_run)
    page.page.fill("#search", typed)
    page.shows(numbers)
    if not numbers:
        assert page.words("#nothing") == ["No question or response contains that."]
        assert page.words("#detail") == [""]


def test_search_and_filter_go_together(opened: Callable, first_run: Path) -> None:
    page = opened(first_run)
    page.page.fill("#search", "the answer is")
    page.shows([1, 8])
    page.page.click('[data-show="right"]')
    page.shows([])
    page.page.locator('[aria-label="Rule"]').select_option("robust")
    page.shows([1, 8])


def test_longest_response_first(opened: Callable, first_run: Path) -> None:
    page = opened(first_run)
    page.page.locator('[aria-label="Sort"]').select_option("length")
    page.page.wait_for_function("() => document.querySelector('#row-0')?.dataset.id.endsWith('/1')")
    assert page.listed()[:2] == [1, 7]


def test_every_key(opened: Callable, first_run: Path) -> None:
    page = opened(first_run)
    press = page.page.keyboard.press
    page.detail(0)
    press("j")
    page.detail(1)
    press("j")
    page.detail(2)
    press("k")
    page.detail(1)
    press("f")
    page.shows(FILTERS["wrong"])
    press("F")
    page.shows(FILTERS["all"])
    press("/")
    assert page.page.evaluate("document.activeElement.id") == "search"
    page.page.keyboard.type("pears")  # keys that are typed do nothing else
    page.shows(list(range(10)))
    press("Escape")
    assert page.page.evaluate("document.activeElement.id") != "search"
    press("ArrowDown")
    press("Enter")
    page.page.wait_for_function("() => document.activeElement.id === 'detail'")
    press("Escape")
    page.page.wait_for_function("() => document.activeElement.id === 'rows'")
    press("?")
    assert page.page.locator("#help").is_visible()
    assert len(page.words("#keys dd")) == len(page.words("#keys dt")) >= 10
    press("j")  # belongs to the dialog now
    press("Escape")
    assert not page.page.locator("#help").is_visible()


def test_a_question_shows_prompt_reference_and_what_each_rule_reads(
    opened: Callable, first_run: Path
) -> None:
    page = opened(first_run)
    page.page.fill("#search", "#1")
    page.detail(1)
    detail = page.page.locator("#detail")
    assert "Basket 1 holds 1 pears" in detail.inner_text()
    assert page.words("#detail strong.gold") == ["2"]
    rows = [
        (row.get_attribute("data-rule"), *row.locator("td").all_inner_texts()[:2])
        for row in detail.locator(".verdicts tbody tr").all()
    ]
    assert rows == [
        ("strict-match", "nothing", "wrong"),
        ("flexible-extract", "2.", "right"),
        ("robust", "2", "right"),
    ]


def test_overlapping_places_are_marked_to_the_character(opened: Callable, run_of: Callable) -> None:
    """The rules read `2.` and `2` of the same place, behind characters outside the BMP."""
    page = opened(
        run_of("run", ["\U0001f350\U0001f351 no", "\U0001f350\U0001f351\U0001f350 The answer is 2."])
    )
    page.page.fill("#search", "#1")
    page.detail(1)
    marks = page.page.locator("#detail mark")
    found = [(mark.text_content(), mark.get_attribute("data-rules").split("\n")) for mark in marks.all()]
    assert found == [("2", ["flexible-extract", "robust"]), (".", ["flexible-extract"])]


def test_an_error_is_told_and_not_called_wrong(opened: Callable, first_run: Path) -> None:
    page = opened(first_run)
    page.page.click('[data-show="errored"]')
    page.detail(4)
    assert "503 after five attempts" in page.page.locator("#detail").inner_text()
    assert page.words("#detail .tag") == ["errored"]


def test_a_warning_leads_to_its_sample(opened: Callable, first_run: Path) -> None:
    page = opened(first_run)
    link = page.page.locator(".warnings a").first
    number = link.inner_text()
    page.page.click('[data-show="truncated"]')
    page.shows([3])
    link.click()
    page.detail(int(number))


def test_a_count_leads_to_its_samples(opened: Callable, first_run: Path) -> None:
    page = opened(first_run)
    page.page.get_by_role("button", name="1 cut").click()
    page.shows([3])


def test_the_address_keeps_the_place(opened: Callable, first_run: Path) -> None:
    page = opened(first_run)
    page.page.click('[data-show="wrong"]')
    page.shows(FILTERS["wrong"])
    page.page.keyboard.press("j")
    page.page.keyboard.press("Enter")
    page.page.wait_for_function("() => location.hash.includes('id=')")
    page.page.reload()
    page.page.wait_for_selector("html[data-ready]")
    page.shows(FILTERS["wrong"])
    page.detail(2)


def test_charts_are_drawn(opened: Callable, first_run: Path) -> None:
    page = opened(first_run)
    figures = page.page.locator("figure[data-chart]")
    assert figures.count() == 2
    for figure in figures.all():
        figure.scroll_into_view_if_needed()
        figure.locator("svg").wait_for(timeout=60000)
    assert "strict-match" in page.page.locator("figure svg").first.text_content()


def test_charts_in_words(opened: Callable, first_run: Path) -> None:
    page = opened(first_run)
    page.page.locator("figure details summary").first.click()
    cells = page.words("figure details[open] tbody tr")
    assert [cell.split("\t")[:3] for cell in cells] == [
        ["first", "strict-match", "44.4 %"],
        ["first", "flexible-extract", "66.7 %"],
        ["first", "robust", "66.7 %"],
    ]


def test_the_theme_turns(opened: Callable, first_run: Path) -> None:
    page = opened(first_run, color_scheme="dark")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.page.evaluate(ground)
    page.page.click("#theme")
    assert page.page.evaluate("document.documentElement.dataset.theme") == "light"
    assert page.page.evaluate(ground) != dark
    page.page.click("#theme")
    assert page.page.evaluate(ground) == dark


def test_a_phone_shows_list_and_question_in_turn(opened: Callable, first_run: Path) -> None:
    page = opened(first_run, width=360, height=740)
    wide = "document.documentElement.scrollWidth"
    assert page.page.evaluate(wide) <= 360
    assert not page.page.locator("#pane").is_visible()
    page.page.locator("#rows .row").nth(1).click()
    page.detail(1)
    assert not page.page.locator("#rows").is_visible()
    assert page.page.evaluate(wide) <= 360
    page.page.click("#close")
    assert page.page.locator("#rows").is_visible()


def test_everything_can_be_reached_and_has_a_name(opened: Callable, first_run: Path) -> None:
    page = opened(first_run)
    nameless = page.page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, [role=listbox], [role=option]')]
            .filter((e) => !(e.ariaLabel || e.innerText || e.labels?.length)).map((e) => e.outerHTML)"""
    )
    assert nameless == []
    page.page.keyboard.press("Tab")
    assert page.page.evaluate("document.activeElement.className") == "skip"
    outline = page.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_it_prints_the_claims_without_the_controls(opened: Callable, first_run: Path) -> None:
    page = opened(first_run, color_scheme="dark")
    page.page.emulate_media(media="print")
    assert page.page.locator(".claim").first.is_visible()
    assert not page.page.locator("#search").is_visible()
    white = page.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert white == "rgb(255, 255, 255)"
    assert page.page.pdf()[:5] == b"%PDF-"
