"""A task's questions: documents with their prompts and references, in order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cache
from math import ceil, inf
from typing import TypeVar

from resit.errors import UsageError
from resit.prompts.chat import ChatOptions
from resit.prompts.exemplars import chooser
from resit.prompts.frame import Frame, document_frame, exemplar_frame, references
from resit.prompts.templates import Renderer, renderer
from resit.prompts.turns import Turn, exemplar_turns, joined, multi_turn, plain, question_turns, single_turn
from resit.records import Document, Prompt, Question
from resit.tasks import Task

DEFAULT_SEED = 1234
Item = TypeVar("Item")


def questions(
    task: Task,
    *,
    num_fewshot: int | None = None,
    seed: int = DEFAULT_SEED,
    chat: ChatOptions | None = None,
    system_instruction: str | None = None,
    limit: int | float | None = None,
) -> Iterator[Question]:
    """The task's questions, rendered as they are asked for.

    `seed` draws the exemplars; `limit` is a number of documents or, below 1, a share. Raises UsageError.
    """
    documents = limited(task.documents(), limit)
    columns = frozenset(documents[0].fields) if documents else frozenset()
    count = shots(task, num_fewshot)
    builder = _Builder(task, columns, count, seed, _assembly(task, chat), system_instruction or "")
    return builder.questions(documents)


def shots(task: Task, num_fewshot: int | None) -> int:
    """How many exemplars a prompt holds: the override, unless the task's file says exactly 0."""
    own = task.config.num_fewshot
    return num_fewshot if num_fewshot is not None and own != 0 else own or 0


def limited(documents: Sequence[Item], limit: int | float | None) -> Sequence[Item]:
    """The first `limit` documents; below 1, that share, rounded up. Raises UsageError for 0 or less."""
    if limit is None:
        return documents
    if not 0 < limit < inf:
        raise UsageError(f"--limit must be a number above 0, found {limit:g}")
    return documents[: ceil(len(documents) * limit) if limit < 1 else int(limit)]


def prompt_sha256(prompt: Prompt) -> str:
    """sha256 of the prompt's text; of a chat, that of its messages' JSON."""
    text = prompt if isinstance(prompt, str) else json.dumps([asdict(m) for m in prompt], ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


Assembly = Callable[[str, Sequence[Turn]], Prompt]


def _assembly(task: Task, chat: ChatOptions | None) -> Assembly:
    if chat is None and task.config.resit.chat:
        chat = ChatOptions()
    if chat is None:
        return plain
    return multi_turn if chat.fewshot_as_multiturn else single_turn


class _Builder:
    """Puts a task's prompts together; what exemplars look like is worked out once each."""

    def __init__(
        self, task: Task, columns: frozenset[str], count: int, seed: int, assembly: Assembly, instruction: str
    ) -> None:
        self.task = task
        self.assembly = assembly
        self.instruction = instruction
        self.frame: Frame = document_frame(task, columns)
        self.describe: Renderer = renderer(task.config.description, columns, f"{task.source}: description")
        self.choose = chooser(task, count, seed) if count else None
        shot_frame = exemplar_frame(task, columns)
        rows = task.exemplars.rows if count else ()
        self.shot = cache(lambda index: exemplar_turns(shot_frame, rows[index]))

    def questions(self, documents: Sequence[Document]) -> Iterator[Question]:
        several = bool(documents) and isinstance(self.frame.target(documents[0].fields), list | tuple)
        for document in documents:
            target = references(self.frame, document.fields, several)
            yield Question(self.task.name, document, self._prompt(document), target)

    def _prompt(self, document: Document) -> Prompt:
        fields = document.fields
        description = str(self.describe(fields) or "")
        system = joined(self.instruction, description, self.task.config.fewshot_delimiter)
        turns: list[Turn] = []
        for index in self.choose(fields) if self.choose else ():
            turns += self.shot(index)
        return self.assembly(system, [*turns, *question_turns(self.frame, fields)])
