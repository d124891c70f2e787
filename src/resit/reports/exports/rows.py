"""One row a sample: what was asked, what came back, and every rule's verdict on it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from resit import jsonl
from resit.records import Generation, Question, SampleScore
from resit.reports.graded import Graded
from resit.reports.scores import score_line


def sample_rows(graded: Iterable[Graded]) -> Iterator[dict[str, Any]]:
    """The samples as JSON objects; what is unknown is left out. `resit import jsonl` reads them back."""
    for item in graded:
        for generation, score in zip(item.generations, item.score.samples, strict=True):
            yield _row(item.question, generation, score)


def _row(question: Question, generation: Generation, score: SampleScore) -> dict[str, Any]:
    document, prompt, target = question.document, question.prompt, question.target
    row = {
        "task": question.task,
        "doc_id": document.doc_id,
        "doc_hash": document.doc_hash,
        "repeat": generation.repeat,
        "doc": dict(document.fields),
        "prompt": prompt if isinstance(prompt, str) else None,
        "messages": None if isinstance(prompt, str) else [asdict(turn) for turn in prompt],
        "target": target if isinstance(target, str) else list(target),
        "response": generation.text,
        "finish_reason": generation.finish_reason,
        "stop": generation.stop,
        "prompt_tokens": generation.prompt_tokens,
        "cached_tokens": generation.cached_tokens,
        "completion_tokens": generation.completion_tokens,
        "seconds": generation.seconds,
        "seed": generation.seed,
        "error": generation.error,
        "insertions": _insertions(generation),
        "uncalculated": generation.uncalculated,
        "verdicts": score_line(score)["verdicts"],
    }
    return {name: value for name, value in row.items() if value is not None}


def _insertions(generation: Generation) -> list[dict[str, Any]] | None:
    """The calculator's results, each without what is unknown; None where it was not asked for."""
    if generation.insertions is None:
        return None
    return [{k: v for k, v in asdict(one).items() if v is not None} for one in generation.insertions]


def write_jsonl(path: Path, graded: Iterable[Graded]) -> Path:
    """The samples of one task as JSON lines. Raises ResitError when the disk refuses."""
    try:
        with path.open("wb") as file:
            for row in sample_rows(graded):
                file.write(jsonl.encode(row) + b"\n")
    except OSError as error:
        raise jsonl.cannot_write(path, error) from error
    return path


def as_text(value: Any) -> str:
    """A value as JSON text, for a column that holds many kinds."""
    return json.dumps(value, ensure_ascii=False)
