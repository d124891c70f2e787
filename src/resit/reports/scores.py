"""`scores.jsonl`: every rule's verdict on every sample, derived from the journal and always rebuildable."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from resit import jsonl
from resit.errors import UsageError
from resit.records import SampleScore, Verdict

FILE = "scores.jsonl"


def score_line(score: SampleScore) -> dict[str, Any]:
    """The line of `scores.jsonl` for a sample."""
    return {
        "task": score.task,
        "doc_id": score.doc_id,
        "doc_hash": score.doc_hash,
        "repeat": score.repeat,
        "truncated": score.truncated,
        "error": score.error,
        "verdicts": {name: _verdict_to(verdict) for name, verdict in score.verdicts.items()},
    }


def read_scores(run: Path) -> Iterator[SampleScore]:
    """The samples' scores of a run folder; UsageError when it has not been scored or is damaged."""
    path = run / FILE
    if not path.exists():
        raise UsageError(f"{run} has no {FILE}", f"score it first: resit score {run}")
    for line in jsonl.read(path):
        try:
            if line.value is None:
                raise ValueError(line.problem)
            yield score_from(line.value)
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{path}, line {line.number} is damaged: {error}", f"rebuild it: resit score {run}"
            ) from error


def _verdict_to(verdict: Verdict) -> dict[str, Any]:
    line: dict[str, Any] = {"extracted": verdict.extracted, "correct": verdict.correct}
    if verdict.span is not None:
        line["span"] = list(verdict.span)
    if verdict.reason:
        line["reason"] = verdict.reason
    return line


def score_from(line: Mapping[str, Any]) -> SampleScore:
    """The score of a line; KeyError, TypeError or AttributeError where it holds none."""
    return SampleScore(
        task=line["task"],
        doc_id=line["doc_id"],
        doc_hash=line["doc_hash"],
        repeat=line["repeat"],
        truncated=line["truncated"],
        error=line["error"],
        verdicts={name: _verdict_from(name, value) for name, value in line["verdicts"].items()},
    )


def _verdict_from(rule: str, line: Mapping[str, Any]) -> Verdict:
    span = line.get("span")
    return Verdict(
        rule, line["extracted"], line["correct"], (span[0], span[1]) if span else None, line.get("reason", "")
    )


def score_lines(samples: Iterable[SampleScore]) -> bytes:
    """The samples' lines, as the file has them."""
    return b"".join(jsonl.encode(score_line(sample)) + b"\n" for sample in samples)


@contextlib.contextmanager
def scores_file(run: Path) -> Iterator[Callable[[bytes], object]]:
    """A function that adds samples' lines; the file replaces the old one when the block ends well."""
    path = run / FILE
    part = path.with_name(f".{FILE}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file.write
        part.replace(path)
    except OSError as error:
        raise jsonl.cannot_write(path, error) from error
    finally:
        jsonl.discard(part)
