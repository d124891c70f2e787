"""Documents to text: few-shot selection, template rendering, chat turns."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from resit.prompts.asking import prompt_sha256, questions, shots
    from resit.prompts.chat import ChatOptions, chat_options

_HOMES = {
    "ChatOptions": "chat",
    "chat_options": "chat",
    "prompt_sha256": "asking",
    "questions": "asking",
    "shots": "asking",
}

__all__ = ["ChatOptions", "chat_options", "prompt_sha256", "questions", "shots"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"resit.prompts.{_HOMES[name]}"), name)
