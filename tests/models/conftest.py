"""Requests to ask models, and the real model for those who need it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resit import assets
from resit.errors import AssetError
from resit.records import Document, Prompt, Question, Request, Sampling

USERS_CACHE = os.environ.get("RESIT_CACHE")

Ask = Callable[..., Request]


@pytest.fixture(scope="session")
def ask() -> Ask:
    """Builds a request: `ask(prompt, doc_id=0, repeat=0, seed=0, task="t", **sampling)`."""

    def build(
        prompt: Prompt = "Q: 1+1?\nA:",
        doc_id: int = 0,
        repeat: int = 0,
        seed: int = 0,
        task: str = "t",
        **sampling: Any,
    ) -> Request:
        question = Question(task, Document(doc_id, f"hash{doc_id}", {}), prompt, "2")
        return Request(question, repeat, Sampling(**sampling), seed)

    return build


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The catalogue's real model, kept between test runs in the user's own cache."""
    with pytest.MonkeyPatch.context() as patch:
        if USERS_CACHE:
            patch.setenv("RESIT_CACHE", USERS_CACHE)
        else:
            patch.delenv("RESIT_CACHE", raising=False)
        try:
            path = assets.fetch("smollm2-135m")
        except AssetError as error:
            pytest.skip(f"the real model cannot be had here: {error}")
    return path
