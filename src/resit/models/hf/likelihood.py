"""How likely passages are: tokenised here, scored by the engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from resit.errors import ResitError
from resit.models.hf.rows import Scored, Scores
from resit.models.hf.tokens import Tokens
from resit.records import Passage, TokenLikelihoods

if TYPE_CHECKING:
    from resit.models.hf.engine import Engine


@dataclass(slots=True)
class _Waiting:
    """What the engine has not come back with, and what it is not given."""

    passages: dict[int, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """By number: a passage's key and its pieces."""
    empty: list[str] = field(default_factory=list)
    """Keys of the passages in which there is nothing to score."""
    failures: list[ResitError] = field(default_factory=list)

    def scored(self, tokens: Tokens, passages: Iterable[Passage]) -> Iterator[Scored]:
        """The passages as the engine takes them; an error that concerns all of them ends the stream."""
        for number, passage in enumerate(passages):
            try:
                ids, start, pieces = tokens.divided(passage.context, passage.text)
            except ResitError as error:
                self.failures.append(error)
                return
            if pieces:
                self.passages[number] = (passage.key, pieces)
                yield Scored(number, ids, start)
            else:
                self.empty.append(passage.key)

    def answer(self, scores: Scores) -> TokenLikelihoods:
        key, pieces = self.passages.pop(int(str(scores.key)))
        if scores.error is not None:
            return TokenLikelihoods(key, error=scores.error)
        return TokenLikelihoods(key, pieces, scores.logprobs, scores.greedy, scores.mean, scores.deviation)


def likelihoods(
    engine: Engine, tokens: Tokens, passages: Iterable[Passage], moments: bool
) -> Iterator[TokenLikelihoods]:
    """One result a passage, as the engine finishes them. Raises ResitError after those before it."""
    waiting = _Waiting()
    for scores in engine.score(waiting.scored(tokens, passages), moments):
        yield waiting.answer(scores)
    for key in waiting.empty:
        yield TokenLikelihoods(key, error="the text is empty: it has no token to score")
    if waiting.failures:
        raise waiting.failures[0]
