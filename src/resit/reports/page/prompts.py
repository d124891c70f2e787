"""Cuts prompts into what all of a task share, what leads up to the question, and the question."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from resit.records import Message, Prompt, Question
from resit.reports.page.data import PromptText, Turn
from resit.reports.page.rows import question_text


@dataclass(slots=True)
class SharedBeginning:
    """What all prompts of a task begin with, found prompt by prompt."""

    text: str | None = None
    turns: tuple[Message, ...] | None = None

    def add(self, prompt: Prompt) -> None:
        """Take in one prompt."""
        if isinstance(prompt, str):
            self.text = prompt if self.text is None else _common_text(self.text, prompt)
        else:
            self.turns = prompt if self.turns is None else _common_turns(self.turns, prompt)

    def cut(self) -> int | tuple[Message, ...]:
        """How much of it is told apart: characters up to a blank line, or turns."""
        if self.text is None:
            return self.turns or ()
        end = self.text.rfind("\n\n")
        return end + 2 if end >= 0 else 0


def shared_beginning(prompts: Iterable[Prompt]) -> SharedBeginning:
    """What all the prompts begin with."""
    found = SharedBeginning()
    for prompt in prompts:
        found.add(prompt)
    return found


def _common_text(first: str, second: str) -> str:
    if second.startswith(first):
        return first
    return first[
        : next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), len(second))
    ]


def _common_turns(first: tuple[Message, ...], second: tuple[Message, ...]) -> tuple[Message, ...]:
    """The turns that both begin with; never a prompt's last, which holds the question."""
    most = min(len(first), len(second) - 1)
    alike = next((i for i in range(most) if first[i] != second[i]), most)
    return first[:alike]


def prompt_text(question: Question, shared: SharedBeginning) -> PromptText:
    """The prompt in the parts in which it is shown."""
    prompt = question.prompt
    if isinstance(prompt, str):
        start = shared.cut() if shared.text is not None else 0
        assert isinstance(start, int)
        start = start if prompt[:start] == (shared.text or "")[:start] else 0
        own = max(start, _own_start(prompt, question_text(question)))
        return PromptText(shared=prompt[:start], lead=prompt[start:own], own=prompt[own:])
    common = shared.turns or ()
    common = common if prompt[: len(common)] == common and len(common) < len(prompt) else ()
    last = max(len(common), _last_user(prompt))
    return PromptText(shared=turns(common), lead=turns(prompt[len(common) : last]), own=turns(prompt[last:]))


def _own_start(prompt: str, asked: str) -> int:
    """Where the paragraph that asks the question begins."""
    place = prompt.rfind(asked) if asked else -1
    if place < 0:
        return 0
    blank = prompt.rfind("\n\n", 0, place)
    return blank + 2 if blank >= 0 else 0


def _last_user(prompt: tuple[Message, ...]) -> int:
    return max((i for i, turn in enumerate(prompt) if turn.role == "user"), default=0)


def turns(messages: Iterable[Message]) -> list[Turn]:
    """Chat turns as the page has them."""
    return [Turn(role=message.role, content=message.content) for message in messages]
