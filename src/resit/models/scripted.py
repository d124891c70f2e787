"""A model that says what it is told: for tests, dry runs and timing everything that is not a model."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from resit.errors import ResitError, UsageError
from resit.models.protocol import JSON, Closing, Encoding, Setup, failed, owed
from resit.models.stops import cut
from resit.records import Generation, Prompt, Request

TICK = 0.001
"""Seconds below which waking up takes more of the processor than the answers."""


class Arguments(BaseModel):
    """Arguments of `scripted`."""

    text: str = Field(
        "lol", description="answer to everything; {doc_id}, {repeat}, {seed}, {target} are filled in"
    )
    file: Path | None = Field(
        None,
        description='JSON lines {"doc_id", "text" or "texts", optional "task"}',
    )
    delay: float = Field(0.0, ge=0, description="seconds that each answer takes")
    error_docs: str = Field("", description="documents that fail, as 3;5;8")
    crash_docs: str = Field("", description="documents at which the whole process dies, as 3;5;8")
    fatal_after: int | None = Field(None, ge=0, description="answers before the whole model fails")


def arguments(kind: str) -> type[Arguments]:
    """What `model_args` may hold."""
    return Arguments


def build(kind: str, args: Arguments, setup: Setup) -> ScriptedModel:
    """The model; reads `file`."""
    return ScriptedModel(args, setup.concurrency or 1)


def _scripted_texts(path: Path) -> dict[tuple[str | None, int], tuple[str, ...]]:
    """Answers by (task or None, document). Raises UsageError for a file that is not as described."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UsageError(f"{path}: the scripted answers cannot be read ({error.strerror})") from None
    texts = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            answers = entry["texts"] if "texts" in entry else [entry["text"]]
            texts[entry.get("task"), int(entry["doc_id"])] = tuple(str(answer) for answer in answers)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(
                f"{path}, line {number}: expected an object with doc_id and text or texts ({error!r})"
            ) from None
    return texts


def _documents(argument: str, text: str) -> set[int]:
    try:
        return {int(part) for part in text.replace(";", " ").split()}
    except ValueError:
        raise UsageError(f"model_args: {argument}: expected numbers such as 3;5;8, found {text!r}") from None


def _filled(text: str, request: Request) -> str:
    if "{" not in text:
        return text
    target = request.question.target
    values: Mapping[str, Any] = {
        "{doc_id}": request.question.document.doc_id,
        "{repeat}": request.repeat,
        "{seed}": request.seed,
        "{target}": target if isinstance(target, str) else target[0],
    }
    for mark, value in values.items():
        text = text.replace(mark, str(value))
    return text


class ScriptedModel(Closing):
    """Answers from its arguments alone, deterministically."""

    name = "scripted"

    def __init__(self, args: Arguments, concurrency: int) -> None:
        self._args = args
        self._concurrency = concurrency
        self._texts = _scripted_texts(args.file) if args.file else {}
        self._failing = _documents("error_docs", args.error_docs)
        self._deadly = _documents("crash_docs", args.crash_docs)
        self._answered = 0

    def identity(self) -> dict[str, JSON]:
        """The script itself; delays and injected failures are not identity."""
        script = sorted((str(task), doc, texts) for (task, doc), texts in self._texts.items())
        digest = hashlib.sha256(json.dumps(script).encode()).hexdigest() if script else None
        return {"kind": "scripted", "text": self._args.text, "file_sha256": digest}

    def _text(self, request: Request) -> str:
        doc_id = request.question.document.doc_id
        texts = self._texts.get((request.question.task, doc_id)) or self._texts.get((None, doc_id))
        if texts:
            return texts[request.repeat % len(texts)]
        return _filled(self._args.text, request)

    def _answer(self, request: Request) -> Generation:
        if request.question.document.doc_id in self._deadly:
            os.kill(os.getpid(), signal.SIGSEGV)
        if request.question.document.doc_id in self._failing:
            return failed(request, "scripted failure")
        text, stop = cut(self._text(request), request.sampling.stop)
        return owed(request, text=text, stop=stop, seconds=self._args.delay)

    def _counted(self, request: Request) -> Generation:
        if self._answered == self._args.fatal_after:
            raise ResitError(f"scripted: the model fails for good after {self._answered} answers")
        self._answered += 1
        return self._answer(request)

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
        """One generation a request; with a delay, `concurrency` of them wait at a time."""
        return self._delayed(requests) if self._args.delay else map(self._counted, requests)

    def _delayed(self, requests: Iterable[Request]) -> Iterator[Generation]:
        waiting: deque[tuple[float, Request]] = deque()
        for request in requests:
            waiting.append((time.monotonic() + self._args.delay, request))
            if len(waiting) == self._concurrency:
                yield from self._due(waiting)
        while waiting:
            yield from self._due(waiting)

    def _due(self, waiting: deque[tuple[float, Request]]) -> Iterator[Generation]:
        """What has waited for its delay, at least one."""
        wait = waiting[0][0] - time.monotonic()
        if wait > 0:
            time.sleep(max(wait, TICK))
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            yield self._counted(waiting.popleft()[1])

    def encode(self, prompt: Prompt) -> Encoding:
        """The prompt itself; chat turns one per line, as `role: content`."""
        text = prompt if isinstance(prompt, str) else "\n".join(f"{m.role}: {m.content}" for m in prompt)
        return Encoding(text)

    def close(self) -> None:
        """Nothing is held."""
