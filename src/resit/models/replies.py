"""Reading what OpenAI-compatible servers answer, the irregular answers included."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from resit.models.failures import Failure, Kind, of_error_body, of_status
from resit.records import FinishReason


@dataclass(slots=True)
class Usage:
    """Tokens that a server counted; None: it did not say."""

    prompt: int | None = None
    cached: int | None = None
    completion: int | None = None
    reasoning: int | None = None


@dataclass(slots=True)
class Choice:
    """One text."""

    text: str
    finish_reason: FinishReason
    stop: str | None = None
    reasoning: str | None = None


@dataclass(slots=True)
class Reply:
    """What a server answered to one request: its choices in the order of their index."""

    choices: tuple[Choice, ...]
    usage: Usage
    model: str | None = None
    raw: Mapping[str, Any] | None = None
    """The whole body, for those who probe a server."""


_LINE_END = re.compile("\r\n|\n|\r")
"""What ends a line of an event stream; str.splitlines() also knows characters that JSON texts may hold."""
_LENGTH = {"length", "max_tokens", "model_length"}
_BROKEN_OFF = {"abort", "cancelled", "error"}


def _flat(content: Any) -> str | None:
    """Content as text: a string, null, or a list of blocks of which the text ones count."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (block.get("text") if isinstance(block, dict) else block for block in content)
        return "".join(part for part in parts if isinstance(part, str))
    return str(content)


def _reasoning(message: Mapping[str, Any]) -> str | None:
    return _flat(message.get("reasoning_content")) or _flat(message.get("reasoning")) or None


def _finish(choice: Mapping[str, Any], usage: Usage, max_tokens: int) -> FinishReason:
    told = choice.get("finish_reason")
    told = told if isinstance(told, str) else None
    if told in _LENGTH:
        return "length"
    if told in _BROKEN_OFF:
        raise Failure(Kind.GARBLED, f"the server broke the text off (finish_reason {told!r})")
    if told == "content_filter":
        raise Failure(Kind.REQUEST, "the server's content filter ended the text")
    if told is None and usage.completion is not None and usage.completion >= max_tokens:
        return "length"
    return "stop"


def _choice(choice: Mapping[str, Any], usage: Usage, max_tokens: int) -> Choice:
    message = choice.get("message")
    if isinstance(message, dict):
        content, reasoning = _flat(message.get("content")), _reasoning(message)
    elif isinstance(message, str) or "text" in choice:
        content, reasoning = _flat(choice.get("text", message)), _reasoning(choice)
    else:
        raise Failure(Kind.GARBLED, f"a choice without a text: {str(dict(choice))[:80]}")
    finish = _finish(choice, usage, max_tokens)
    if not content and not reasoning and finish == "stop" and (usage.completion or 0) > 1:
        raise Failure(
            Kind.GARBLED,
            f"an empty text although {usage.completion} tokens were generated: the server lost it",
        )
    named = choice.get("stop_reason", choice.get("matched_stop"))
    return Choice(content or "", finish, named if isinstance(named, str) else None, reasoning)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _usage(body: Mapping[str, Any]) -> Usage:
    usage = body.get("usage")
    if not isinstance(usage, dict):
        return Usage()
    prompt = usage.get("prompt_tokens_details")
    completion = usage.get("completion_tokens_details")
    return Usage(
        prompt=_count(usage.get("prompt_tokens")),
        cached=_count(prompt.get("cached_tokens")) if isinstance(prompt, dict) else None,
        completion=_count(usage.get("completion_tokens")),
        reasoning=_count(completion.get("reasoning_tokens")) if isinstance(completion, dict) else None,
    )


def _in_order(choices: Sequence[Any]) -> list[Mapping[str, Any]]:
    usable: list[Mapping[str, Any]] = [choice for choice in choices if isinstance(choice, dict)]
    if len(usable) > 1 and all(isinstance(choice.get("index"), int) for choice in usable):
        usable.sort(key=lambda choice: choice["index"])
    return usable


def _events(text: str) -> Iterator[Any]:
    """The JSON objects of an event stream; the last item is None where the stream says that it ends."""
    for line in _LINE_END.split(text):
        if line.startswith("data:"):
            data = line[5:].strip()
            if data == "[DONE]":
                yield None
            elif data:
                try:
                    yield json.loads(data)
                except (ValueError, RecursionError):
                    raise Failure(Kind.GARBLED, "a stream cut in the middle of an event") from None


def _joined(text: str) -> dict[str, Any]:
    """An event stream put together as the body that was asked for."""
    whole: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    ended = False
    for event in _events(text):
        if not isinstance(event, dict):
            ended = ended or event is None
            continue
        whole.update({key: value for key, value in event.items() if key != "choices" and value is not None})
        parts = event.get("choices")
        for part in _in_order(parts if isinstance(parts, list) else ()):
            _extend(choices.setdefault(_count(part.get("index")) or 0, {"message": {}}), part)
    if "error" not in whole and not (
        ended or (choices and all("finish_reason" in c for c in choices.values()))
    ):
        raise Failure(Kind.GARBLED, "a stream that ended without a finish reason or an end mark")
    return {**whole, "choices": [{"index": index, **choice} for index, choice in choices.items()]}


def _extend(choice: dict[str, Any], part: Mapping[str, Any]) -> None:
    message = choice["message"]
    delta = part.get("delta") or part.get("message")
    if delta is not None and not isinstance(delta, dict | str):
        raise Failure(Kind.GARBLED, f"an event without a text: {str(dict(part))[:80]}")
    delta = delta if isinstance(delta, dict) else {"content": part.get("text")}
    for field in ("content", "reasoning_content", "reasoning"):
        if delta.get(field) is not None:
            message[field] = message.get(field, "") + (_flat(delta[field]) or "")
    for field in ("finish_reason", "stop_reason"):
        if part.get(field) is not None:
            choice[field] = part[field]


def _decoded(raw: bytes, status: int) -> Any:
    """The body as JSON; text where it is an error page. Raises Failure for a broken one."""
    try:
        return from_json(raw, cache_strings="keys")
    except ValueError:
        return _leniently_decoded(raw.decode("utf-8", "replace"), status)


def _leniently_decoded(text: str, status: int) -> Any:
    """An event stream, an error page, or JSON with odd bytes or lone surrogates in it."""
    if text.lstrip().startswith(("data:", "event:", ":")):
        return _joined(text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        if status >= 400:
            return text
        raise Failure(Kind.GARBLED, f"a body that is not JSON: {text[:80]!r}") from None


def read_reply(status: int, headers: Mapping[str, str], raw: bytes, max_tokens: int) -> Reply:
    """The reply that a response holds. Raises Failure for anything that is not at least one text."""
    if 300 <= status < 400:
        raise of_status(status, "", headers)
    body = _decoded(raw, status)
    if status >= 400:
        raise of_status(status, body, headers)
    if not isinstance(body, dict):
        raise Failure(Kind.GARBLED, f"a body that is not an object: {str(body)[:80]!r}")
    if body.get("error") and not body.get("choices"):
        raise of_error_body(body, headers)
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        raise Failure(Kind.GARBLED, "a body without choices")
    usage = _usage(body)
    texts = tuple(_choice(choice, usage, max_tokens) for choice in _in_order(choices))
    if not texts:
        raise Failure(Kind.GARBLED, "a body without usable choices")
    model = body.get("model")
    return Reply(texts, usage, model if isinstance(model, str) else None, body)
