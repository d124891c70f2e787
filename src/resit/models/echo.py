"""How likely passages are, at servers that tell the log-probabilities of a prompt."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, TypeAlias, cast

from resit import jsonl
from resit.errors import UsageError
from resit.models.account import Account
from resit.models.client import Job
from resit.models.failures import Failure, Kind
from resit.models.replies import Reply
from resit.models.server import Server
from resit.models.wire import Wording
from resit.records import Generation, Passage, Request, TokenLikelihoods

MAX_TOKENS = 1
"""The fewest that every server generates; what is generated is not looked at."""

Post: TypeAlias = Callable[[bytes, int], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class Entry:
    """A token of the prompt as the server tells it."""

    piece: str
    logprob: float | None
    """None where nothing stands before it."""
    greedy: bool | None
    """None where the server does not say which was the likeliest."""
    offset: int | None = None
    """Where it begins in the prompt, by the server's count."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to be told: what is asked for, and how the answer is read (None: it is not in there)."""

    name: str
    fields: Mapping[str, Any]
    read: Callable[[Mapping[str, Any], int | None], list[Entry] | None]


def _read_echo(choice: Mapping[str, Any], prompt_tokens: int | None) -> list[Entry] | None:
    """OpenAI's `echo` with `logprobs`."""
    told = choice.get("logprobs")
    if not isinstance(told, Mapping):
        return None
    tokens, values = told.get("tokens"), told.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(values, list) or len(tokens) != len(values):
        return None
    tops = told.get("top_logprobs") or [None] * len(tokens)
    offsets = told.get("text_offset") or [None] * len(tokens)
    entries = [
        Entry(str(token), _number(value), _is_likeliest(value, top), offset)
        for token, value, top, offset in zip(tokens, values, tops, offsets, strict=False)
    ]
    echoed = entries[: len(entries) - MAX_TOKENS if prompt_tokens is None else prompt_tokens]
    return echoed or None if len(entries) > MAX_TOKENS else None


def _read_prompt_logprobs(choice: Mapping[str, Any], prompt_tokens: int | None) -> list[Entry] | None:
    """vLLM's own `prompt_logprobs`: for each token a mapping from its number to what is known of it."""
    told = choice.get("prompt_logprobs")
    if not isinstance(told, list) or not told:
        return None
    entries = []
    for position in told:
        found = next(iter(position.values())) if isinstance(position, Mapping) and position else {}
        rank = found.get("rank")
        greedy = rank == 1 if isinstance(rank, int) else None
        entries.append(Entry(str(found.get("decoded_token") or ""), _number(found.get("logprob")), greedy))
    return entries


WAYS = (
    Way("echo", {"echo": True, "logprobs": 1}, _read_echo),
    Way("prompt_logprobs", {"prompt_logprobs": 0}, _read_prompt_logprobs),
)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _is_likeliest(value: Any, top: Any) -> bool | None:
    others = list(top.values()) if isinstance(top, Mapping) else []
    if _number(value) is None or not others:
        return None
    return bool(value >= max(others))


async def told(post: Post, model: str, prompt: str, way: Way) -> list[Entry] | None:
    """The prompt's tokens as the server tells them; None: it answers, but does not tell. Raises Failure."""
    body = {"model": model, "prompt": prompt, "max_tokens": MAX_TOKENS, "temperature": 0, **way.fields}
    reply = await post(jsonl.encode(body), MAX_TOKENS)
    choices = (reply.raw or {}).get("choices") or [{}]
    return way.read(choices[0], reply.usage.prompt)


def _bytes(piece: str) -> bytes:
    """A token's bytes; OpenAI writes those that are no whole characters as `bytes:\\xe2\\x80`."""
    if re.fullmatch(r"bytes:(\\x[0-9a-fA-F]{2})+", piece):
        return bytes.fromhex(piece[6:].replace("\\x", ""))
    return piece.encode("utf-8", "replace")


def first_scored(entries: Sequence[Entry], prompt: str, text_begins: int) -> int | None:
    """The token in which the text begins, `text_begins` characters into the prompt; None: they do not match.

    The tokens are laid along the prompt from its end, since a server may put tokens of its own before it.
    Some servers drop the space that a token begins with: then white space is left out of the count. Where
    pieces do not add up at all, the server's own offsets decide.
    """
    pieces = [_bytes(entry.piece) for entry in entries]
    text, whole = (part.encode("utf-8", "replace") for part in (prompt[text_begins:], prompt))
    for squeeze in (bytes, _without_space):
        if _adds_up(b"".join(map(squeeze, pieces)), squeeze(whole), squeeze(text), entries):
            ends = list(accumulate(len(squeeze(piece)) for piece in pieces))
            boundary = ends[-1] - len(squeeze(text))
            place = next((i for i, end in enumerate(ends) if end > boundary), len(ends))
            while 0 < place < len(ends) and not pieces[place - 1] and entries[place - 1].logprob is not None:
                place -= 1  # parts of a character that ends here
            return place
    offsets = [entry.offset for entry in entries]
    if all(isinstance(offset, int) for offset in offsets):
        starts = [cast(int, offset) for offset in offsets]
        return max((i for i, start in enumerate(starts) if start <= text_begins), default=0)
    return None


