"""What can go wrong with a request to a server, and whether asking again can help."""

from __future__ import annotations

import enum
import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

WORDS = 400
"""Characters of a server's own words that are kept."""


class Kind(enum.Enum):
    """What a failure means for the request and for the run."""

    RATE = "too many requests"
    """Passes: the server wants to be asked more slowly."""
    PASSING = "server or connection trouble"
    """May pass: 5xx, a connection refused or cut, a time-out."""
    GARBLED = "an answer that cannot be used"
    """May pass: no choices, a text lost on the way, a stream cut short."""
    OVERFLOW = "prompt too long"
    """This request will never fit."""
    REQUEST = "refused request"
    """This request will never be answered; perhaps none of its kind."""
    ACCESS = "no access"
    """The key, the address or the model is wrong, or the credit used up: no request will be answered."""


RETRIED = {Kind.RATE, Kind.PASSING, Kind.GARBLED}


class Failure(Exception):
    """A request that was not answered."""

    def __init__(
        self,
        kind: Kind,
        words: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        silent: bool = False,
    ):
        super().__init__(words)
        self.kind = kind
        self.status = status
        self.retry_after = retry_after
        self.silent = silent
        """No answer of the server's own came: it may be gone, which asking it for something else tells."""

    def reworded(self, words: str) -> Failure:
        """The same failure in other words."""
        return Failure(self.kind, words, status=self.status, retry_after=self.retry_after, silent=self.silent)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a request is asked again."""

    attempts: int = 8
    """Tries of a request that meets trouble other than a rate limit."""
    seconds: float = 600.0
    """Total time after the first failure; a rate limit may last this long without any answer."""
    base: float = 0.5
    """Seconds before the second try; doubled for each further one."""
    cap: float = 30.0

    def delay(self, failures: int, chance: random.Random) -> float:
        """Seconds to wait after the n-th failure: exponential, half of it by chance."""
        longest = min(self.cap, self.base * 2.0 ** min(failures - 1, 32))
        return longest * chance.uniform(0.5, 1.0)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that a `Retry-After` header (a number or a date) or `retry-after-ms` asks to wait."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after") or headers.get("Retry-After")
        if not value:
            return None
        if re.fullmatch(r"\s*\d+(\.\d*)?\s*", value):
            return float(value)
        return max(0.0, (parsedate_to_datetime(value) - (now or datetime.now(UTC))).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def own_words(body: Any) -> str:
    """The message in an error body: `error.message`, `error`, `message` or `detail`, else its text."""
    if isinstance(body, Mapping):
        for key in ("error", "message", "detail"):
            if body.get(key):
                return own_words(body[key])
        return json.dumps(dict(body), ensure_ascii=False)[:WORDS]
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    text = re.sub(r"<(script|style).*?</\1>|<[^>]+>", " ", text[: 20 * WORDS], flags=re.DOTALL)
    return " ".join(text.split())[:WORDS]


_OVERFLOW_TYPES = {"exceed_context_size_error", "context_length_exceeded"}
_OVERFLOW = re.compile(
    r"maximum context length|context (size|length|window)[^.]{0,40}exceed|exceed[^.]{0,60}context"
    r"|(prompt|input|request)[^.]{0,40} (is )?too long|longer than the (model'?s )?(maximum|context)"
    r"|(prompt|input) tokens?[^.]{0,60}(exceed|greater|larger|longer)|reduce the length of the",
    re.IGNORECASE,
)
_PROMPT_TOKENS = (
    r"\((\d+) tokens\)", r"(\d+) in the (?:messages|prompt)", r"\(length (\d+)\)",
    r"(?:prompt|input|messages?|request|passed)[^.\d]{0,60}?\b(\d+)(?: input)? tokens", r"resulted in (\d+)",
    r"requested (?:about )?(\d+)\b(?! output)",
)  # fmt: skip
_CONTEXT_TOKENS = (
    r"(?:maximum )?context (?:length|size|window)[^.\d]{0,40}(\d+)",
    r"maximum model length of (\d+)", r"limit (?:is |of )?(\d+)", r"maximum (?:of )?(\d+)",
)  # fmt: skip


def _first(patterns: tuple[str, ...], text: str) -> int | None:
    for pattern in patterns:
        found = re.search(pattern, text, re.IGNORECASE)
        if found:
            return int(found[1])
    return None


def overflow(body: Any) -> str | None:
    """What to say of a prompt that the server found too long, with its counts if it gives them; else None."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    error = error if isinstance(error, Mapping) else {"message": error}
    words = own_words(error)
    if not {str(error.get("type")), str(error.get("code"))} & _OVERFLOW_TYPES and not _OVERFLOW.search(words):
        return None
    context = error.get("n_ctx") or _first(_CONTEXT_TOKENS, words)
    if context and (characters := re.search(r"contains (\d+) characters", words)):  # vLLM, when far too long
        return f"prompt too long: {characters[1]} characters, the context has {context} tokens"
    prompt = error.get("n_prompt_tokens") or _first(_PROMPT_TOKENS, words)
    if prompt is None and context is None:
        return f"prompt too long: {words}"
    least = "at least " if f"at least {prompt}" in words else ""
    return f"prompt too long: {least}{prompt or '?'} tokens, the context has {context or '?'}"


_ACCESS = {301, 302, 303, 307, 308, 401, 402, 403, 404, 405, 407}
_PASSING = {408, 409, 425}
GATEWAY = {502, 503, 504}
"""What a proxy says of a server behind it that is gone; also a server that is still loading."""


def of_status(status: int, body: Any, headers: Mapping[str, str]) -> Failure:
    """The failure that an error status and its body (parsed JSON, or text) mean."""
    too_long = overflow(body)
    if too_long:
        return Failure(Kind.OVERFLOW, too_long, status=status)
    words = f"{status}: {own_words(body) or 'no explanation'}"
    wait = retry_after(headers)
    if status == 429 or (status == 503 and wait is not None):
        return Failure(Kind.RATE, words, status=status, retry_after=wait)
    if status >= 500 or status in _PASSING:
        return Failure(Kind.PASSING, words, status=status, silent=status in GATEWAY)
    if status in _ACCESS:
        target = headers.get("Location") or headers.get("location")
        words += f" (redirects to {target})" if target else ""
        return Failure(Kind.ACCESS, words, status=status)
    return Failure(Kind.REQUEST, words, status=status)


def of_error_body(body: Mapping[str, Any], headers: Mapping[str, str]) -> Failure:
    """The failure that an `error` under status 200 means: by its own code or type, else a bad request."""
    error = body["error"]
    code = error.get("code", error.get("status")) if isinstance(error, Mapping) else None
    kind = str(error.get("type", "")) if isinstance(error, Mapping) else ""
    if isinstance(code, str) and re.fullmatch("[45][0-9]{2}", code):
        code = int(code)
    if not isinstance(code, int) or not 400 <= code < 600:
        code = 429 if "rate_limit" in kind else 500 if "server" in kind or "overloaded" in kind else 400
    return of_status(code, body, headers)
