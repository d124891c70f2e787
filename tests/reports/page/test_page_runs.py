"""Pages of several runs, several samples a question, several tasks; and of runs with little to show."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resit import jsonl

pytestmark = pytest.mark.slow

SAMPLED = [
    {"responses": ["#### 0", "#### 0", "#### 3", "no idea"]},
    {"responses": ["#### 7", "#### 7", "#### 2", "#### 2.0"]},
    {"responses": ["#### 5", "#### 5", "#### 5", "#### 4"]},
]


def test_two_runs_begin_with_their_flips(opened: Callable, first_run: Path, second_run: Path) -> None:
    page = opened(first_run, second_run)
    assert page.page.locator('[data-show="flipped"]').get_attribute("aria-pressed") == "true"
    page.shows([1, 2, 3, 5, 6, 8])  # 4 is not measured in the first
    page.detail(1)
    assert page.words("#detail .side h3") == ["first", "second"]
    assert page.words("#detail .sides.two .verdicts tr.chosen .tag") == ["wrong", "right"]
    assert page.words("#rows .row[data-id='fruit/6'] .badge.flip") == ["better"]
    assert page.words(".mosaic .piece") == [
        "3\nboth right",
        "1\nbetter in first",
        "5\nbetter in second",
    ]


def test_the_claim_of_two_runs_is_their_difference(
    opened: Callable, first_run: Path, second_run: Path
) -> None:
    page = opened(first_run, second_run)
    assert page.words(".claim")[0].startswith("Not distinguishable (−44.4 points; 95 % interval")


def test_the_other_run_can_be_the_first(opened: Callable, first_run: Path, second_run: Path) -> None:
    page = opened(first_run, second_run)
    page.page.locator(".mosaic button.second").click()
    page.page.wait_for_function("() => document.querySelector('[aria-label=Run]').value === '1'")
    assert page.words("#rows .row[data-id='fruit/6'] .badge.flip") == ["worse"]
    page.page.locator('[aria-label="Against"]').select_option("")
    page.page.wait_for_selector('[data-show="flipped"]', state="detached")
    page.shows(list(range(10)))


def test_repeats_vote(opened: Callable, run_of: Callable) -> None:
    page = opened(run_of("sampled", SAMPLED, repeats=4))
    page.detail(0)
    assert page.words(".votes .answer") == ["0", "3", "no answer"]
    assert page.words(".votes .count") == ["2", "1", "1"]
    page.page.locator(".vote", has_text="3").click()
    page.page.wait_for_function("() => document.querySelector('.sample h4').textContent.includes('Sample 2')")
    assert page.words(".response") == ["#### 3"]
    page.page.keyboard.press("n")
    page.page.wait_for_function("() => document.querySelector('.sample h4').textContent.includes('Sample 3')")
    page.page.keyboard.press("n")
    page.page.wait_for_function("() => document.querySelector('.sample h4').textContent.includes('Sample 0')")
    page.page.keyboard.press("p")
    page.page.wait_for_function("() => document.querySelector('.sample h4').textContent.includes('Sample 3')")
    page.page.keyboard.press("j")
    page.detail(1)
    assert page.words(".votes .answer") == ["7", "2"]  # 2 and 2.0 are one answer
    assert page.words("figcaption b") == [
        "Score by rule",
        "Score by number of samples",
        "Votes per question",
        "Length and correctness",
    ]


def test_most_divided_first(opened: Callable, run_of: Callable) -> None:
    page = opened(run_of("sampled", SAMPLED, repeats=4))
    page.page.locator('[aria-label="Sort"]').select_option("agreement")
    page.page.wait_for_function("() => document.querySelector('#row-2')?.dataset.id.endsWith('/2')")


def test_tasks_and_models_in_one_report(opened: Callable, run_of: Callable) -> None:
    runs = [
        run_of(f"{model}-{task}", [f"#### {2 * i + (i < wrong)}" for i in range(9)], task=task, model=model)
        for model, wrongs in {"a": (1, 4), "b": (2, 2), "c": (0, 5)}.items()
        for task, wrong in zip(("gsm8k", "gsm1k"), wrongs, strict=True)
    ]
    page = opened(*runs)
    assert (
        page.words(".claim")[0]
        == "3 gaps, from 0.0 to +55.6 points; 1 can be told from none (Holm-adjusted)."
    )
    page.page.locator("#gaps figure svg").wait_for()
    page.page.locator("#gaps figure summary").click()
    rows = [row.split("\t")[:4] for row in page.words("#gaps figure tbody tr")]
    assert rows == [
        ["c", "gsm8k 100.0 %", "gsm1k 44.4 %", "+55.6"],
        ["a", "gsm8k 88.9 %", "gsm1k 55.6 %", "+33.3"],
        ["b", "gsm8k 77.8 %", "gsm1k 77.8 %", "0.0"],
    ]
    page.page.locator('[aria-label="Task"]').select_option("gsm1k")
    page.page.wait_for_function("() => document.querySelector('#row-0').dataset.id.startsWith('gsm1k/')")


@pytest.mark.parametrize(
    ("answers", "show", "words"),
    [
        (["#### 0", "#### 2"], "wrong", "Nothing is wrong: this rule counts every sample as right."),
        (["#### 0", "#### 2"], "disagree", "The rules agree on every sample."),
        (["#### 0", "#### 2"], "truncated", "No sample was cut."),
        (["#### 1", "#### 1"], "right", "No sample is right under this rule."),
    ],
)
def test_nothing_to_list_is_said(
    opened: Callable, run_of: Callable, answers: list[str], show: str, words: str
) -> None:
    page = opened(run_of("run", answers))
    page.page.click(f'[data-show="{show}"]')
    page.shows([])
    assert page.words("#nothing") == [words]


def test_errors_alone_are_no_score(opened: Callable, run_of: Callable) -> None:
    page = opened(run_of("run", [{"error": "429"}, {"error": "429"}]))
    assert page.words(".claim") == [
        "run on fruit: nothing is measured yet. 2 samples errored, 0 of 2 are missing."
    ]
    assert page.page.locator("figure").count() == 0
    page.page.click('[data-show="errored"]')
    page.shows([0, 1])


def test_an_unfinished_run_says_so(opened: Callable, run_of: Callable, first_run: Path) -> None:
    record = json.loads((first_run / "run.json").read_text(encoding="utf-8"))
    record["plan"]["fruit"]["questions"] = 30
    (first_run / "run.json").write_text(json.dumps(record), encoding="utf-8")
    (first_run / "results.json").unlink()
    page = opened(first_run)
    assert page.words(".tag.live") == ["unfinished"]
    assert "20 missing" in page.words(".tiles")[0]


def test_chat_prompts_are_turns_and_exemplars_are_folded(opened: Callable, run_of: Callable) -> None:
    shared = [{"role": "system", "content": "You count."}, {"role": "user", "content": "One and one?"}]
    answers = [
        {
            "response": f"#### {2 * i}",
            "prompt": None,
            "messages": [*shared, {"role": "user", "content": f"Basket {i} holds {i} pears and {i} plums."}],
        }
        for i in range(3)
    ]
    page = opened(run_of("chat", [{k: v for k, v in a.items() if v is not None} for a in answers]))
    page.detail(0)
    assert page.words("#detail .prompt > .turns .role") == ["user"]
    fold = page.page.locator("#detail .prompt > details")
    assert fold.locator("summary").inner_text().startswith("Every prompt begins with this 2 turns")
    fold.locator("summary").click()
    assert page.words("#detail .prompt > details .role") == ["system", "user"]


def test_a_file_holds_what_fits_and_says_which(
    opened: Callable, run_of: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resit.reports.page.report.BUDGET", 30_000)
    random = [f"{n * 7919 % 10007:x}" for n in range(400)]
    answers = [
        {"responses": [f"{' '.join(random[i + k :])} #### {2 * i + k % 3}" for k in range(8)]}
        for i in range(9)
    ]
    page = opened(run_of("large", answers, repeats=8))
    said = re.search(r"This file holds (\d+) of 72 texts", page.words("footer")[0])
    assert said
    assert 0 < int(said[1]) < 72
    assert page.words("#status") == ["9 questions"]
    assert page.words(".votes .count") == ["3", "3", "2"]  # the vote is of all eight


def test_a_damaged_journal_is_told(opened: Callable, first_run: Path) -> None:
    with (first_run / "generations.jsonl").open("ab") as file:
        file.write(b"{torn\n")
    page = opened(first_run)
    assert page.words(".notes p") == [
        "first: 1 lines of the journal could not be used; their samples are missing here"
    ]


def test_questions_that_are_gone_are_told(opened: Callable, first_run: Path) -> None:
    lines = (first_run / "prompts.jsonl").read_bytes().splitlines(keepends=True)
    (first_run / "prompts.jsonl").write_bytes(b"".join(lines[:7]))
    page = opened(first_run)
    assert page.words(".notes p") == [
        "first: 3 of 9 scored samples of fruit cannot be shown: their questions or texts are no longer in "
        "the folder."
    ]
    page.shows(list(range(7)))


def test_runs_that_number_documents_differently_are_paired_by_content(
    opened: Callable, run_of: Callable
) -> None:
    ours = run_of("ours", ["#### 0", "#### 2", "#### 4"])
    theirs = run_of("theirs", ["#### 0", "#### 2", "#### 5"])
    for name in ("generations.jsonl", "prompts.jsonl"):
        lines: list[dict[str, Any]] = [line.value for line in jsonl.read(theirs / name) if line.value]
        moved = [{**line, "doc_id": 2 - line["doc_id"]} for line in lines]
        (theirs / name).write_bytes(b"".join(jsonl.encode(line) + b"\n" for line in moved))
    page = opened(ours, theirs)
    page.shows([2])
    assert page.words("#status") == ["1 question"]
