"""What goes into the decode engine and what comes out; importable without torch."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from resit.records import Sampling

Intervene: TypeAlias = Callable[[str], str | None]
"""Given a row's text whenever it has grown; what it returns goes into the row as if the model had said it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One sample owed: a tokenised prompt and how to go on from it."""

    key: Hashable
    token_ids: tuple[int, ...]
    """The whole prompt, BOS included where there is one; at least one token."""
    sampling: Sampling
    seed: int = 0
    """The row's own; what is drawn depends on nothing else in flight."""
    intervene: Intervene | None = None


@dataclass(frozen=True, slots=True)
class Insertion:
    """Text that was put into a row."""

    offset: int
    """Where in the row's text it stands, in characters."""
    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A row's end. With `error` it was not measured; the other fields then say how far it came."""

    key: Hashable
    token_ids: tuple[int, ...] = ()
    """Everything after the prompt, insertions and the end-of-text token included."""
    text: str = ""
    """Decoded without special tokens and cut before the stop string."""
    finish_reason: Literal["stop", "length", "error"] = "stop"
    stop: str | None = None
    """The stop string that ended the text; None for the model's end-of-text token or the limit."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens that had been computed for another row."""
    insertions: tuple[Insertion, ...] = ()
    seconds: float = 0.0
    """From the row's admission to its end."""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """A text whose tokens are to be given log-probabilities."""

    key: Hashable
    token_ids: tuple[int, ...]
    """Context and text, BOS included where there is one."""
    start: int
    """The first token that is scored, at least 1: nothing stands before token 0."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Natural log-probabilities of `token_ids[start:]`, each given all tokens before it."""

    key: Hashable
    logprobs: tuple[float, ...] = ()
    greedy: tuple[bool, ...] = ()
    """Whether each token was the likeliest in its place."""
    mean: tuple[float, ...] | None = None
    """Expectation of the log-probability over the vocabulary (None unless asked for)."""
    deviation: tuple[float, ...] | None = None
    """Standard deviation of the same."""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """How the engine works; nothing here changes a text."""

    context: int = 2048
    """Positions the model has; a longer prompt is an error of its row, a longer answer ends with `length`."""
    rows: int | None = None
    """Rows decoded together; None: as many as pay and fit."""
    memory_share: float = 0.8
    """The share of the memory that is free at the start which caches and activations may take."""
    prefill_tokens: int | None = None
    """New prompt tokens in one forward pass at most; None: by device."""
    shared_prefixes: bool = True
    """False: decode in padded batches with the model's own cache, whatever the architecture."""
    end_token_ids: frozenset[int] | None = None
    """Tokens that end a text; None: those of the model's generation config and the tokenizer's EOS."""


def refusal(row: Row, context: int) -> Finished | None:
    """The end of a row that cannot begin, or has nothing to say; None for every other."""
    tokens, told = len(row.token_ids), None
    if not tokens:
        told = "the prompt is empty: it has no token to go on from"
    elif tokens >= context:
        told = f"prompt too long: {tokens} tokens, the context has {context}"
    elif row.sampling.max_tokens > 0:
        return None
    return Finished(row.key, finish_reason="error" if told else "length", prompt_tokens=tokens, error=told)


def unscorable(text: Scored, context: int) -> Scores:
    """The answer to a text that does not fit."""
    return Scores(text.key, error=f"too long: {len(text.token_ids)} tokens, the context has {context}")
