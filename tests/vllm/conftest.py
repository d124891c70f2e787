"""A real model in a real vLLM engine, loaded once for the whole folder. `make test-vllm` runs it."""

from __future__ import annotations

import os
import runpy
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from resit import assets
from resit.errors import AssetError
from resit.models import Setup, create
from resit.models.vllm.model import VllmModel
from resit.records import Document, Prompt, Question, Request, Sampling

collect_ignore_glob = [] if find_spec("vllm") else ["test_*.py"]

CONTEXT, SLOTS = 1024, 8
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """vLLM and torch warn of one another; their warnings are no errors of ours."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("default"))


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2-135M-Instruct as transformers' float32 checkpoint; `$RESIT_TEST_CHECKPOINT` saves making it."""
    made = os.environ.get("RESIT_TEST_CHECKPOINT")
    if made:
        return Path(made)
    try:
        gguf = assets.fetch("smollm2-135m")
    except AssetError as error:
        pytest.skip(f"the real model cannot be had here: {error}")
    script = Path(__file__).parents[1] / "reference" / "dequantised.py"
    folder = tmp_path_factory.mktemp("checkpoint")
    runpy.run_path(str(script))["write_folder"](gguf, folder)
    return folder


def arguments(checkpoint: Path, **more: Any) -> dict[str, Any]:
    """Model arguments as the command line gives them."""
    own = {"pretrained": str(checkpoint), "dtype": "float32", "enforce_eager": "true", "block_size": "32"}
    return {**own, "max_model_len": str(CONTEXT), **more}


@pytest.fixture(scope="session")
def model(checkpoint: Path) -> Iterator[VllmModel]:
    """The loaded model."""
    with create("vllm", arguments(checkpoint), Setup(concurrency=SLOTS)) as loaded:
        assert isinstance(loaded, VllmModel)
        loaded.load()
        yield loaded


@pytest.fixture
def beside(model: VllmModel, checkpoint: Path) -> Callable[..., VllmModel]:
    """Builds models of other arguments on the engine that is already there."""

    def build(**more: Any) -> VllmModel:
        other = create("vllm", arguments(checkpoint, **more), Setup(concurrency=SLOTS))
        assert isinstance(other, VllmModel)
        other._running = model._running
        return other

    return build


@pytest.fixture(scope="session")
def ask() -> Callable[..., Request]:
    """Builds a request: `ask(prompt, doc_id=0, repeat=0, seed=0, **sampling)`."""

    def build(prompt: Prompt, doc_id: int = 0, repeat: int = 0, seed: int = 0, **sampling: Any) -> Request:
        question = Question("t", Document(doc_id, f"hash{doc_id}", {}), prompt, "2")
        return Request(question, repeat, Sampling(**sampling), seed)

    return build
