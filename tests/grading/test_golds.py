"""Every published gold answer grades right against itself and its restatements, wrong against others."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from resit.grading import grade
from resit.grading.numerals import Exact, simplest, write
from resit.grading.values import Amount, read_gold


def jsonl(path: Path, field: str) -> list[str]:
    with path.open("rb") as lines:
        return [str(json.loads(line)[field]) for line in lines]


def golds(mirror: Path, name: str) -> list[str]:
    if name == "gsm8k":
        return jsonl(mirror / "gsm8k/train.jsonl", "answer") + jsonl(mirror / "gsm8k/test.jsonl", "answer")
    if name == "gsm1k":
        with (mirror / "gsm1k/gsm1k_public_50.csv").open(encoding="utf-8", newline="") as rows:
            return [row["answer"] for row in csv.DictReader(rows)]
    if name == "gsm8k_platinum":
        return jsonl(mirror / "gsm8k_platinum/trex_gsm8k_platinum_test.jsonl", "answer")
    if name == "gsm_hard":
        return jsonl(mirror / "gsm_hard/gsmhardv2.jsonl", "target")
    if name == "svamp":
        rows = json.loads((mirror / "svamp/SVAMP.json").read_text(encoding="utf-8"))
        return [str(row["Answer"]) for row in rows]
    lines = [
        line
        for path in sorted((mirror / "mgsm").glob("*.tsv"))
        for line in path.read_text(encoding="utf-8").split("\n")
    ]
    return [line.split("\t")[1] for line in lines if line]


def restated(written: str) -> Iterator[str]:
    yield from (written, f"The answer is {written}.", f"#### {written}", f"\\boxed{{{written}}}")
    if "." not in written:
        yield f"${written}.00"


def others(value: Exact) -> set[Exact]:
    return {value + 1, value * 10, simplest(Fraction(value) / 100), -value} - {value}


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("gsm8k", 8792),
        ("gsm1k", 50),
        ("gsm8k_platinum", 1209),
        ("gsm_hard", 1319),
        ("svamp", 1000),
        ("mgsm", 2750),
    ],
)
def test_golds_grade_themselves(shared: Path, name: str, rows: int) -> None:
    found = golds(shared / "mirror", name)
    assert len(found) == rows
    for gold in found:
        assert grade(gold, gold).correct == 1.0, gold
    for written in {gold.rpartition("####")[2].strip() for gold in found}:
        value = read_gold(written)
        assert isinstance(value, Amount), written
        for answer in restated(written):
            assert grade(answer, written).correct == 1.0, (answer, written)
        for other in others(value.value):
            for answer in restated(write(other)):
                verdict = grade(answer, written)
                assert (verdict.extracted, verdict.correct) == (write(other), 0.0), (answer, written)


NATIVE = {
    "bn": "উত্তর হল {}।",
    "de": "Die Antwort ist {}.",
    "en": "The answer is {}.",
    "es": "La respuesta es {}.",
    "fr": "La réponse est {}.",
    "ja": "答えは{}です。",
    "ru": "Ответ: {}.",
    "sw": "Jibu ni {}.",
    "te": "సమాధానం {}.",
    "th": "คำตอบคือ {}",
    "zh": "答案是{}。",
}
DIGITS = {"bn": "০১২৩৪৫৬৭৮৯", "te": "౦౧౨౩౪౫౬౭౮౯", "th": "๐๑๒๓๔๕๖๗๘๙", "zh": "０１２３４５６７８９"}


@pytest.mark.parametrize("language", NATIVE)
def test_golds_in_the_language_of_the_question(shared: Path, language: str) -> None:
    lines = (shared / "mirror" / "mgsm" / f"mgsm_{language}.tsv").read_text(encoding="utf-8").split("\n")
    found = {line.split("\t")[1] for line in lines if line}
    assert len(found) > 100
    for written in found:
        native = written.translate(str.maketrans("0123456789", DIGITS.get(language, "0123456789")))
        for answer in (NATIVE[language].format(written), NATIVE[language].format(native)):
            assert grade(answer, written).correct == 1.0, answer
            assert grade(answer, written, language=language).correct == 1.0, answer
            assert grade(answer, f"{written}0").correct == 0.0, answer
