"""Tables from files: what is tolerated, what is refused and how."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import ipc, parquet

from resit.assets.catalogue import File
from resit.assets.formats import read_table
from resit.assets.pinned import read_file
from resit.errors import AssetError, UsageError

TWO = [{"question": "Why?", "answer": "7"}, {"question": "How, then?", "answer": "1,000"}]
BOM = b"\xef\xbb\xbf"
JSONL = b'{"question": "Why?", "answer": "7"}\n{"question": "How, then?", "answer": "1,000"}\n'
CSV = b'question,answer\nWhy?,7\n"How, then?","1,000"\n'

READ = [
    ("plain.jsonl", JSONL, TWO),
    ("no_last_line_end.jsonl", JSONL.removesuffix(b"\n"), TWO),
    ("windows.jsonl", BOM + JSONL.replace(b"\n", b"\r\n"), TWO),
    ("blank_lines.jsonl", b"\n" + JSONL + b"\n \r\n", TWO),
    ("separators.jsonl", '{"q": "a\u2028b\x85c"}\n'.encode(), [{"q": "a\u2028b\x85c"}]),
    ("surrogate.jsonl", b'{"q": "\\ud83d"}\n', [{"q": "\ud83d"}]),
    ("empty.jsonl", b"", []),
    ("zipped.jsonl.gz", gzip.compress(JSONL), TWO),
    ("lines.json", JSONL, TWO),
    ("list.json", b'[{"a": 1}, {"a": 2.5}]', [{"a": 1}, {"a": 2.5}]),
    ("held.json", b'{"version": "1.0", "data": [{"a": 1}, {"a": 2}]}', [{"a": 1}, {"a": 2}]),
    ("columns.json", b'{"a": [1, 2], "b": ["x", "y"]}', [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]),
    ("one.json", b'{"a": 1, "b": [1, 2]}', [{"a": 1, "b": [1, 2]}]),
    ("plain.csv", CSV, TWO),
    ("windows.csv", BOM + CSV.replace(b"\n", b"\r\n"), TWO),
    ("blank_lines.csv", CSV + b"\n\n", TWO),
    ("line_in_cell.csv", b'q,a\n"one\r\ntwo",3\n', [{"q": "one\r\ntwo", "a": "3"}]),
    ("text_stays_text.csv", b"a,b\n007,\n", [{"a": "007", "b": ""}]),
    ("long_cell.csv", b"a\n" + b"x" * 200_000 + b"\n", [{"a": "x" * 200_000}]),
    ("quotes.tsv", b'q\ta\nsay "hi\t3\n', [{"q": 'say "hi', "a": "3"}]),
    ("lines.txt", b"one\r\n\ntwo", [{"text": "one"}, {"text": ""}, {"text": "two"}]),
]


@pytest.mark.parametrize(("name", "data", "rows"), READ, ids=[case[0] for case in READ])
def test_a_file_gives_its_rows_in_order(tmp_path: Path, name: str, data: bytes, rows: list[Any]) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    found = read_table(path)
    assert found == rows
    assert [[*row] for row in found] == [[*row] for row in rows]


def test_parquet_and_arrow_keep_rows_and_columns_in_order(tmp_path: Path) -> None:
    table = pyarrow.Table.from_pylist(TWO)
    parquet.write_table(table, tmp_path / "a.parquet")
    with ipc.new_stream(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    for name in ("a.parquet", "a.arrow"):
        found = read_table(tmp_path / name)
        assert found == TWO
        assert [*found[0]] == ["question", "answer"]


WITH_OPTIONS = [
    ("a.json", b'{"x": {"y": [{"a": 1}]}}', "json", {"field": "x.y"}, [{"a": 1}]),
    ("a.data", JSONL, "json", {}, TWO),
    ("a.jsonl", JSONL, "json", {}, TWO),
    ("a.data", b"q;a\nWhy?;7\n", "csv", {"delimiter": ";"}, [{"q": "Why?", "a": "7"}]),
    ("a.csv", b"Why?|7\n", "csv", {"sep": "|", "names": ["q", "a"]}, [{"q": "Why?", "a": "7"}]),
    ("a.csv", "q\ncafé\n".encode("latin-1"), "csv", {"encoding": "latin-1"}, [{"q": "café"}]),
    ("a.tsv", b"q\ta\nWhy?\t7\n", "csv", {}, [{"q": "Why?", "a": "7"}]),
    ("a.md", b"one\ntwo\n", "text", {}, [{"text": "one"}, {"text": "two"}]),
    ("a.txt", b"a\nb\n\nc", "text", {"sample_by": "paragraph"}, [{"text": "a\nb"}, {"text": "c"}]),
    ("a.txt", b"one\ntwo", "text", {"sample_by": "document"}, [{"text": "one\ntwo"}]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "data", "kind", "options", "rows"), WITH_OPTIONS)
def test_a_named_format_and_its_options(
    tmp_path: Path, name: str, data: bytes, kind: str, options: dict[str, Any], rows: list[Any]
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert read_table(path, kind, options) == rows


REFUSED = [
    ("torn.jsonl", b'{"a": 1}\n{"a": ', "torn.jsonl, line 2: expected JSON"),
    ("list.jsonl", b"[1]\n", "line 1: expected an object with the row's columns, found list"),
    ("numbers.json", b"[1, 2]", "row 0: expected an object"),
    ("missing.json", b'{"a": 1}', "expected an object"),
    ("ragged.csv", b"a,b\n1,2\n3\n", "line 3: expected 2 cells, found 1"),
    ("ragged.csv", b"a,b\n1,2,3\n", "line 2: expected 2 cells, found 3"),
    ("latin.jsonl", b'{"a": "caf\xe9"}\n', "expected text in utf-8"),
    ("utf16.csv", "a,b\n1,2\n".encode("utf-16"), "expected text in utf-8"),
    ("not.parquet", b"PAR1 no", "cannot read"),
    ("not.jsonl.gz", b"plain", "cannot read"),
]


@pytest.mark.parametrize(("name", "data", "problem"), REFUSED, ids=[case[0] for case in REFUSED])
def test_what_is_no_table_is_refused_with_its_place(
    tmp_path: Path, name: str, data: bytes, problem: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    options = {"field": "rows"} if name == "missing.json" else {}
    with pytest.raises(AssetError) as raised:
        read_table(path, None, options)
    assert problem in str(raised.value)
    assert name in str(raised.value)


def test_an_unknown_suffix_and_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.jsonl"):
        read_table(tmp_path / "a.xlsx")
    with pytest.raises(AssetError, match="cannot read"):
        read_table(tmp_path / "none.jsonl")


def test_a_column_of_whole_numbers_holds_nothing_else(tmp_path: Path) -> None:
    file = File("toy", "a.tsv", (), columns={"question": 0, "answer": 1}, integers=("answer",))
    table = tmp_path / "a.tsv"
    table.write_text("How many?\t1,200\n", encoding="utf-8")
    assert read_file(file, table) == [{"question": "How many?", "answer": 1200}]
    table.write_text("How many?\tmany\n", encoding="utf-8")
    with pytest.raises(AssetError, match="expected a whole number in 1, found 'many'"):
        read_file(file, table)
