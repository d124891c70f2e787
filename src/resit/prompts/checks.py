"""What can be found out about a task without a model: does all of it render, do exemplars leak questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from resit.errors import ResitError
from resit.prompts.asking import questions, shots
from resit.prompts.frame import Frame, document_frame, exemplar_frame
from resit.records import Question
from resit.tasks import Task


def rendered(task: Task) -> list[Question]:
    """Every question of the task. Raises UsageError naming the document that cannot be rendered."""
    made: list[Question] = []
    task.documents()  # so that what is wrong with the data set is not put down to its first document
    try:
        for question in questions(task):
            made.append(question)
    except ResitError as error:
        raise type(error)(f"document {len(made)}: {error}", error.hint) from error
    return made


def empty(made: Sequence[Question]) -> list[int]:
    """The documents whose prompt or reference is empty."""
    return [q.document.doc_id for q in made if not _said(q.prompt) or not _said(q.target)]


def _said(value: Any) -> bool:
    texts = [value] if isinstance(value, str) else [getattr(item, "content", item) for item in value]
    return bool(texts) and bool(str(texts[-1]).strip())


def repeated(made: Sequence[Question]) -> list[int]:
    """The documents that are copies of an earlier one."""
    return [q.document.doc_id for q in made if "#" in q.document.doc_hash]


def leaks(task: Task) -> Iterator[tuple[int, int]]:
    """(document, row of the pool) where an exemplar asks the document's question; case and spacing aside."""
    if not shots(task, None) or task.exemplars.holds_documents:
        return
    documents = task.documents()
    columns = frozenset(documents[0].fields)
    asked = document_frame(task, columns)
    known = {_folded(asked, document.fields): document.doc_id for document in documents}
    worked = exemplar_frame(task, columns)
    for row, fields in enumerate(task.exemplars.rows):
        doc_id = known.get(_folded(worked, fields))
        if doc_id is not None:
            yield doc_id, row


def _folded(frame: Frame, fields: Any) -> str:
    return " ".join(frame.text(fields).casefold().split())


def worked_answers(task: Task) -> list[str]:
    """The answers that the exemplars show, in the pool's order; none for a task without exemplars."""
    if not shots(task, None):
        return []
    frame = exemplar_frame(task, frozenset(task.documents()[0].fields))
    return [frame.answer(fields) for fields in task.exemplars.rows]
