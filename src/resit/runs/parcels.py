"""Requests and samples as bytes between processes: a third of what pickling the records costs.

A parcel goes from one process to another of the same Resit and is never kept.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import fields
from operator import attrgetter

from resit.records import Document, Generation, Message, Prompt, Question, Request, Sampling

_row = attrgetter(*(field.name for field in fields(Generation)))


def pack_samples(samples: Iterable[Generation]) -> bytes:
    """Samples as bytes."""
    return pickle.dumps([_row(sample) for sample in samples], pickle.HIGHEST_PROTOCOL)


def unpack_samples(parcel: bytes) -> list[Generation]:
    """The samples that `pack_samples` packed."""
    return [Generation(*row) for row in pickle.loads(parcel)]


def pack_requests(requests: Iterable[Request]) -> bytes:
    """Requests as bytes; a question, and a sampling, that follow one another are written once."""
    rows: list[tuple[object, ...]] = []
    question = sampling = None
    for request in requests:
        same_question, same_sampling = request.question is question, request.sampling is sampling
        question, sampling = request.question, request.sampling
        rows.append(
            (
                None if same_question else _plain(question),
                None if same_sampling else sampling,
                request.repeat,
                request.seed,
            )
        )
    return pickle.dumps(rows, pickle.HIGHEST_PROTOCOL)


def unpack_requests(parcel: bytes) -> list[Request]:
    """The requests that `pack_requests` packed."""
    requests = []
    question: Question | None = None
    sampling: Sampling | None = None
    for plain, new_sampling, repeat, seed in pickle.loads(parcel):
        question = question if plain is None else _question(*plain)
        sampling = new_sampling or sampling
        assert question is not None
        assert sampling is not None
        requests.append(Request(question, repeat, sampling, seed))
    return requests


def _plain(question: Question) -> tuple[object, ...]:
    prompt, document = question.prompt, question.document
    turns = prompt if isinstance(prompt, str) else [(turn.role, turn.content) for turn in prompt]
    return (
        question.task,
        document.doc_id,
        document.doc_hash,
        dict(document.fields),
        turns,
        question.target,
    )


def _question(
    task: str,
    doc_id: int,
    doc_hash: str,
    fields: dict[str, object],
    turns: str | list[tuple[str, str]],
    target: str | tuple[str, ...],
) -> Question:
    prompt: Prompt = turns if isinstance(turns, str) else tuple(Message(*turn) for turn in turns)  # type: ignore[arg-type]
    return Question(task, Document(doc_id, doc_hash, fields), prompt, target)
