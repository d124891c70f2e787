"""A server's replies, whole and spoiled."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from .spoiling import damaged, hostile, spoiled

BODY = {
    "id": "x",
    "object": "chat.completion",
    "model": "m",
    "created": 1,
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "#### 4", "reasoning_content": "two"},
            "finish_reason": "stop",
        },
        {"index": 1, "text": "#### 5", "finish_reason": "length", "stop_reason": "Q:", "logprobs": None},
    ],
    "usage": {
        "prompt_tokens": 4,
        "completion_tokens": 5,
        "completion_tokens_details": {"reasoning_tokens": 2},
    },
    "error": {"message": "too long", "code": 400, "type": "invalid_request_error"},
}
STREAM = (
    b"".join(
        b"data: "
        + json.dumps({"choices": [{"index": 0, "delta": {"content": part}, "text": part}]}).encode()
        + b"\n\n"
        for part in ("####", " 4")
    )
    + b"data: [DONE]\n\n"
)


@st.composite
def replies(draw: Callable[..., Any]) -> tuple[int, dict[str, str], bytes, int]:
    """A status, headers, a body and the tokens that were allowed."""
    body = draw(
        st.one_of(
            spoiled(BODY).map(lambda body: json.dumps(body).encode()),
            spoiled({k: v for k, v in BODY.items() if k != "error"}).map(
                lambda body: json.dumps(body).encode()
            ),
            st.just(STREAM),
            hostile.map(lambda value: json.dumps(value).encode()),
        ).flatmap(damaged)
    )
    headers = draw(
        st.dictionaries(
            st.sampled_from(
                ["Retry-After", "retry-after-ms", "x-ratelimit-reset", "Content-Type", "Location"]
            ),
            st.text(max_size=12)
            | st.sampled_from(["1e999", "nan", "-5", "Wed, 21 Oct 2099 07:28:00 GMT", "9" * 400]),
            max_size=2,
        )
    )
    return (
        draw(st.sampled_from([200, 200, 200, 201, 204, 301, 400, 401, 404, 413, 422, 429, 500, 503, 529])),
        headers,
        body,
        16,
    )
