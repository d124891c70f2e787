"""What every backend offers, and the pieces that all of them share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias, runtime_checkable

from resit.records import Generation, Passage, Prompt, Request, TokenLikelihoods

JSON: TypeAlias = bool | int | float | str | list["JSON"] | dict[str, "JSON"] | None

Notify: TypeAlias = Callable[[str], None]
"""Takes a warning that the user should see; called from any thread."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """A prompt as the model receives it."""

    text: str
    """After the chat template, special tokens as text; what the server adds itself shows in `token_ids`."""
    token_ids: tuple[int, ...] | None = None
    """None where the backend cannot know."""
    pieces: tuple[str, ...] | None = None
    """The text of each token."""
    bos: bool | None = None
    """Whether the first token is the beginning-of-sequence token; None where unknown."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a backend is told besides its own arguments."""

    concurrency: int | None = None
    """Requests in flight; None: the backend's default."""
    notify: Notify = logging.getLogger("resit.models").warning
    debug: bool = False
    """Let native engines write their own log to stderr."""


class Closing:
    """A context manager that closes at its end: for models, whose only duty then is `close`."""

    __slots__ = ()

    def close(self) -> None:
        """Give back what is held."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


@runtime_checkable
class Model(Protocol):
    """Turns requests into generations. Use as a context manager, or call `close`."""

    @property
    def name(self) -> str:
        """How tables and file names call the model."""
        ...

    def identity(self) -> dict[str, JSON]:
        """What decides the texts (weights, template, context); known before any weights are loaded.

        Raises AssetError when the model cannot be had.
        """
        ...

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
        """One generation a request, in the order they finish.

        Requests are pulled as slots become free, a bounded number ahead. A request that fails gives a
        Generation with `error`; ResitError is raised only for what concerns every request, after what
        is already finished has been yielded.
        """
        ...

    def encode(self, prompt: Prompt) -> Encoding:
        """What is really sent for a prompt. Raises ResitError where the backend cannot tell."""
        ...

    def close(self) -> None:
        """Give back processes, threads and memory; what is in flight is dropped."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc_info: object) -> None: ...


@runtime_checkable
class LikelihoodModel(Protocol):
    """A model that can also say how likely a text is."""

    def loglikelihoods(
        self, passages: Iterable[Passage], moments: bool = False
    ) -> Iterator[TokenLikelihoods]:
        """One result a passage, in any order; a passage that fails has `error`.

        Context and text are tokenised together and divided at the token in which the text begins, so that
        no boundary is forced that the model would not see. A passage without context is preceded by the
        tokenizer's BOS (EOS where there is none), which is not scored. With `moments` the mean and the
        deviation over the vocabulary are filled where the backend can. Raises ResitError for what concerns
        every passage, such as a server without log-probabilities.
        """
        ...


@runtime_checkable
class LoadableModel(Protocol):
    """A model that can be told to load its weights before the first prompt comes."""

    def load(self) -> None:
        """Load now what would be loaded with the first prompt. Raises what loading raises."""
        ...


@runtime_checkable
class InterruptibleModel(Protocol):
    """A model that can be told to ask for nothing more: its requests cost money, or may wait for long."""

    def interrupt(self) -> None:
        """Begin nothing from now on: what is in flight may finish, what waits is left to the next run.

        `generate` then ends without the generations of what was left. `close` takes this back. Called from a
        signal's handler, so in the middle of anything: it waits for nothing, and takes no lock.
        """
        ...


def owed(request: Request, seed: int | None = None, **fields: Any) -> Generation:
    """The generation that answers a request, with the given fields; `seed` where another one was sent."""
    document = request.question.document
    return Generation(
        task=request.question.task,
        doc_id=document.doc_id,
        doc_hash=document.doc_hash,
        repeat=request.repeat,
        seed=request.seed if seed is None else seed,
        **fields,
    )


def failed(request: Request, error: str, **fields: Any) -> Generation:
    """The generation of a request that could not be answered."""
    return owed(request, finish_reason="error", error=error, **fields)
