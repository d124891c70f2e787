"""The guide names every key, sampler and task family that there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from resit import tasks
from resit.prompts.exemplars import SAMPLERS
from resit.tasks.dialect import FewshotKeys, ResitKeys, TaskConfig

GUIDE = Path(__file__).parents[2] / "docs" / "tasks.md"


@pytest.fixture(scope="module")
def guide() -> str:
    return GUIDE.read_text(encoding="utf-8")


def test_every_key_and_sampler_is_explained(guide: str) -> None:
    for name in (*TaskConfig.model_fields, *FewshotKeys.model_fields, *ResitKeys.model_fields, *SAMPLERS):
        assert f"`{name}`" in guide, name


def test_every_task_is_named(guide: str) -> None:
    for name in tasks.index():
        family = name[:-2] + "xx" if name.startswith("mgsm") else name
        assert f"`{family}`" in guide or name.startswith("gsm8k_platinum"), name
    for pair in ("gsm8k/gsm1k",):
        assert f"`{pair}`" in guide
