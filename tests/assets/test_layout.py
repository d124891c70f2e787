"""Which files are a split."""

from __future__ import annotations

from typing import Any

import pytest

from resit.assets.layout import by_split, matching, split_files
from resit.errors import UsageError

SHARDS = ["data/test-00000-of-00002.parquet", "data/test-00001-of-00002.parquet"]

MINI = "data/testmini-00000-of-00001.parquet"

FOUND = [
    (["README.md", "train.jsonl", "test.jsonl"], None, "test", ["test.jsonl"]),
    ([*reversed(SHARDS), "data/train-00000-of-00001.parquet"], None, "test", SHARDS),
    ([MINI, *SHARDS], None, "testmini", [MINI]),
    (["main/test-00000-of-00001.parquet", "other/test-00000-of-00001.parquet"], "main", "test",
     ["main/test-00000-of-00001.parquet"]),
    (["de/train/0000.parquet", "de/test/0000.parquet"], "de", "train", ["de/train/0000.parquet"]),
    (["en_dev.csv", "en_train.csv"], None, "validation", ["en_dev.csv"]),
    (["my-eval-set.json", "dataset_infos.json", ".hidden/test.json"], None, "test", ["my-eval-set.json"]),
    (["questions.csv"], None, "train", ["questions.csv"]),
    (["latest.csv"], None, "train", ["latest.csv"]),
    (["TEST.JSONL.GZ"], None, "test", ["TEST.JSONL.GZ"]),
]  # fmt: skip


@pytest.mark.parametrize(("names", "config", "split", "expected"), FOUND)
def test_names_say_the_split(names: list[str], config: str | None, split: str, expected: list[str]) -> None:
    assert split_files(names, config, split) == expected


def test_a_folder_can_be_named() -> None:
    assert split_files(["a/test.csv", "b/test.csv"], None, "test", data_dir="b/") == ["b/test.csv"]


CARD = {
    "configs": [
        {"config_name": "one", "data_dir": "x"},
        {"config_name": "two", "data_files": {"test": "y/**/*.csv"}, "default": True},
    ]
}
CARD_NAMES = ["x/test.csv", "x/train.csv", "y/a/1.csv", "y/b/c/2.csv"]


@pytest.mark.parametrize(
    ("config", "expected"),
    [("one", ["x/test.csv"]), ("two", CARD_NAMES[2:]), (None, CARD_NAMES[2:]), ("default", CARD_NAMES[2:])],
)
def test_a_card_goes_before_names(config: str | None, expected: list[str]) -> None:
    assert split_files(CARD_NAMES, config, "test", CARD) == expected


@pytest.mark.parametrize(
    ("names", "config", "card", "message"),
    [
        (["train.csv", "dev.csv"], None, {}, "sums has no split 'test'; it has train, validation"),
        (["README.md"], None, {}, "it has no file that could be read"),
        (["a/test.csv"], "b", {}, "sums has no configuration 'b'"),
        (CARD_NAMES, "three", CARD, "sums has no configuration 'three'"),
        (
            [],
            None,
            {"configs": [{"config_name": "a"}, {"config_name": "b"}]},
            "sums has several configurations",
        ),
    ],
)
def test_what_is_not_there_is_told_with_what_is(
    names: list[str], config: str | None, card: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as raised:
        split_files(names, config, "test", card, what="sums")
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.csv", ["a.csv"]),
        ("**/*.csv", ["a.csv", "x/b.csv", "x/y/c.csv"]),
        ("x/**", ["x/b.csv", "x/y/c.csv"]),
        ("x/?.csv", ["x/b.csv"]),
        ("[ab].csv", ["a.csv"]),
        ("a.csv", ["a.csv"]),
        ("a+csv", []),
    ],
)
def test_patterns(pattern: str, expected: list[str]) -> None:
    assert matching(["a.csv", "x/b.csv", "x/y/c.csv"], [pattern]) == expected


@pytest.mark.parametrize(
    ("data_files", "expected"),
    [
        ("a.csv", {"train": ["a.csv"]}),
        (["a.csv", "b.csv"], {"train": ["a.csv", "b.csv"]}),
        ({"test": "a.csv", "dev": ["b.csv"]}, {"test": ["a.csv"], "dev": ["b.csv"]}),
        ([{"split": "test", "path": "a.csv"}], {"test": ["a.csv"]}),
    ],
)
def test_data_files_in_every_spelling(data_files: Any, expected: dict[str, list[str]]) -> None:
    assert by_split(data_files) == expected
