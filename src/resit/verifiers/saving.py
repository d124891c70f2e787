"""Verifiers and checkpoints on disk."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from resit.errors import UsageError
from resit.jsonl import cannot_write, write_atomic
from resit.verifiers.backbone import Backbone, load_backbone
from resit.verifiers.head import Head
from resit.verifiers.settings import Settings

CHECKPOINT = "checkpoint.pt"
CARD = "verifier.json"
HEAD = "head.pt"
MODEL = "model"
TAUGHT = "questions.json"


def write_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Replace a checkpoint in one step."""
    part = path.with_name(f".{path.name}.part")
    try:
        torch.save(state, part)
        os.replace(part, path)
    except (OSError, RuntimeError) as error:
        part.unlink(missing_ok=True)
        raise cannot_write(path, error if isinstance(error, OSError) else OSError(str(error))) from error


def read_checkpoint(path: Path) -> dict[str, Any] | None:
    """What a checkpoint holds, None where there is none. Raises UsageError for a damaged one."""
    if not path.exists():
        return None
    try:
        found: dict[str, Any] = torch.load(path, weights_only=True)
    except Exception as error:  # torch raises whatever its unpickler meets
        raise UsageError(f"{path} is damaged: {error}", "remove it to train from the beginning") from error
    return found


def save_verifier(
    folder: Path, settings: Settings, backbone: Backbone, head: Head, taught: Sequence[str]
) -> None:
    """Write the head, what of the language model was trained, and which questions it was taught with."""
    write_atomic(folder / TAUGHT, json.dumps(list(taught)).encode())
    write_checkpoint(folder / HEAD, head.state_dict())
    if settings.mode != "frozen":
        backbone.model.save_pretrained(folder / MODEL)
    write_atomic(folder / CARD, json.dumps({"settings": settings.model_dump()}, indent=2).encode() + b"\n")


def taught_with(folder: Path) -> frozenset[str]:
    """Keys of the questions whose solutions decided the weights. Raises UsageError."""
    try:
        return frozenset(json.loads((folder / TAUGHT).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder / TAUGHT} cannot be read: {error}") from None


def load_verifier(folder: Path) -> tuple[Settings, Backbone, Head]:
    """A trained verifier. Raises UsageError where the folder holds none."""
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
        settings = Settings(**card["settings"])
    except FileNotFoundError:
        raise UsageError(
            f"{folder} holds no verifier: it has no {CARD}", "resit verifier train makes one"
        ) from None
    except (ValueError, KeyError) as error:
        raise UsageError(f"{folder / CARD} is damaged: {error}") from None
    backbone = _backbone(folder, settings)
    head = Head(backbone.width)
    state = read_checkpoint(folder / HEAD)
    if state is None:
        raise UsageError(f"{folder} holds no {HEAD}", "its training did not end; the same command goes on")
    try:
        head.load_state_dict(state)
    except RuntimeError as error:
        raise UsageError(f"{folder / HEAD} is of another model or release: {error}") from None
    return settings, backbone, head.eval()


def _backbone(folder: Path, settings: Settings) -> Backbone:
    if settings.mode == "full":
        tokenizer = load_backbone(settings).tokenizer
        from transformers import AutoModelForCausalLM

        return Backbone(
            AutoModelForCausalLM.from_pretrained(folder / MODEL, dtype=torch.float32), tokenizer, None
        )
    backbone = load_backbone(settings)
    if settings.mode == "lora":
        from peft import PeftModel

        plain = backbone.model.unload()
        return Backbone(PeftModel.from_pretrained(plain, folder / MODEL), backbone.tokenizer, None)
    return backbone
