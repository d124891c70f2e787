"""One digest whatever the file: the canonical form, and that formats agree."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from resit.assets.digest import dataset_digest
from resit.assets.formats import read_table

text = st.text(st.characters(exclude_categories=("Cs",)))
kinds = st.sampled_from([text, st.integers(-(2**53), 2**53), st.floats(allow_nan=False), st.booleans()])


def test_the_canonical_form_is_sorted_ascii_json_lines() -> None:
    line = b'{"a":1,"q":"caf\\u00e9","t":["x",null]}\n'
    rows = [{"q": "café", "a": 1.0, "none": None, "t": ("x", None)}]
    assert dataset_digest(rows) == "sha256:" + hashlib.sha256(line).hexdigest()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([{"a": 1}, {"a": 2}], [{"a": 2}, {"a": 1}]),
        ([{"a": "1"}], [{"a": 1}]),
        ([{"a": 1}], [{"a": True}]),
        ([{"a": ""}], [{"a": None}]),
        ([{"a": "x"}], [{"b": "x"}]),
        ([{"a": "x"}], [{"a": "x "}]),
        ([{"a": "x"}], [{"a": "x"}, {"a": "x"}]),
    ],
)
def test_other_rows_have_another_digest(one: list[Any], other: list[Any]) -> None:
    assert dataset_digest(one) != dataset_digest(other)


def test_lone_surrogates_and_non_finite_numbers_have_a_digest() -> None:
    assert dataset_digest([{"q": "\ud83d", "x": float("inf"), "y": float("nan"), "z": b"\x00"}])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(columns=st.dictionaries(text, kinds, min_size=1, max_size=4), count=st.integers(1, 3), data=st.data())
def test_jsonl_and_parquet_of_the_same_rows_agree(
    tmp_path: Path, columns: dict[str, Any], count: int, data: st.DataObject
) -> None:
    row = st.fixed_dictionaries({name: st.none() | kind for name, kind in columns.items()})
    rows = data.draw(st.lists(row, min_size=count, max_size=count))
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "a.jsonl").write_text(lines, encoding="utf-8")
    from_parquet, from_jsonl = read_table(tmp_path / "a.parquet"), read_table(tmp_path / "a.jsonl")
    assert dataset_digest(from_parquet) == dataset_digest(from_jsonl)
