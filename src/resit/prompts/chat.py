"""Whether a task is asked as chat, by lm-eval's rule for its two flags."""

from __future__ import annotations

from dataclasses import dataclass

from resit.errors import UsageError


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """Ask through the model's chat template."""

    fewshot_as_multiturn: bool = True
    """Exemplars as turns of their own; False: all in one user turn."""


def chat_options(apply_chat_template: bool, fewshot_as_multiturn: bool | None) -> ChatOptions | None:
    """What the two flags mean; None: plain text. Raises UsageError for turns without a template."""
    if apply_chat_template:
        return ChatOptions(fewshot_as_multiturn is not False)
    if fewshot_as_multiturn:
        raise UsageError(
            "--fewshot_as_multiturn true needs --apply_chat_template",
            "add --apply_chat_template, or leave --fewshot_as_multiturn away",
        )
    return None
