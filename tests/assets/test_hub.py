"""The hub through huggingface-hub, against a loopback server with the hub's endpoints."""

from __future__ import annotations

import builtins
import io
import json
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from resit import assets
from resit.assets.catalogue import File
from resit.assets.fetch import obtain
from resit.errors import AssetError, UsageError

ROWS = [{"question": "What is 1 + 1?", "answer": "2"}, {"question": "What is 2 + 2?", "answer": "4"}]
MORE = [{"question": "What is 3 + 3?", "answer": "6"}]


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def table(rows: list[dict[str, Any]]) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), sink)
    return sink.getvalue()


def file_at(source: str) -> File:
    return File("sums", "test.jsonl", (source,))


def test_a_file_comes_through_the_redirect_and_is_asked_for_once(hub: Any) -> None:
    hub.add("org/sums", {"data/test.jsonl": jsonl(ROWS)})
    file = file_at("hf:org/sums@main/data/test.jsonl")
    path = obtain(file)[1]
    assert path.read_bytes() == jsonl(ROWS)
    assert any(line.startswith("GET /blobs/") for line in hub.asked)
    asked = len(hub.asked)
    assert obtain(file)[1] == path
    assert len(hub.asked) == asked


@pytest.mark.parametrize(
    ("source", "reason", "remedy"),
    [
        ("hf:org/none@main/test.jsonl", "no such repository, or a private one", "HF_TOKEN"),
        ("hf:org/private@main/test.jsonl", "no such repository, or a private one", "HF_TOKEN"),
        ("hf:org/gated@main/test.jsonl", "gated", "ask for access"),
        ("hf:org/sums@main/none.jsonl", "the repository has no such file", "RESIT_MIRROR"),
        ("hf:org/sums@v9/test.jsonl", "the repository has no such revision", "RESIT_MIRROR"),
        ("hf:org-sums/test.jsonl", "expected hf:org/name@revision/path", "RESIT_MIRROR"),
    ],
)
def test_the_reason_and_what_would_help_are_told(hub: Any, source: str, reason: str, remedy: str) -> None:
    hub.add("org/sums", {"test.jsonl": jsonl(ROWS)})
    hub.add("org/gated", {"test.jsonl": jsonl(ROWS)}, gated=True)
    hub.add("org/private", {"test.jsonl": jsonl(ROWS)}, token="hf_secret")
    with pytest.raises(AssetError) as raised:
        obtain(file_at(source))
    assert f"{source} (" in str(raised.value)
    assert reason in str(raised.value)
    assert remedy in raised.value.hint


def test_the_users_token_is_sent(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("org/private", {"test.jsonl": jsonl(ROWS)}, token="hf_secret")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert obtain(file_at("hf:org/private@main/test.jsonl"))[1].read_bytes() == jsonl(ROWS)


def test_without_the_extra_the_error_names_it(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_hub(name: str, *args: Any) -> Any:
        if name.partition(".")[0] == "huggingface_hub":
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", without_hub)
    with pytest.raises(AssetError) as raised:
        obtain(file_at("hf:org/sums@main/test.jsonl"))
    assert "huggingface-hub is not installed" in str(raised.value)
    assert "pip install 'resit[hub]'" in raised.value.hint


def test_an_unreachable_hub_is_told_at_once(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(AssetError, match="Connection refused"):
        obtain(file_at("hf:org/sums@main/test.jsonl"))


def test_a_data_set_is_read_at_the_newest_commit_which_the_identity_names(hub: Any) -> None:
    repo = hub.add("org/sums", {"README.md": b"", "data/test-00000-of-00001.parquet": table(ROWS)})
    found = assets.load("org/sums", None, "test")
    assert found.rows == ROWS
    commit, _ = repo.at("main")
    assert found.identity == {
        "dataset": "org/sums",
        "config": None,
        "split": "test",
        "revision": commit,
        "rows": 2,
        "digest": assets.dataset_digest(ROWS),
    }


def test_a_revision_is_a_branch_or_a_commit(hub: Any) -> None:
    repo = hub.add("org/sums", {"test.jsonl": jsonl(ROWS)}, branches={"v2": {"test.jsonl": jsonl(MORE)}})
    commit, _ = repo.at("v2")
    assert assets.rows("org/sums", None, "test", revision="v2") == MORE
    assert assets.rows("org/sums", None, "test", revision=commit) == MORE
    assert assets.rows("org/sums") == ROWS


def test_the_card_says_which_files_are_which_split(hub: Any) -> None:
    files = {"a/one.jsonl": jsonl(ROWS), "a/two.jsonl": jsonl(MORE), "b/x.csv": b"question,answer\nWhy?,7\n"}
    hub.add("org/sums", files, card={
        "configs": [
            {"config_name": "plain", "data_files": [{"split": "mini", "path": "a/*.jsonl"}]},
            {"config_name": "why", "data_files": "b/x.csv"},
        ]
    })  # fmt: skip
    assert assets.rows("org/sums", "plain", "mini") == ROWS + MORE
    assert assets.rows("org/sums", "why", "train") == [{"question": "Why?", "answer": "7"}]
    with pytest.raises(UsageError, match="no split 'test'; it has mini"):
        assets.rows("org/sums", "plain", "test")
    with pytest.raises(UsageError) as raised:
        assets.rows("org/sums", "other", "mini")
    assert "plain, why" in raised.value.hint


def test_a_script_is_never_run_its_converted_copy_is_read(hub: Any) -> None:
    converted = {"de/train/0000.parquet": table(MORE), "de/test/0000.parquet": table(ROWS)}
    hub.add("org/sums", {"sums.py": b"raise SystemExit"}, branches={"refs/convert/parquet": converted})
    assert assets.rows("org/sums", "de", "test") == ROWS
    assert assets.rows("org/sums", "de", "train") == MORE


def test_what_was_fetched_once_is_read_without_network(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"one.jsonl": jsonl(ROWS), "two.jsonl": jsonl(MORE)}
    hub.add("org/sums", files, card={"configs": [{"data_files": [{"split": "test", "path": "*.jsonl"}]}]})
    online = assets.load("org/sums")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    offline = assets.load("org/sums")
    assert offline.rows == online.rows == ROWS + MORE
    assert offline.identity == online.identity


def test_data_files_name_hub_files(hub: Any) -> None:
    hub.add("org/sums", {"en/t.json": jsonl(ROWS), "en/u.json": jsonl(MORE)})
    picked = assets.rows("org/sums", None, "test", data_files={"test": "en/t.json", "train": "en/u.json"})
    by_address = assets.rows("json", None, "validation", data_files={
        "validation": "hf://datasets/org/sums/en/u.json"
    })  # fmt: skip
    assert picked == ROWS
    assert by_address == MORE


def test_an_unknown_data_set_is_an_asset_error_with_the_mirror_as_remedy(hub: Any) -> None:
    with pytest.raises(AssetError) as raised:
        assets.rows("org/none")
    assert "data set org/none test cannot be had; tried hf:org/none (no such repository" in str(raised.value)
    assert "DIR/org/none/test.jsonl and set RESIT_MIRROR=DIR" in raised.value.hint
