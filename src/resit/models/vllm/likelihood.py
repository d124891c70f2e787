"""How likely passages are, from vLLM's prompt log-probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from resit.errors import ResitError
from resit.models.hf.tokens import Tokens
from resit.models.vllm.engine import Done, Engine, Job
from resit.records import Passage, TokenLikelihoods

SHARED_TOKENS = 64
"""A context shorter than this is evaluated with its text; a longer one is looked up in the prefix cache."""


@dataclass(frozen=True, slots=True)
class _Scored:
    """A passage's tokens: which of them are scored, and their texts."""

    key: str
    start: int
    pieces: tuple[str, ...]


def likelihoods(engine: Engine, tokens: Tokens, passages: Iterable[Passage]) -> Iterator[TokenLikelihoods]:
    """One result a passage, as the engine finishes them. Raises ResitError after those before it.

    vLLM gives no log-probability for what it takes from its cache. Where that reached into the text itself
    (two texts that begin alike, a passage asked twice), the passage is evaluated again in full.
    """
    failures: list[ResitError] = []
    empty: list[str] = []
    again: list[Job] = []
    for done in engine.run(_jobs(tokens, passages, engine.reads_cache, empty, failures)):
        if _missing(done):
            again.append(_job(done.job.key, done.job.token_ids, cached=False))
        else:
            yield _answer(done)
    yield from map(_answer, engine.run(again))
    for key in empty:
        yield TokenLikelihoods(key, error="the text is empty: it has no token to score")
    if failures:
        raise failures[0]


def _jobs(
    tokens: Tokens, passages: Iterable[Passage], cached: bool, empty: list[str], failures: list[ResitError]
) -> Iterator[Job]:
    for passage in passages:
        try:
            ids, start, pieces = tokens.divided(passage.context, passage.text)
        except ResitError as error:
            failures.append(error)
            return
        if pieces:
            yield _job(_Scored(passage.key, start, pieces), ids, cached and start > SHARED_TOKENS)
        else:
            empty.append(passage.key)


def _job(scored: _Scored, ids: tuple[int, ...], cached: bool) -> Job:
    params: dict[str, Any] = {"max_tokens": 1, "temperature": 0.0, "prompt_logprobs": 0, "detokenize": False}
    if cached:
        params["skip_reading_prefix_cache"] = False
    return Job(scored, ids, params)


def _missing(done: Done) -> bool:
    """Whether some of the text came from the cache: token i is predicted by what is computed at i - 1."""
    cached: int = 0 if done.output is None else done.output.num_cached_tokens or 0
    start: int = done.job.key.start
    return cached > start - 1


def _answer(done: Done) -> TokenLikelihoods:
    scored: _Scored = done.job.key
    if done.output is None:
        return TokenLikelihoods(scored.key, error=done.error)
    ids = done.job.token_ids[scored.start :]
    found = done.output.prompt_logprobs[-len(ids) :]
    entries = [position[token] for position, token in zip(found, ids, strict=True)]
    return TokenLikelihoods(
        scored.key,
        pieces=scored.pieces,
        logprobs=tuple(float(entry.logprob) for entry in entries),
        greedy=tuple(entry.rank == 1 for entry in entries),
    )
