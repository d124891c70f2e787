"""Makes the exam of docs/walk.md, and its screenshots: `python docs/make_screenshots.py`.

    python docs/make_screenshots.py --exam FOLDER    only the exam: the task, its rows, two files of answers

The questions and the answers are written here, so that the walk needs no model and no data set.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PICTURES = Path(__file__).parent / "walk"
QUESTIONS = 80

TASK = """\
task: market
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: |-
  Solve the problem and end with the number after four hash signs.

  Problem: {{question}}
  Solution:
doc_to_target: "{{answer}}"
generation_kwargs: {until: ["Problem:"], max_gen_toks: 96}
filter_list:
  - name: strict-match
    filter:
      - {function: regex, regex_pattern: "#### (\\\\-?[0-9\\\\.\\\\,]+)"}
      - {function: take_first}
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
resit: {headline: "exact_match,strict-match"}
"""

NAMES = ("Ada", "Bo", "Chidi", "Dana", "Emre", "Farah", "Gus", "Hana", "Ivo", "June")
GOODS = (("pears", 2), ("jars of honey", 7), ("loaves", 4), ("lanterns", 11), ("baskets of figs", 6))


def problem(i: int) -> tuple[str, int, str]:
    """Question i, its answer, and how a model works it out."""
    name, (goods, price) = NAMES[i % len(NAMES)], GOODS[(i * 3) % len(GOODS)]
    stock, days, gift = 12 + (i * 7) % 31, 2 + i % 5, 1 + i % 4
    sold = stock * days - gift
    question = (
        f"{name} brings {stock} {goods} to the market on each of {days} days. {gift} of them {name} gives "
        f"to a neighbour, and sells all others for {price} coins each. How many coins does {name} earn?"
    )
    work = (
        f"Over {days} days {name} brings {stock} * {days} = {stock * days} {goods}. After the gift of {gift} "
        f"there are {stock * days} - {gift} = {sold} to sell, at {price} coins each: {sold} * {price} = "
        f"{sold * price}."
    )
    return question, sold * price, work


def first_answers() -> Iterator[dict[str, Any]]:
    """A model that is right in three of four, and in one of ten forgets the form."""
    for i in range(QUESTIONS):
        _, right, work = problem(i)
        if i % 4 == 3:
            wrong = right + (i % 3 + 1) * 5
            text = f"{work.rpartition('=')[0]}= {wrong}.\n#### {wrong}"
        elif i % 10 == 2:
            text = f"{work}\n\n**Answer: {right:,} coins**"
        else:
            text = f"{work}\n#### {right}"
        yield {"doc_id": i, "text": text}


def second_answers() -> Iterator[dict[str, Any]]:
    """The same model, told of the form once more: always in form, and with some other slips."""
    for i in range(QUESTIONS):
        _, right, work = problem(i)
        slip = i % 8 == 7 or i % 23 == 4
        value = right + 10 if slip else right
        yield {"doc_id": i, "text": f"{work.rpartition('=')[0]}= {value}.\n#### {value}"}


def write_exam(folder: Path) -> None:
    """The task, its rows, and both models' answers."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = ({"question": q, "answer": str(a)} for q, a, _ in map(problem, range(QUESTIONS)))
    for name, lines in (
        ("rows.jsonl", rows),
        ("first.jsonl", first_answers()),
        ("second.jsonl", second_answers()),
    ):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "market.yaml").write_text(TASK, encoding="utf-8")


def resit(folder: Path, *words: str) -> None:
    """Run `resit` in a folder, as the walk says it."""
    subprocess.run([sys.executable, "-m", "resit", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def write_reports(folder: Path) -> None:
    """The runs and reports of the walk."""
    write_exam(folder)
    for name in ("first", "second"):
        model = ("--model", "scripted", "--model_args", f"file={name}.jsonl")
        resit(folder, "run", *model, "--tasks", "market.yaml", "--output_path", f"runs/{name}")
    resit(folder, "report", "runs/first", "-o", "report.html")
    resit(folder, "report", "runs/first", "runs/second", "-o", "both.html")


SHOTS: Sequence[tuple[str, str, dict[str, Any], Sequence[tuple[str, str]]]] = (
    ("top", "report.html", {"viewport": {"width": 1120, "height": 860}}, ()),
    (
        "disagree",
        "report.html",
        {"viewport": {"width": 1120, "height": 700}},
        (("click", '[data-show="disagree"]'), ("press", "j"), ("top", "#browser")),
    ),
    (
        "both",
        "both.html",
        {"viewport": {"width": 1120, "height": 720}, "color_scheme": "dark"},
        (("top", "#browser"),),
    ),
    (
        "phone",
        "report.html",
        {"viewport": {"width": 360, "height": 720}},
        (("click", '[data-show="disagree"]'), ("press", "j"), ("press", "Enter"), ("top", "#browser .panes")),
    ),
)
"""Name, report, the window, and what is done before the picture."""


def take_pictures(folder: Path) -> None:
    """The walk's screenshots, with the browser that the tests use."""
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for name, report, window, steps in SHOTS:
            page = browser.new_context(**window).new_page()
            page.goto((folder / report).as_uri())
            page.wait_for_selector("html[data-ready]")
            for step, what in steps:
                act(page, step, what)
                page.wait_for_timeout(400)
            page.wait_for_timeout(1200)  # charts come into sight
            page.screenshot(path=PICTURES / f"{name}.png")
        browser.close()


def act(page: Any, step: str, what: str) -> None:
    """Do one thing on the page."""
    if step == "click":
        page.click(what)
    elif step == "press":
        page.keyboard.press(what)
    else:
        page.locator(what).evaluate("(place) => place.scrollIntoView({block: 'start', behavior: 'instant'})")


def main() -> None:
    """Make what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--exam", type=Path, help="write the exam there, and nothing else")
    exam = parser.parse_args().exam
    if exam is not None:
        write_exam(exam)
        return
    with tempfile.TemporaryDirectory() as folder:
        write_reports(Path(folder))
        take_pictures(Path(folder))


if __name__ == "__main__":
    main()