def _adds_up(joined: bytes, whole: bytes, text: bytes, entries: Sequence[Entry]) -> bool:
    """Whether the pieces are the prompt, but for what stands before it or for an untold first token."""
    if joined.endswith(whole):
        return True
    return not entries[0].piece and whole.endswith(joined) and len(joined) >= len(text)


def _without_space(piece: bytes) -> bytes:
    return b"".join(piece.split())


@dataclass(slots=True)
class Echo:
    """Asks a server for the log-probabilities of passages, in the way that it turns out to know."""

    wording: Wording
    account: Account
    opening: str | None = None
    """BOS as text, for servers that put none before a prompt."""
    ways: list[Way] = field(default_factory=lambda: list(WAYS))
    """Those not refused yet, the likeliest first."""
    _known: bool = False
    _opens: bool = False
    """Whether the server leaves it to us to put BOS before a text."""
    _probe: Job | None = None

    def may_send(self, job: Job) -> bool:
        """Whether the job may go out: until one way has worked, one at a time."""
        if self._known:
            return True
        self._probe = self._probe or job
        return self._probe is job

    async def ask(self, job: Job, server: Server) -> list[Generation]:
        """The passage's log-probabilities (of the client's type by name only). Raises Failure, UsageError."""
        passage = cast(Passage, job.requests[0])
        if not passage.text:
            empty = TokenLikelihoods(passage.key, error="the text is empty: it has no token to score")
            return cast("list[Generation]", [empty])
        while True:
            front = (self.opening or "") if self._opens and not passage.context else ""
            prompt = front + passage.context + passage.text
            entries = await self._told(server, prompt)
            if entries is None:
                continue  # another way is tried
            place = first_scored(entries, prompt, len(front) + len(passage.context))
            if place in (0, None) and entries[0].logprob is None and not (front or passage.context):
                self._need_opening()
            else:
                return cast("list[Generation]", [_likelihoods(passage, entries, place)])

    async def _told(self, server: Server, prompt: str) -> list[Entry] | None:
        way = self.ways[0]
        self.account.requests += 1
        try:
            entries = await told(server.post, self.wording.model, prompt, way)
        except Failure as failure:
            if failure.kind is not Kind.REQUEST or self._known:
                raise
            entries = None
        if entries is not None:
            self._known = True
            return entries
        if self._known:
            raise Failure(Kind.GARBLED, "an answer without the log-probabilities that came with others")
        self._refuse(way, server)
        return None

    def _refuse(self, way: Way, server: Server) -> None:
        self.ways = [other for other in self.ways if other is not way]
        if not self.ways:
            raise UsageError(
                f"{server.place} gives no log-probabilities of a prompt: it neither echoes the prompt with "
                "them (echo=true, logprobs=1) nor knows vLLM's prompt_logprobs",
                "vLLM's server does; or load the model here with --model hf, vllm or llamacpp",
            )

    def _need_opening(self) -> None:
        if not self.opening:
            raise UsageError(
                "the server puts no token before a text, so that it gives its first token no probability",
                "name the begin token, as opening=TEXT, or tokenizer=FOLDER with its tokenizer_config.json",
            )
        self._opens = True

    def give_up(self, job: Job, failure: Failure) -> list[Generation]:
        """The error that a passage ends in."""
        if self._probe is job:
            self._probe = None
        key = cast(Passage, job.requests[0]).key
        return cast("list[Generation]", [TokenLikelihoods(key, error=str(failure))])


def _likelihoods(passage: Passage, entries: Sequence[Entry], place: int | None) -> TokenLikelihoods:
    if place is None:
        return TokenLikelihoods(passage.key, error="the server's tokens do not add up to the text")
    scored = entries[place:]
    if any(entry.logprob is None for entry in scored):
        return TokenLikelihoods(passage.key, error="the server leaves log-probabilities of the text out")
    told_greedy = all(entry.greedy is not None for entry in scored)
    return TokenLikelihoods(
        passage.key,
        pieces=tuple(_bytes(entry.piece).decode("utf-8", "replace") for entry in scored),
        logprobs=tuple(cast(float, entry.logprob) for entry in scored),
        greedy=tuple(bool(entry.greedy) for entry in scored) if told_greedy else (),
    )


def jobs(passages: Iterator[Passage]) -> Iterator[Job]:
    """One job a passage: the client carries passages as it carries requests, without looking at them."""
    for passage in passages:
        yield Job(cast("tuple[Request, ...]", (passage,)))
