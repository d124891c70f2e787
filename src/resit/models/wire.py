"""What is sent to an OpenAI-compatible server, in the dialect that it turns out to speak."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from resit import jsonl
from resit.errors import UsageError
from resit.models.failures import Failure, Kind
from resit.records import Prompt, Sampling

Endpoint = Literal["completions", "chat"]

FEW_STOPS = 4
"""OpenAI's own limit; others that have one have this one."""
SEVERAL = 64
"""Texts that one request asks for at most."""
_LIMIT = re.compile(r"(?:<=?|at most|up to|exceed|maximum(?: of| is)?)\s*(\d{1,9})(?!\d)", re.IGNORECASE)
"""How refusals name the largest number that would have been taken."""

_OPTIONAL = ("top_p", "top_k", "min_p", "repetition_penalty")


@dataclass(slots=True)
class Dialect:
    """What a server takes; learnt from its refusals while the run goes on."""

    max_stops: int | None = None
    """Stop strings it accepts; the rest is cut on our side. None: any number."""
    tokens_field: str = "max_tokens"
    send_seed: bool = True
    several: bool | None = None
    """Whether one request may ask for n texts; None: not known yet."""
    most_texts: int = SEVERAL
    """How many, at most."""
    notes: list[str] = field(default_factory=list)
    """What was learnt, for the user."""

    def learn(self, failure: Failure, stops: int, texts: int) -> bool:
        """Take a refusal as a lesson; whether asking again in the new dialect can help."""
        words = str(failure).lower()
        if failure.kind is not Kind.REQUEST:
            return False
        if "max_completion_tokens" in words and self.tokens_field == "max_tokens":
            self.tokens_field = "max_completion_tokens"
            return self._note("the server wants max_completion_tokens instead of max_tokens")
        if "stop" in words and stops > FEW_STOPS and self.max_stops is None:
            self.max_stops = FEW_STOPS
            return self._note(f"the server takes {FEW_STOPS} stop strings; the others are cut on our side")
        if "seed" in words and self.send_seed:
            self.send_seed = False
            return self._note("the server takes no seed: its samples cannot be drawn again")
        if texts > 1 and self.several is None:
            limit = most_texts(words)
            if limit and 1 < limit < texts:
                self.most_texts = limit
                return self._note(f"the server gives {self.most_texts} texts a request")
            self.several = False
            return self._note(
                f"the server refuses n={texts} ({failure}); every sample is asked for by itself"
            )
        return False

    def _note(self, text: str) -> bool:
        self.notes.append(text)
        return True


@dataclass(frozen=True, slots=True)
class Wording:
    """What every request of a run has in common."""

    endpoint: Endpoint
    model: str
    continue_turn: bool = True
    """Ask vLLM and SGLang to continue a last assistant turn; others do so by themselves or not at all."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Sent with every request as they are."""


def most_texts(words: str) -> int | None:
    """The largest n that a refusal names; None where it names none."""
    named = _LIMIT.search(words)
    return int(named[1]) if named else None


def _messages(prompt: Prompt) -> list[dict[str, str]]:
    if isinstance(prompt, str):
        return [{"role": "user", "content": prompt}]
    return [{"role": turn.role, "content": turn.content} for turn in prompt]


def prefill(prompt: Prompt) -> str:
    """The begun assistant turn that is to be continued; empty where there is none."""
    begun = not isinstance(prompt, str) and prompt and prompt[-1].role == "assistant"
    return prompt[-1].content if begun and not isinstance(prompt, str) else ""


def _asked(wording: Wording, prompt: Prompt, token_ids: Sequence[int] | None) -> dict[str, Any]:
    if wording.endpoint == "chat":
        body: dict[str, Any] = {"messages": _messages(prompt)}
        if prefill(prompt) and wording.continue_turn:
            body |= {"continue_final_message": True, "add_generation_prompt": False}
        return body
    if not isinstance(prompt, str):
        raise UsageError(
            "openai-completions takes plain text, these are chat turns",
            "use --model openai-chat, or leave out --apply-chat-template",
        )
    return {"prompt": prompt if token_ids is None else list(token_ids)}


def stops_sent(sampling: Sampling, dialect: Dialect) -> list[str]:
    """The stop strings that the server is given."""
    return [stop for stop in sampling.stop if stop][: dialect.max_stops]


def request_body(
    wording: Wording,
    dialect: Dialect,
    prompt: Prompt,
    sampling: Sampling,
    seed: int,
    texts: int = 1,
    token_ids: Sequence[int] | None = None,
    stops: bool = True,
) -> bytes:
    """The JSON of a request for `texts` texts; what was not asked for is left to the server.

    Raises UsageError for chat turns on the completions endpoint.
    """
    body = {
        "model": wording.model,
        **_asked(wording, prompt, token_ids),
        dialect.tokens_field: sampling.max_tokens,
        "temperature": sampling.temperature,
        **sampling.extra,
        **wording.fields,
    }
    if stops and (strings := stops_sent(sampling, dialect)):
        body["stop"] = strings
    if dialect.send_seed:
        body["seed"] = seed
    if texts > 1:
        body["n"] = texts
    for name in _OPTIONAL:
        value = getattr(sampling, name)
        if value is not None:
            body[name] = value
    return jsonl.encode(body)


def endpoints(base_url: str, endpoint: Endpoint) -> tuple[str, ...]:
    """The addresses that a base URL may mean, the likeliest first.

    `…/v1/completions` (as lm-eval writes it) is taken as it is; `…/v1` is an API root; a bare host or a path
    without a version may have its root at `/v1` or be it.
    """
    url = base_url.strip().rstrip("/")
    tail = "chat/completions" if endpoint == "chat" else "completions"
    if url.endswith("/chat/completions"):
        return (url.removesuffix("chat/completions") + tail,)
    if url.endswith("/completions"):
        return (url.removesuffix("completions") + tail,)
    if re.search(r"/v\d+(beta\d*)?(/openai)?$", url):
        return (f"{url}/{tail}",)
    return f"{url}/v1/{tail}", f"{url}/{tail}"


def api_root(endpoint_url: str) -> str:
    """The API root of a full endpoint address, such as `…/v1`."""
    return endpoint_url.removesuffix("/completions").removesuffix("/chat")
