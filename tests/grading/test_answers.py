"""One table of answers, one column an extractor.

`gold` and `answer` (as JSON) are given; `reads` is the value that `robust` must read ("-": none); the
other columns say whether that rule counts the answer as right. The lm-eval columns were checked with
lm-eval 0.4.13's own filter and metric code. "?": sympy decides, which is tested elsewhere.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from resit.grading import grade

with (Path(__file__).parent / "answers.tsv").open(encoding="utf-8", newline="") as table:
    ROWS = list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))
LEGACY = [name for name in ROWS[0] if name not in ("gold", "answer", "reads", "robust")]


def name_of(row: dict[str, str]) -> str:
    # Collected again in one process, as mutmut does, what pytest has escaped would be escaped once more.
    return ascii(f"{row['gold']}|{row['answer'][:60]}").replace("\\", "/")


def test_the_table_is_as_long_as_it_was() -> None:
    assert len(ROWS) >= 1200
    assert sum(row["robust"] == "n" for row in ROWS) >= 170


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_robust_reads_the_value_and_judges_it(row: dict[str, str]) -> None:
    verdict = grade(json.loads(row["answer"]), row["gold"])
    assert (verdict.extracted or "-", "Y" if verdict.correct else "n") == (row["reads"], row["robust"])


@pytest.mark.parametrize("rule", LEGACY)
def test_a_published_rule_judges_as_published(rule: str) -> None:
    judged = [row for row in ROWS if row[rule] != "?"]
    found = ["Y" if grade(json.loads(r["answer"]), r["gold"], rule).correct else "n" for r in judged]
    assert [(name_of(r), r[rule]) for r in judged] == [
        (name_of(r), f) for r, f in zip(judged, found, strict=True)
    ]


@pytest.mark.parametrize("row", [r for r in ROWS if r["reads"] != "-"], ids=name_of)
def test_the_span_holds_what_was_read(row: dict[str, str]) -> None:
    answer = json.loads(row["answer"])
    verdict = grade(answer, row["gold"])
    assert verdict.span is not None
    start, end = verdict.span
    assert 0 <= start < end <= len(answer)
    assert verdict.reason
