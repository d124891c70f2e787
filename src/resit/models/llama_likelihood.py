"""How likely passages are on llama.cpp, whose server gives no log-probabilities of a prompt.

It gives those of what it generates, before any sampler has touched them. So the passage is made its own
continuation: a grammar whose only sentence is the passage's tokens leaves the sampler no choice, and each
step reports the exact log-probability of the token that had to come. The context is an ordinary prompt and
comes from the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from resit.errors import UsageError
from resit.models.llama_server import LlamaServer
from resit.models.loopback import Refused
from resit.records import Passage, TokenLikelihoods

_FORCED: dict[str, Any] = {"temperature": 0.0, "top_k": 0, "cache_prompt": True}
_EVERY = 1 << 20
"""More tokens than any vocabulary has."""


@dataclass(frozen=True, slots=True)
class Divided:
    """A passage in the model's tokens."""

    token_ids: tuple[int, ...]
    start: int
    """The first token that is scored; at least one stands before it."""
    pieces: tuple[str, ...]
    """The texts of the scored tokens."""


def divided(server: LlamaServer, passage: Passage) -> Divided:
    """Context and text tokenised together, divided at the token in which the text begins.

    Where that is the first token, BOS (EOS where there is none) is put before it. Raises UsageError where
    the model has neither.
    """
    whole = passage.context + passage.text
    ids, spans = server.tokens(whole)
    encoded = whole.encode("utf-8", "replace")
    front = sum(spans) - len(encoded)  # what the tokenizer itself puts before a text, if only a space
    ends = [max(0, end - front) for end in accumulate(spans)]
    context = len(passage.context.encode("utf-8", "replace"))
    start = next((i for i, end in enumerate(ends) if end > context), len(ids))
    pieces = _pieces(whole, ends)[start:]
    if start == 0:
        return Divided((_opening(server), *ids), 1, pieces)
    return Divided(ids, start, pieces)


def _opening(server: LlamaServer) -> int:
    token = server.opening()
    if token is None:
        raise UsageError("the model has neither BOS nor EOS to stand before a text")
    return token


def _pieces(text: str, ends: Sequence[int]) -> tuple[str, ...]:
    """The text of each token; a character that several tokens share belongs to the first of them."""
    starts = [0, *accumulate(len(character.encode("utf-8", "replace")) for character in text)][:-1]
    pieces, done = [], 0
    for end in ends:
        place = done
        while place < len(starts) and starts[place] < end:
            place += 1
        pieces.append(text[done:place])
        done = place
    return tuple(pieces)


def likelihoods(server: LlamaServer, passage: Passage, context: int) -> TokenLikelihoods:
    """The passage's log-probabilities, from one request as a rule; `context` is the size of a slot.

    Raises Refused, OSError when the server was dropped, and UsageError.
    """
    whole = divided(server, passage)
    ids, start = whole.token_ids, whole.start
    if not whole.pieces:
        return TokenLikelihoods(passage.key, error="the text is empty: it has no token to score")
    if len(ids) > context:
        return TokenLikelihoods(
            passage.key, error=f"text too long: {len(ids)} tokens, the context has {context}"
        )
    try:
        scored = _forced(server, ids[:start], ids[start:])
    except Refused as error:
        if "grammar" not in str(error):
            raise
        scored = _piecewise(server, whole)
    logprobs, greedy = zip(*scored, strict=True)
    return TokenLikelihoods(passage.key, whole.pieces, logprobs, greedy)


def _piecewise(server: LlamaServer, whole: Divided) -> list[tuple[float, bool]]:
    """The same where a token cannot be forced: no grammar goes on after one that ends a text."""
    ids, start = whole.token_ids, whole.start
    unforced = {
        token for token, piece in zip(ids[start:], whole.pieces, strict=True)
        if server.plain_tokens(piece) != (token,)
    }  # fmt: skip
    scored: list[tuple[float, bool]] = []
    while (place := start + len(scored)) < len(ids):
        end = next((i for i in range(place, len(ids)) if ids[i] in unforced), len(ids))
        if end == place:
            scored.append(_looked_up(server, ids[:place], ids[place]))
        else:
            scored += _forced(server, ids[:place], ids[place:end])
    return scored


def _forced(server: LlamaServer, prompt: Sequence[int], tokens: Sequence[int]) -> list[tuple[float, bool]]:
    """Log-probability, and whether likeliest, of each token. Raises Refused where one of them ends a text."""
    sentence = " ".join(f"<[{token}]>" for token in tokens)
    answer = server.complete(
        {
            **_FORCED,
            "prompt": list(prompt),
            "n_predict": len(tokens),
            "n_probs": 1,
            "grammar": f"root ::= {sentence}",
        }
    )
    told = answer.get("completion_probabilities", [])
    if [entry["id"] for entry in told] != list(tokens):
        raise Refused(500, {"message": f"the grammar forced {len(told)} of {len(tokens)} tokens"})
    return [(float(entry["logprob"]), entry["top_logprobs"][0]["id"] == entry["id"]) for entry in told]


def _looked_up(server: LlamaServer, prompt: Sequence[int], token: int) -> tuple[float, bool]:
    """The same of one token that no grammar can force (an end of text), from the whole distribution."""
    answer = server.complete({**_FORCED, "prompt": list(prompt), "n_predict": 1, "n_probs": _EVERY})
    likeliest = answer["completion_probabilities"][0]["top_logprobs"]
    value = next(entry["logprob"] for entry in likeliest if entry["id"] == token)
    return float(value), likeliest[0]["id"] == token
