"""Rows as a task names them: catalogued, mirrored, local."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from resit import assets
from resit.errors import AssetError, UsageError

ROWS = [{"question": "What is 1 + 1?", "answer": "2"}, {"question": "What is 2 + 2?", "answer": "4"}]


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.fixture
def mirror(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The shared mirror, read only."""
    monkeypatch.setenv("RESIT_MIRROR", str(shared / "mirror"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    return shared / "mirror"


@pytest.fixture
def own_mirror(mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the shared mirror to spoil."""
    copy = tmp_path / "mirror"
    shutil.copytree(mirror, copy)
    monkeypatch.setenv("RESIT_MIRROR", str(copy))
    return copy


# Digests computed outside the package from the published files:
# sha256 over json.dumps(row, sort_keys=True, separators=(",", ":")) + "\n"
GSM8K = [("train", 7473), ("test", 1319)]


@pytest.mark.parametrize(("split", "count"), GSM8K)
@pytest.mark.parametrize("path", ["openai/gsm8k", "gsm8k"])
def test_gsm8k_under_both_names(mirror: Path, path: str, split: str, count: int) -> None:
    found = assets.load(path, "main", split)
    published = [json.loads(line) for line in (mirror / f"gsm8k/{split}.jsonl").read_bytes().splitlines()]
    assert found.rows == published
    assert len(found.rows) == count
    assert [*found.rows[0]] == ["question", "answer"]
    assert found.checked == "digest of the rows"
    assert found.identity["dataset"] == "openai/gsm8k"
    assert assets.dataset_identity(path, None, split) == found.identity


def test_gsm8k_as_parquet_is_the_same_data_set(own_mirror: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    from_jsonl = assets.load("openai/gsm8k", "main", "test")
    folder = own_mirror / "gsm8k"
    (folder / "main").mkdir()
    table = pyarrow.Table.from_pylist(from_jsonl.rows)
    parquet.write_table(table, folder / "main/test-00000-of-00001.parquet")
    (folder / "test.jsonl").unlink()
    from_parquet = assets.load("openai/gsm8k", "main", "test")
    assert from_parquet.source.endswith(".parquet")
    assert from_parquet.rows == from_jsonl.rows
    assert from_parquet.identity == from_jsonl.identity


def test_other_line_ends_and_a_byte_order_mark_do_not_matter(own_mirror: Path) -> None:
    path = own_mirror / "gsm8k/test.jsonl"
    expected = assets.load("gsm8k", "main", "test")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n") + b"\r\n")
    found = assets.load("gsm8k", "main", "test")
    assert found.rows == expected.rows
    assert found.identity == expected.identity


def test_one_changed_byte_is_an_error_with_both_digests_and_the_file(own_mirror: Path) -> None:
    path = own_mirror / "gsm8k/test.jsonl"
    path.write_bytes(path.read_bytes().replace(b"#### 18", b"#### 19", 1))
    with pytest.raises(AssetError) as raised:
        assets.rows("gsm8k", "main", "test")
    for part in ("expected sha256 3730d312f6e3440559ace48831e51066", "found", str(path)):
        assert part in str(raised.value)


def test_wrong_rows_in_a_file_whose_bytes_cannot_be_pinned(own_mirror: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    rows = assets.rows("gsm8k", "main", "test")
    folder = own_mirror / "gsm8k"
    (folder / "main").mkdir()
    (folder / "test.jsonl").unlink()
    path = folder / "main/test-00000-of-00001.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(rows[:-1]), path)
    with pytest.raises(AssetError, match="expected 1319 rows, found 1318"):
        assets.rows("gsm8k", "main", "test")
    parquet.write_table(pyarrow.Table.from_pylist(rows[::-1]), path)
    with pytest.raises(AssetError, match="expected rows with digest sha256:1768"):
        assets.rows("gsm8k", "main", "test")


@pytest.mark.parametrize("language", ["en", "es", "fr", "de", "ru", "zh", "ja", "th", "sw", "bn", "te"])
def test_mgsm_has_the_hubs_columns(mirror: Path, language: str) -> None:
    rows = assets.rows("juletxara/mgsm", language, "test")
    lines = (mirror / f"mgsm/mgsm_{language}.tsv").read_text(encoding="utf-8").strip("\n").split("\n")
    assert [row["question"] for row in rows] == [line.split("\t")[0] for line in lines]
    assert [*rows[0]] == ["question", "answer", "answer_number", "equation_solution"]
    assert rows[0]["answer_number"] == 18
    assert [row["answer_number"] for row in rows if row["answer_number"] > 100_000] == [114200, 276000]
    assert all(row["answer"] is None for row in rows)


OTHERS = [
    ("reasoning-machines/gsm-hard", None, "train", 1319, ["input", "code", "target"]),
    ("gsm_hard", None, "train", 1319, ["input", "code", "target"]),
    ("svamp", None, "test", 1000, ["ID", "Body", "Question", "Equation", "Answer", "Type"]),
    ("madrylab/gsm8k-platinum", "main", "test", 1209, ["question", "answer"]),
    ("ScaleAI/gsm1k_public_50", None, "test", 50, ["answer", "question"]),
    ("ScaleAI/gsm1k_public_50", None, "train", 7473, ["question", "answer"]),
    ("ScaleAI/gsm1k", None, "train", 7473, ["question", "answer"]),
]


@pytest.mark.parametrize(("path", "config", "split", "count", "columns"), OTHERS)
def test_the_others(
    mirror: Path, path: str, config: str | None, split: str, count: int, columns: list[str]
) -> None:
    rows = assets.rows(path, config, split)
    assert len(rows) == count
    assert [*rows[0]] == columns


def test_the_platinum_re_export_is_told_apart(mirror: Path) -> None:
    found = assets.load("madrylab/gsm8k-platinum", "main", "test")
    assert found.checked == "number of rows"
    assert found.source.endswith("trex_gsm8k_platinum_test.jsonl")
    gsm8k = {row["question"]: row["answer"] for row in assets.rows("gsm8k", "main", "test")}
    golds = [(row["answer"].split("####")[1], gsm8k[row["question"]].split("####")[1]) for row in found.rows]
    assert sum(one.strip() != other.strip() for one, other in golds) == 10


def test_the_public_fifty_stay_text(mirror: Path) -> None:
    assert {type(row["answer"]) for row in assets.rows("ScaleAI/gsm1k_public_50")} == {str}


# The full GSM1k is not here: a stand-in of 1205 rows that holds the published 50


def published_fifty(mirror: Path) -> list[dict[str, str]]:
    text = (mirror / "gsm1k/gsm1k_public_50.csv").read_text(encoding="utf-8")
    return [
        {"question": row["question"], "answer": row["answer"]} for row in csv.DictReader(io.StringIO(text))
    ]


def stand_in(mirror: Path) -> list[dict[str, str]]:
    return [{"question": f"What is {n} + 1?", "answer": str(n + 1)} for n in range(1155)] + published_fifty(
        mirror
    )


@pytest.mark.parametrize("name", ["test.jsonl", "data/test-00000-of-00001.parquet"])
def test_gsm1k_from_a_mirror(own_mirror: Path, name: str) -> None:
    import pyarrow
    from pyarrow import parquet

    rows = stand_in(own_mirror)
    path = own_mirror / "gsm1k" / name
    path.parent.mkdir(exist_ok=True)
    if name.endswith(".parquet"):
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        path.write_bytes(jsonl(rows))
    found = assets.load("ScaleAI/gsm1k", None, "test")
    assert found.rows == rows
    assert found.checked == "number of rows, and all 50 rows of gsm1k/gsm1k_public_50.csv verbatim"
    assert found.identity["digest"] == assets.dataset_digest(rows)
    assert "revision" not in found.identity


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda rows: rows[1:], "expected 1205 rows, found 1204"),
        (lambda rows: [*rows[:-1], {**rows[-1], "answer": "0"}], "expected all 50 rows of"),
    ],
)
def test_what_is_not_gsm1k_is_refused(own_mirror: Path, spoil: Any, problem: str) -> None:
    (own_mirror / "gsm1k/test.jsonl").write_bytes(jsonl(spoil(stand_in(own_mirror))))
    with pytest.raises(AssetError, match=problem):
        assets.rows("gsm1k")


def test_gsm1k_from_the_hub_at_its_pinned_revision(mirror: Path, hub: Any) -> None:
    revision = "bc09569d09a614b9b530edc7f076fb214ac10493"
    pinned = {"data/test-00000-of-00001.jsonl": jsonl(stand_in(mirror))}
    hub.add("ScaleAI/gsm1k", {"test.jsonl": b""}, branches={revision: pinned})
    found = assets.load("ScaleAI/gsm1k")
    assert len(found.rows) == 1205
    assert any(f"/revision/{revision}" in line for line in hub.asked)


def test_gsm1k_out_of_reach_is_one_clear_paragraph(mirror: Path) -> None:
    with pytest.raises(AssetError) as raised:
        assets.rows("ScaleAI/gsm1k")
    message = str(raised.value)
    assert raised.value.exit_status == 6
    assert "\n" not in message
    assert "hf:ScaleAI/gsm1k@bc09569d09a614b9b530edc7f076fb214ac10493" in message
    assert "DIR/gsm1k/test.jsonl and set RESIT_MIRROR=DIR" in raised.value.hint


# Local files


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    folder = tmp_path / "sums"
    folder.mkdir()
    (folder / "train.jsonl").write_bytes(jsonl(ROWS[:1]))
    (folder / "test.jsonl").write_bytes(b"\xef\xbb\xbf" + jsonl(ROWS).replace(b"\n", b"\r\n") + b"\r\n")
    return folder


def test_a_local_folder(sums: Path) -> None:
    found = assets.load(str(sums), None, "test")
    assert found.rows == ROWS
    assert found.identity == {
        "dataset": "sums",
        "config": None,
        "split": "test",
        "rows": 2,
        "digest": assets.dataset_digest(ROWS),
    }
    assert assets.rows("sums", None, "train", folder=sums.parent) == ROWS[:1]


def test_a_hub_data_set_in_the_mirror(sums: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mirror/org").mkdir(parents=True)
    sums.rename(tmp_path / "mirror/org/sums")
    monkeypatch.setenv("RESIT_MIRROR", str(tmp_path / "mirror"))
    found = assets.load("org/sums")
    assert found.rows == ROWS
    assert found.identity["dataset"] == "org/sums"


DATA_FILES = [
    ({"test": "sums/test.jsonl"}, "test", ROWS),
    ({"test": ["sums/train.jsonl", "sums/test.jsonl"]}, "test", ROWS[:1] + ROWS),
    ({"test": "sums/t*.jsonl"}, "test", ROWS + ROWS[:1]),
    ("sums/train.jsonl", "train", ROWS[:1]),
]


@pytest.mark.parametrize(("data_files", "split", "rows"), DATA_FILES)
def test_named_files(sums: Path, data_files: Any, split: str, rows: list[Any]) -> None:
    assert assets.rows("json", None, split, data_files=data_files, folder=sums.parent) == rows
    absolute = json.loads(json.dumps(data_files).replace("sums/", f"{sums}/"))
    assert assets.rows("json", None, split, data_files=absolute) == rows


def test_the_identity_of_local_files_does_not_depend_on_where_they_lie(sums: Path, tmp_path: Path) -> None:
    shutil.copytree(sums, tmp_path / "elsewhere/sums")
    one = assets.dataset_identity("json", None, "test", data_files={"test": str(sums / "test.jsonl")})
    there = tmp_path / "elsewhere"
    other = assets.dataset_identity(
        "json", None, "test", data_files={"test": "sums/test.jsonl"}, folder=there
    )
    assert one == other


def test_a_file_named_by_its_address_is_fetched_once(web: Any) -> None:
    web.reply = lambda *_: (200, {}, jsonl(ROWS))
    for _ in range(2):
        assert assets.rows("json", None, "test", data_files={"test": f"{web.url}/a/test.jsonl?raw=1"}) == ROWS
    assert len(web.asked) == 1


def test_addresses_that_differ_in_anything_are_different_files(web: Any, tmp_path: Path) -> None:
    web.reply = lambda _method, path, _headers: (200, {}, jsonl([{"asked": path}]))
    paths = ["/test.jsonl?raw=1", "/test.jsonl?raw=2", "/a/test.jsonl", "/a@b/te:st*.jsonl", "/..", "/"]
    for path in paths * 2:
        found = assets.rows("json", None, "test", data_files={"test": f"{web.url}{path}"})
        assert found == [{"asked": path}]
    assert len(web.asked) == len(paths)
    kept = [
        path.relative_to(assets.cache_folder()) for path in assets.cache_folder().rglob("*") if path.is_file()
    ]
    assert sorted(path.name for path in kept) == ["file", "file", *["te_st_.jsonl"], *["test.jsonl"] * 3]
    assert {len(path.parts) for path in kept} == {3}
    assert not [path for path in kept if set(str(path)) & set('<>:"|?*')], "no file system refuses the name"


REFUSED = [
    (("gms8k",), {}, UsageError, "there is no data set 'gms8k'. Did you mean 'gsm8k'?"),
    (("json",), {}, UsageError, "needs data_files"),
    (("json", None, "dev"), {"data_files": {"test": "a.jsonl"}}, UsageError, "no split 'dev'; it has test"),
    (("json",), {"data_files": {"test": "none.jsonl"}}, AssetError, "there is no such file at"),
    (("csv",), {"data_files": {"test": "x"}, "shuffle": True}, UsageError, "unknown option shuffle"),
    (("json",), {"data_files": {"test": "hf://models/org/x/y"}}, UsageError, "hf://models/org/x/y"),
]


@pytest.mark.parametrize(("named", "options", "kind", "message"), REFUSED)
def test_what_cannot_be_read_is_refused(
    named: tuple[Any, ...], options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as raised:
        assets.rows(*named, **options)
    assert message in str(raised.value)


def test_options_that_only_say_how_to_load_have_no_effect(sums: Path) -> None:
    plain = assets.load(str(sums))
    assert assets.load(str(sums), trust_remote_code=True, streaming=False, cache_dir="/x") == plain
