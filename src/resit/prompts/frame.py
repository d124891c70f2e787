"""How a task words a document: its question, its reference answer, its prefill, by lm-eval's rules."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from resit.errors import UsageError
from resit.prompts.templates import Fields, Renderer, renderer
from resit.tasks import Task


@dataclass(frozen=True, slots=True)
class Frame:
    """The wording of one side of a prompt: of the document asked, or of the exemplars."""

    where: str
    text_of: Renderer
    target_of: Renderer
    choices_of: Renderer | None
    prefix_of: Renderer
    target_delimiter: str
    fewshot_delimiter: str
    counts_choices: bool
    """The task has `doc_to_choice`, so that rendered digits are the index of a choice."""

    def text(self, fields: Fields) -> str:
        """The question. Raises UsageError when the task's wording is not text."""
        text = self.text_of(fields)
        if not isinstance(text, str):
            raise UsageError(f"{self.where}: doc_to_text: expected text, found {text!r}")
        return text

    def target(self, fields: Fields) -> Any:
        """The reference: text, a list of texts of which any is right, or the index of a choice."""
        target = self.target_of(fields)
        if not isinstance(target, str):
            return target
        if target.isdecimal() and self.counts_choices:
            return int(target)
        return _literal(target) if len(target) > 1 and target[0] == "[" and target[-1] == "]" else target

    def choices(self, fields: Fields) -> Sequence[Any] | None:
        """The answers to choose from, where the task has any."""
        choices = self.choices_of(fields) if self.choices_of else None
        if isinstance(choices, str):
            choices = _literal(choices)
        if isinstance(choices, dict):
            return list(choices.values())
        if choices is not None and not isinstance(choices, list | tuple):
            raise UsageError(f"{self.where}: doc_to_choice: expected a list, found {choices!r}")
        return choices

    def prefix(self, fields: Fields) -> str:
        """What the answer is made to begin with; mostly nothing."""
        return str(self.prefix_of(fields) or "")

    def answer(self, fields: Fields) -> str:
        """The reference as an exemplar shows it; empty when there is none."""
        target, choices = self.target(fields), self.choices(fields)
        if isinstance(target, int) and choices:
            return str(choices[target])
        if isinstance(target, list | tuple):
            target = target[0] if target else None
        return "" if target is None else str(target)


def _literal(text: str) -> Any:
    """The Python literal that a rendering spells, else the text."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def document_frame(task: Task, columns: frozenset[str]) -> Frame:
    """The wording of the documents asked."""
    keys = (
        "doc_to_text",
        "doc_to_target",
        "doc_to_choice",
        "gen_prefix",
        "target_delimiter",
        "fewshot_delimiter",
    )
    return _frame(task, {key: getattr(task.config, key) for key in keys}, columns)


def exemplar_frame(task: Task, columns: frozenset[str]) -> Frame:
    """The wording of the exemplars: as the documents', save for what `fewshot_config` says."""
    keys = (
        "doc_to_text",
        "doc_to_target",
        "doc_to_choice",
        "gen_prefix",
        "target_delimiter",
        "fewshot_delimiter",
    )
    return _frame(task, {key: task.config.for_shots(key) for key in keys}, columns)


def _frame(task: Task, keys: dict[str, Any], columns: frozenset[str]) -> Frame:
    for key in ("doc_to_text", "doc_to_target"):
        if keys[key] is None:
            raise UsageError(f"{task.source}: task {task.name!r} has no {key}")

    def of(key: str) -> Renderer:
        return renderer(keys[key], columns, f"{task.source}: {task.name}: {key}")

    return Frame(
        where=f"{task.source}: {task.name}",
        text_of=of("doc_to_text"),
        target_of=of("doc_to_target"),
        choices_of=of("doc_to_choice") if keys["doc_to_choice"] is not None else None,
        prefix_of=of("gen_prefix"),
        target_delimiter=keys["target_delimiter"],
        fewshot_delimiter=keys["fewshot_delimiter"],
        counts_choices=task.config.doc_to_choice is not None,
    )


def references(frame: Frame, fields: Fields, several: bool) -> str | tuple[str, ...]:
    """What an answer is compared with; a tuple where the task's first document has a list of references."""
    target, choices = frame.target(fields), frame.choices(fields)
    if isinstance(target, int) and choices:
        target = choices[target]
    if several:
        return tuple(map(str, target)) if isinstance(target, list | tuple) else (str(target),)
    return str(target)
