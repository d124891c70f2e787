"""Pinned external files and the rows in them: catalogue, fetching, verification, generation."""

from __future__ import annotations

from resit.assets.catalogue import Asset, asset, catalogue
from resit.assets.digest import dataset_digest
from resit.assets.fetch import cache_folder, fetch, members
from resit.assets.rows import dataset_identity, load, rows
from resit.assets.splits import LoadedSplit

__all__ = [
    "Asset",
    "LoadedSplit",
    "asset",
    "cache_folder",
    "catalogue",
    "dataset_digest",
    "dataset_identity",
    "fetch",
    "load",
    "members",
    "rows",
]
