from __future__ import annotations

import json
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resit.models.calculator import (
    Form,
    annotations_in,
    insertion_from,
    insertion_to,
    insertions,
    intervene,
    slip,
    write,
)
from resit.records import Insertion

MONEY = Form(money=True)


@pytest.mark.parametrize(
    ("value", "form", "written"),
    [
        ("24", Form(), "24"),
        ("0.2", Form(), "0.2"),
        ("0.015", Form(), "0.015"),
        ("-9.38", Form(), "-9.38"),
        ("24", MONEY, "24"),
        ("0.3", MONEY, "0.30"),
        ("16.83", MONEY, "16.83"),
        ("2.125", MONEY, "2.125"),
        ("-2.5", MONEY, "-2.50"),
        ("9", Form(money=True, cents=True), "9.00"),
        ("9", Form(cents=True), "9"),
        ("0.5", Form(bare_point=True), ".5"),
        ("-0.5", Form(bare_point=True), "-.5"),
        ("10.5", Form(bare_point=True), "10.5"),
        ("0", Form(bare_point=True), "0"),
        ("0.25", Form(money=True, bare_point=True), ".25"),
        ("100/3", Form(), "33.333333"),
        ("200/3", Form(), "66.666667"),
        ("-200/3", Form(), "-66.666667"),
        ("1/3000000", Form(), "0.000000333333"),
        ("100/3", MONEY, "33.33"),
        ("200/3", MONEY, "66.67"),
        ("1/3000", MONEY, "0.000333333"),
        ("29999999/3", MONEY, "9999999.67"),
        ("9999999999999/10000000000000", Form(), "1"),
        ("299999999/300000000", MONEY, "1.00"),
        ("1/1024", Form(), "0.0009765625"),
        ("1000000000000000000000", Form(), "1000000000000000000000"),
    ],
)
def test_forms(value: str, form: Form, written: str) -> None:
    assert write(Fraction(value), form) == written


@given(st.integers(-(10**9), 10**9), st.integers(0, 6))
def test_finite_decimals_are_written_whole(digits: int, decimals: int) -> None:
    value = Fraction(digits, 10**decimals)
    assert Fraction(write(value)) == Fraction(write(value, MONEY)) == value


@given(st.fractions(min_value=Fraction(1, 1000), max_value=10**6, max_denominator=10**4))
def test_others_are_rounded_to_the_nearest(value: Fraction) -> None:
    assert abs(Fraction(write(value)) - value) <= Fraction(1, 2 * 10**6)
    cents = Fraction(write(value, MONEY))
    assert abs(cents - value) <= Fraction(1, 200)


@pytest.mark.parametrize(
    ("text", "put_in"),
    [
        ("Natalia sold 48/2 = <<48/2=", "24>>"),
        ("She pays 3 x $0.10 = $<<3*0.10=", "0.30>>"),
        ("$9.00 each, so $<<9*2=", "18.00>>"),
        ("<<20/3=6.666667>>6.666667, three times <<6.666667*3=", "20>>"),
        ("<<1/3=0.333333>> and <<-0.333333*3=", "-1>>"),
        ("$<<20/3=6.67>>6.67 and <<6.67*3=", "20.01>>"),
        ("48/2 =", None),
        ("48/2 = <<48/2", None),
        ("<<48/2=24>>", None),
        ("<<48/2=24>>24. x=", None),
        ("<<x+1=", None),
        ("<<=", None),
        ("<<48/\n2=", None),
        ("<<48/2=2", "4>>"),
        ("<<48/2=$", None),
        ("<<48/2=24\n=", None),
        ("", None),
    ],
)
def test_what_is_put_in_while_a_text_grows(text: str, put_in: str | None) -> None:
    assert intervene(text) == put_in


def test_a_slip_is_found_where_the_result_begins() -> None:
    text = "<<48/2=24>>24, <<x*2=7>>7, then <<24+48=71>>71 and <<1+1=3>>"
    found = slip(text)
    assert found is not None
    assert (text[: found.at][-10:], found.result) == ("n <<24+48=", "72>>")
    assert slip(text[:39]) is None


def test_an_annotation_without_its_end_is_a_slip() -> None:
    assert slip("<<48/2=24 clips") is not None
    assert slip("<<48/2=2") is not None


def test_insertions_of_a_finished_text() -> None:
    text = "<<48/2=24>>24 and <<x*2=7>>7 and $<<0.1*3=0.30>>"
    found, unread = insertions(text)
    assert found == (Insertion(7, "24>>", "48/2"), Insertion(text.index("0.30"), "0.30>>", "0.1*3"))
    assert unread == 1


def test_insertions_as_json() -> None:
    for one in (Insertion(7, "24>>", "48/2"), Insertion(7, "24>>", "48/2", "23>>")):
        assert insertion_from(json.loads(json.dumps(insertion_to(one)))) == one
    assert "instead" not in insertion_to(Insertion(7, "24>>", "48/2"))
    misshapen: list[Any] = [{}, [], 3, {"at": 1}]
    for value in misshapen:
        with pytest.raises(ValueError, match="an insertion needs"):
            insertion_from(value)


@given(st.text(alphabet="<>=\n0123456789+-*/$. ab", max_size=80))
def test_putting_in_once_is_enough(text: str) -> None:
    put_in = intervene(text)
    if put_in is not None:
        grown = text + put_in
        assert intervene(grown) is None
        assert [a.result for a in annotations_in(grown)][-1] == grown[[*annotations_in(grown)][-1].at :]


def _annotations(shared: Path) -> list[tuple[str, str, str | None]]:
    """(expression, the data's result, the calculator's) of GSM8K's annotations, train then test."""
    rows = []
    for split in ("train", "test"):
        for line in (shared / "mirror" / "gsm8k" / f"{split}.jsonl").read_bytes().splitlines():
            answer = json.loads(line)["answer"]
            ours = list(annotations_in(answer))
            published = re.findall(r"<<(.*?)=(.*?)>>", answer)
            assert [a.expression for a in ours] == [expression for expression, _ in published]
            rows += [(e, r, a.result) for (e, r), a in zip(published, ours, strict=True)]
    return rows


def test_every_published_annotation(shared: Path) -> None:
    """Every value; to the letter all but those in which the solution's author changes form."""
    rows = _annotations(shared)
    assert len(rows) == 27_998
    forms: Counter[str] = Counter()
    for _, published, ours in rows:
        assert ours is not None
        assert ours.endswith(">>")
        assert Fraction(ours[:-2]) == Fraction(published)
        if ours != published + ">>":
            forms["a fraction" if "/" in published else "another form"] += 1
    assert forms == {"another form": 170, "a fraction": 1}
