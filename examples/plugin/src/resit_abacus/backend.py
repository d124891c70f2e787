"""The backend `abacus`: adds the last two numbers of the prompt. What Resit asks of a backend's module is
`arguments`, a pydantic model of `--model-args`, and `build`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pydantic import BaseModel, Field

from resit.models.protocol import JSON, Closing, Encoding, Setup, failed, owed
from resit.records import Generation, Prompt, Request


class Arguments(BaseModel):
    """Arguments of `abacus`."""

    off_by: int = Field(0, description="added to every sum, to see an exam failed")


def arguments(kind: str) -> type[Arguments]:
    """What `--model-args` may hold."""
    return Arguments


def build(kind: str, args: Arguments, setup: Setup) -> Abacus:
    """The model; nothing is loaded yet."""
    return Abacus(args)


class Abacus(Closing):
    """Answers each request by itself, in order."""

    name = "abacus"

    def __init__(self, args: Arguments) -> None:
        self._args = args

    def identity(self) -> dict[str, JSON]:
        """What decides the texts: a run with another value is another run."""
        return {"kind": "abacus", "off_by": self._args.off_by}

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
        """One generation a request; one that cannot be answered is an error, not a wrong answer."""
        for request in requests:
            numbers = re.findall(r"\d+", str(request.question.prompt))
            if len(numbers) < 2:
                yield failed(request, "there are no two numbers to add")
                continue
            total = int(numbers[-2]) + int(numbers[-1]) + self._args.off_by
            yield owed(request, text=f"That makes {total}")

    def encode(self, prompt: Prompt) -> Encoding:
        """What is really sent."""
        return Encoding(str(prompt))

    def close(self) -> None:
        """Nothing is held."""
