from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest

from resit.models.failures import (
    WORDS,
    Failure,
    Kind,
    Patience,
    of_error_body,
    of_status,
    own_words,
    retry_after,
)
from resit.models.http import exchange

LLAMA = {
    "code": 400,
    "type": "exceed_context_size_error",
    "message": "request (5100 tokens) exceeds the available context size (4096 tokens)",
    "n_prompt_tokens": 5100,
    "n_ctx": 4096,
}
VLLM = (
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the "
    "messages, 1000 in the completion). Please reduce the length of the messages or completion."
)
OPENAI = (
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. "
    "Please reduce the length of the messages."
)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("This model's maximum context length is 512 tokens. However, you requested 4 output tokens and your "
         "prompt contains at least 509 input tokens, for a total of at least 513 tokens.",
         "at least 509 tokens, the context has 512"),
        ("This model's maximum context length is 512 tokens. However, your prompt contains at least 513 "
         "input tokens, which exceeds this limit even without any output tokens.",
         "at least 513 tokens, the context has 512"),
        ("This model's maximum context length is 512 tokens. However, your prompt contains 99999 characters "
         "(more than 65408 characters, which is the upper bound for 511 input tokens).",
         "99999 characters, the context has 512 tokens"),
        ("You passed 901 input tokens and requested 4 output tokens. However, the model's context length is "
         "only 512 tokens, resulting in a maximum input length of 508 tokens. Please reduce the length of "
         "the input prompt.",
         "901 tokens, the context has 512"),
        ("The decoder prompt (length 901) is longer than the maximum model length of 512.",
         "901 tokens, the context has 512"),
    ],
)  # fmt: skip
def test_the_counts_in_vllms_words(words: str, told: str) -> None:
    assert str(of_status(400, {"error": {"message": words}}, {})) == f"prompt too long: {told}"


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (429, {"error": {"message": "Rate limit reached"}}, Kind.RATE, "429: Rate limit reached"),
        (500, {"error": {"message": "oops"}}, Kind.PASSING, "500: oops"),
        (502, "<html><body><h1>Bad Gateway</h1></body></html>", Kind.PASSING, "502: Bad Gateway"),
        (503, "", Kind.PASSING, "503: no explanation"),
        (408, "late", Kind.PASSING, "408: late"),
        (400, {"error": "bad field"}, Kind.REQUEST, "400: bad field"),
        (422, {"detail": [{"msg": "x"}]}, Kind.REQUEST, '422: [{"msg": "x"}]'),
        (401, {"error": {"message": "Incorrect API key"}}, Kind.ACCESS, "401: Incorrect API key"),
        (402, {"error": {"message": "Insufficient Balance"}}, Kind.ACCESS, "402: Insufficient Balance"),
        (404, {"message": "no model `x`"}, Kind.ACCESS, "404: no model `x`"),
        (400, {"error": LLAMA}, Kind.OVERFLOW, "prompt too long: 5100 tokens, the context has 4096"),
        (500, {"error": {"message": "Context size has been exceeded."}}, Kind.OVERFLOW,
         "prompt too long: Context size has been exceeded."),
        (400, {"object": "error", "message": VLLM}, Kind.OVERFLOW,
         "prompt too long: 4000 tokens, the context has 4096"),
        (400, {"error": {"message": OPENAI, "code": "context_length_exceeded"}}, Kind.OVERFLOW,
         "prompt too long: 9001 tokens, the context has 8192"),
        (400, {"error": {"message": "Prompt is too long for this model", "code": ["odd"]}}, Kind.OVERFLOW,
         "prompt too long: Prompt is too long for this model"),
    ],
)  # fmt: skip
def test_what_a_status_means(status: int, body: Any, kind: Kind, words: str) -> None:
    failure = of_status(status, body, {})
    assert (failure.kind, str(failure)) == (kind, words)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 400, "type": "exceed_context_size_error", "message": "too long"}, Kind.OVERFLOW),
        ({"code": 429, "message": "slow down"}, Kind.RATE),
        ({"code": "503", "message": "busy"}, Kind.PASSING),
        ({"type": "rate_limit_error", "message": "x"}, Kind.RATE),
        ({"type": "server_error", "code": None, "message": "x"}, Kind.PASSING),
        ({"code": "invalid_value", "message": "x"}, Kind.REQUEST),
        ({"code": "\N{SUPERSCRIPT TWO}", "message": "x"}, Kind.REQUEST),
        ({"code": "4" * 5000, "message": "x"}, Kind.REQUEST),
        ("plain words", Kind.REQUEST),
    ],
)
def test_an_error_under_status_200_is_that_error(error: Any, kind: Kind) -> None:
    assert of_error_body({"error": error}, {}).kind is kind


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "20"}, 20.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2020 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "x"}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, datetime(2026, 10, 21, 7, 28, tzinfo=UTC)) == seconds


def test_503_with_a_time_to_wait_is_a_rate_limit() -> None:
    failure = of_status(503, "busy", {"retry-after": "3"})
    assert (failure.kind, failure.retry_after) == (Kind.RATE, 3.0)


def test_a_redirect_says_where_to() -> None:
    failure = of_status(301, "", {"Location": "https://h/v1"})
    assert failure.kind is Kind.ACCESS
    assert "https://h/v1" in str(failure)


def test_long_words_are_cut() -> None:
    assert len(own_words("<p>" + "word " * 10_000)) <= WORDS


def test_delays_grow_with_jitter_and_are_capped() -> None:
    patience, chance = Patience(base=0.5, cap=30), random.Random(1)
    for failures in range(1, 50):
        longest = min(30.0, 0.5 * 2 ** (failures - 1))
        delays = [patience.delay(failures, chance) for _ in range(50)]
        assert all(longest / 2 <= delay <= longest for delay in delays)
        assert len(set(delays)) > 40


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (aiohttp.ConnectionTimeoutError("Connection timeout to host"), "no connection within 30 s"),
        (TimeoutError(), "no answer within 600 s"),
        (aiohttp.SocketTimeoutError("Timeout on reading data"), "no answer within 600 s"),
    ],
)
def test_a_connection_that_does_not_come_about_is_told_from_an_answer_that_does_not(
    error: Exception, words: str
) -> None:
    class Session:
        timeout = aiohttp.ClientTimeout(total=600)

        def request(self, *_: Any, **options: Any) -> Any:
            raise error

    with pytest.raises(Failure, match=words) as raised:
        asyncio.run(exchange(Session(), "POST", "http://x"))  # type: ignore[arg-type]
    assert raised.value.silent
