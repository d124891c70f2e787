"""Fixtures that every room's tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # how long an example takes says how busy the machine is
settings.load_profile("untimed")


def shared_folder() -> Path | None:
    """Folder with reference vectors: `$RESIT_SHARED`, else `shared` beside the checkout."""
    candidates = [os.environ.get("RESIT_SHARED"), Path(__file__).parents[2] / "shared"]
    return next((Path(c) for c in candidates if c and (Path(c) / "golden").is_dir()), None)


@pytest.fixture(scope="session")
def shared() -> Path:
    folder = shared_folder()
    if folder is None:
        pytest.skip(
            "reference vectors absent: set RESIT_SHARED to the folder that holds golden/, logs/, mirror/"
        )
    return folder


@pytest.fixture(autouse=True)
def _isolated_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tests see no cache, mirror or hub token of the user's."""
    for name in ("RESIT_MIRROR", "HF_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RESIT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def model_cache() -> Path:
    """A cache folder with the small real model; kept between test runs, filled when need be."""
    from resit import assets
    from resit.errors import AssetError

    pytest.importorskip("xllamacpp", reason="needs `pip install 'resit[llamacpp]'`")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RESIT_CACHE", raising=False)
        folder = assets.cache_folder()
        try:
            assets.fetch("smollm2-135m")
        except AssetError as error:
            pytest.skip(f"the small model cannot be had: {error}")
        return folder
