"""The catalogue itself: complete, pinned, honest about what is not."""

from __future__ import annotations

import re

import pytest

from resit import assets
from resit.assets import sources
from resit.assets.catalogue import Asset, File, datasets
from resit.assets.hub import SOURCE

ENTRIES = list(assets.catalogue().values())
FILES = [file for entry in ENTRIES for file in entry.files.values()]
SHA256 = re.compile(r"[0-9a-f]{64}")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_asset_tells_its_licence_where_that_is_stated_and_its_origin(entry: Asset) -> None:
    assert entry.title
    assert entry.licence
    assert entry.licence_stated_in
    assert entry.provenance


@pytest.mark.parametrize("file", FILES, ids=str)
def test_every_file_is_pinned_by_its_bytes_or_by_its_splits_rows(file: File) -> None:
    if file.sha256:
        assert SHA256.fullmatch(file.sha256)
        return
    splits = [s for d in assets.asset(file.asset).datasets for c in d.configs.values() for s in c.values()]
    (split,) = [split for split in splits if file.name in split.files]
    assert split.rows


@pytest.mark.parametrize("source", [source for file in FILES for source in file.sources])
def test_every_source_can_be_read_as_one(source: str) -> None:
    scheme = source.partition(":")[0]
    patterns = {"hf": SOURCE, "pypi": sources.PYPI, "https": sources.GITHUB}
    assert patterns[scheme].fullmatch(source)


def test_a_branch_is_named_only_for_files_that_are_pinned_by_sha256_or_checked_otherwise() -> None:
    loose = [str(file) for file in FILES if any("@main/" in s for s in file.sources) and not file.sha256]
    assert loose == ["gsm8k_platinum/main/test-00000-of-00001.parquet"]
    assert "only its number of rows is checked" in assets.asset("gsm8k_platinum").note


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_split_names_files_of_its_asset_and_can_be_checked(entry: Asset) -> None:
    for dataset in entry.datasets:
        for splits in dataset.configs.values():
            for split in splits.values():
                assert set(split.files) <= set(entry.files)
                assert split.generated or split.same_as or split.rows
                assert split.digest is None or split.digest.startswith("sha256:")
                assert not split.hub or (dataset.revision and split.contains)


def test_no_two_data_sets_share_a_name() -> None:
    names = [name for e in ENTRIES for d in e.datasets for name in (d.path, *d.aliases)]
    assert len(names) == len(set(names)) == len(datasets())


def test_the_public_surface_is_what_is_listed() -> None:
    assert assets.__all__ == sorted(assets.__all__, key=lambda name: (name.islower(), name))
    assert all(hasattr(assets, name) for name in assets.__all__)
