"""Whatever a model writes stands on the page as text, and breaks nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ATTACK = "window.attacked = true"
HOSTILE = {
    "a script": f"<script>{ATTACK}</script> #### 0",
    "an end of script": f"</script><img src=x onerror='{ATTACK}'> #### 0",
    "a comment": f"<!-- <script> --> <svg onload={ATTACK}> #### 0",
    "template braces": "{{ 7 * 7 }} {% raw %} ${7*7} {# #} #### 0",
    "entities": "&lt;b&gt; &amp; &#x41; #### 0",
    "a style": "</style><style>body{display:none}</style> #### 0",
    "a link": "<a href='javascript:window.attacked=true'>here</a> [x](javascript:1) #### 0",
    "line separators": "one\u2028two\u2029three\u0085 #### 0",
    "combining marks": "Z" + "\u0351" * 300 + " #### 0",
}


def response(page: object, text: str) -> str:
    """The response's text as the page has it, without the numbers that CSS adds."""
    return page.page.locator("#detail .response").text_content()  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_shown_as_it_stands(opened: Callable, run_of: Callable, name: str) -> None:
    text = HOSTILE[name]
    page = opened(run_of("run", [text], questions=[f"{text} How many?"], model=text[:60]))
    page.detail(0)
    shown = text.replace("\u2028", "LSEP").replace("\u2029", "PSEP").replace("\u0085", "U+0085")
    assert response(page, text) == shown
    assert page.page.evaluate("window.attacked") is None
    assert page.page.locator("#detail .response").locator("script, img, svg, a, style, b").count() == 0
    assert page.page.locator(".claim").first.is_visible()


def test_control_codes_and_bidi_overrides_are_named_not_obeyed(opened: Callable, run_of: Callable) -> None:
    text = "\x1b[31mred\x1b[0m \x00 \u202egnp.exe\u202c \u05e9\u05dc\u05d5\u05dd \ufeff #### 0"
    page = opened(run_of("run", [text]))
    page.detail(0)
    assert response(page, text) == "␛[31mred␛[0m ␀ RLOgnp.exePDF שלום BOM #### 0"
    isolated = "getComputedStyle(document.querySelector('#detail .response')).unicodeBidi"
    assert page.page.evaluate(isolated) == "isolate"
    assert page.words("#detail .control") == ["␛", "␛", "␀", "RLO", "PDF", "BOM"]


def test_lone_surrogates_are_named(opened: Callable, run_of: Callable) -> None:
    page = opened(run_of("run", ["half \ud83c and \udf50 \U0001f350 #### 0"], questions=["\ud800 How many?"]))
    page.detail(0)
    assert response(page, "") == "half U+D83C and U+DF50 \U0001f350 #### 0"


def test_a_line_of_a_million_characters(opened: Callable, run_of: Callable) -> None:
    """It is cut to its ends and what the rules read, opens on demand, and moves nothing out of the window."""
    text = "x" * 500_000 + " The answer is 0. " + "y" * 500_000
    page = opened(run_of("run", [text, "#### 2"]), width=360, height=740)
    page.page.locator("#rows .row").first.click()
    page.detail(0)
    shown = page.page.locator("#detail .response")
    assert len(shown.text_content()) < 40_000
    assert page.words("#detail mark") == ["0", "."]
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 360
    buttons = page.page.locator("#detail .hidden-part")
    assert buttons.count() == 2
    buttons.first.click()
    buttons.first.click()
    assert shown.text_content() == text


def test_names_are_text_too(opened: Callable, run_of: Callable) -> None:
    """Model names go into the claim, the title, the charts and their tooltips."""
    name = f"<img src=x onerror={ATTACK}>\u202e"
    page = opened(
        run_of("one", ["#### 0", "#### 2"], model=name), run_of("two", ["#### 0", "#### 3"], model="b")
    )
    page.page.locator("figure svg").first.wait_for()
    page.page.locator("figure svg [role='graphics-symbol']").first.hover(force=True)
    page.page.wait_for_timeout(300)
    assert page.page.evaluate("window.attacked") is None
    assert page.page.locator("main img, #vg-tooltip-element img").count() == 0
    assert "onerror=window.attacked = true>U+202E" in page.page.title()
    assert "\u202e" not in page.page.locator("main").inner_text()


def test_nothing_but_its_own_scripts_may_run(opened: Callable, run_of: Callable) -> None:
    """Even if a text found its way into the page as HTML, the policy would stop its script."""
    page = opened(run_of("run", ["#### 0"]))
    page.page.evaluate(
        f"""() => {{
            const script = document.createElement('script');
            script.textContent = {json.dumps(ATTACK)};
            document.body.append(script);
            document.body.insertAdjacentHTML('beforeend', '<b onclick="window.attacked = true">x</b>');
            document.body.lastElementChild.click();
        }}"""
    )
    assert page.page.evaluate("window.attacked") is None
    assert len(page.complaints) >= 1
    assert all("Content Security Policy" in complaint for complaint in page.complaints)
    page.complaints.clear()


def test_the_policy_lets_nothing_in(report_of: Callable[..., Path], run_of: Callable) -> None:
    text = report_of(run_of("run", ["#### 0"])).read_text(encoding="utf-8")
    policy = unescape(text.partition('http-equiv="Content-Security-Policy" content="')[2].partition('"')[0])
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert policy.partition("script-src")[2].partition(";")[0].count("sha256-") == 2
