"""lm-eval's wheel, fetched once, and a mirror that holds it beside the shared data sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from resit import assets, tasks
from resit.errors import AssetError

EXEMPLARS = ("lm_eval/tasks/gsm8k/gsm8k-cot.yaml", "lm_eval/tasks/gsm8k/gsm8k-cot-llama.yaml")


@pytest.fixture(scope="session")
def wheel_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mirror with lm-eval's wheel and its exemplar files; skips where no package index can be reached."""
    folder = tmp_path_factory.mktemp("mirror")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RESIT_CACHE", str(folder))
        try:
            wheel = assets.fetch("lm-eval", assets.asset("lm-eval").archive)
        except AssetError as error:
            pytest.skip(f"lm-eval's wheel cannot be had: {error}")
    target = folder / "lm-eval" / wheel.name
    if not target.exists():
        target.parent.mkdir(exist_ok=True)
        target.symlink_to(wheel)
    with ZipFile(wheel) as archive:
        archive.extractall(folder / "lm-eval", EXEMPLARS)
    return folder


@pytest.fixture
def wheel(wheel_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """lm-eval's task files can be had, the data sets cannot."""
    monkeypatch.setenv("RESIT_MIRROR", str(wheel_folder))


@pytest.fixture(scope="session")
def whole_mirror(wheel_folder: Path, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mirror with lm-eval's wheel and the shared data sets."""
    folder = tmp_path_factory.mktemp("whole")
    for place in [*(shared / "mirror").iterdir(), wheel_folder / "lm-eval"]:
        (folder / place.name).symlink_to(place)
    return folder


@pytest.fixture
def mirror(whole_mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """lm-eval's task files and the shared data sets can be had."""
    monkeypatch.setenv("RESIT_MIRROR", str(whole_mirror))


@pytest.fixture
def make_task(tmp_path: Path) -> Callable[..., tasks.Task]:
    """Makes a task from keys and rows: `make_task({"doc_to_text": …}, test=[…], train=[…])`."""

    def made(keys: dict[str, Any], **splits: list[dict[str, Any]]) -> tasks.Task:
        from resit.tasks.dialect import task_config

        base = {"task": "t", "dataset_path": "synthetic", "test_split": "test", "doc_to_text": "{{q}}"}
        config = task_config({**base, "doc_to_target": "{{a}}", **keys}, "t.yaml")
        return tasks.Task(config, "t.yaml", lambda path, name, split, **options: splits[split])

    return made
