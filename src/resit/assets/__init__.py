"""Pinned external files: catalogue, fetching, verification, rows."""

from __future__ import annotations

from resit.assets.catalogue import Asset, asset, catalogue
from resit.assets.fetch import cache_folder, fetch
from resit.assets.rows import rows

__all__ = ["Asset", "asset", "cache_folder", "catalogue", "fetch", "rows"]
