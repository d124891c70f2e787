"""Every irregular reply has a defined result."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resit.models.failures import Failure, Kind
from resit.models.replies import Reply, read_reply


def read(body: Any, status: int = 200, max_tokens: int = 16) -> Reply:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read_reply(status, {}, raw, max_tokens)


def chat(content: Any, finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"content": content, **message}, "finish_reason": finish}]}


BLOCKS = [{"type": "text", "text": "The answer is "}, {"type": "image"}, {"type": "text", "text": "54."}]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (chat("plain"), ("plain", "stop", None)),
        (chat(BLOCKS), ("The answer is 54.", "stop", None)),
        (chat(["a", "b"]), ("ab", "stop", None)),
        (chat(None), ("", "stop", None)),
        (chat(None, "length", reasoning_content="Let me see"), ("", "length", "Let me see")),
        (chat("63", reasoning="thought"), ("63", "stop", "thought")),
        (chat("x", "max_tokens"), ("x", "length", None)),
        (chat("x", "eos"), ("x", "stop", None)),
        (chat("x", None), ("x", "stop", None)),
        (chat("x", None) | {"usage": {"completion_tokens": 16}}, ("x", "length", None)),
        ({"choices": [{"text": "t", "finish_reason": "stop"}]}, ("t", "stop", None)),
        (
            {"choices": [{"text": None, "finish_reason": "stop"}], "usage": {"completion_tokens": 1}},
            ("", "stop", None),
        ),
        ({"choices": [{"text": "t"}], "error": None}, ("t", "stop", None)),
        (
            b'{"choices": [{"text": "caf\xe9 \xff", "finish_reason": "stop"}]}',
            ("caf\ufffd \ufffd", "stop", None),
        ),
    ],
)
def test_text_finish_reason_and_reasoning(body: Any, expected: tuple[str, str, str | None]) -> None:
    choice = read(body).choices[0]
    assert (choice.text, choice.finish_reason, choice.reasoning) == expected


def test_choices_come_in_the_order_of_their_index() -> None:
    body = {"choices": [{"index": i, "text": f"t{i}"} for i in (2, 0, 1)]}
    assert [choice.text for choice in read(body).choices] == ["t0", "t1", "t2"]
    unnumbered = {"choices": [{"text": "b"}, {"text": "a"}]}
    assert [choice.text for choice in read(unnumbered).choices] == ["b", "a"]


@pytest.mark.parametrize("named", ["stop_reason", "matched_stop"])
def test_the_stop_string_where_the_server_names_it(named: str) -> None:
    assert read({"choices": [{"text": "t", named: "\nQ:"}]}).choices[0].stop == "\nQ:"
    assert read({"choices": [{"text": "t", named: 151645}]}).choices[0].stop is None


def test_usage_is_none_where_it_is_absent_or_nonsense() -> None:
    full = {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 8},
            "completion_tokens_details": {"reasoning_tokens": 2}}  # fmt: skip
    usage = read({"choices": [{"text": "t"}], "usage": full}).usage
    assert (usage.prompt, usage.cached, usage.completion, usage.reasoning) == (9, 8, 4, 2)
    for odd in (None, "many", {"prompt_tokens": "9", "completion_tokens": -1, "prompt_tokens_details": None}):
        usage = read({"choices": [{"text": "t"}], "usage": odd}).usage
        assert (usage.prompt, usage.cached, usage.completion, usage.reasoning) == (None,) * 4


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"not json", Kind.GARBLED),
        (b"", Kind.GARBLED),
        (b'{"choices": [{"te', Kind.GARBLED),
        (b"[" * 100_000, Kind.GARBLED),
        (b'data: {"choices": ' + b"[" * 100_000 + b"\n\ndata: [DONE]\n\n", Kind.GARBLED),
        ([], Kind.GARBLED),
        ({}, Kind.GARBLED),
        ({"choices": []}, Kind.GARBLED),
        ({"choices": "text"}, Kind.GARBLED),
        ({"choices": [None]}, Kind.GARBLED),
        (chat(None) | {"usage": {"completion_tokens": 310}}, Kind.GARBLED),
        (chat("half", "abort"), Kind.GARBLED),
        (chat("", "content_filter"), Kind.REQUEST),
        ({"error": {"code": 400, "type": "exceed_context_size_error"}}, Kind.OVERFLOW),
        ({"error": {"code": 503, "message": "loading"}}, Kind.PASSING),
    ],
)
def test_what_is_no_answer(body: Any, kind: Kind) -> None:
    with pytest.raises(Failure) as caught:
        read(body)
    assert caught.value.kind is kind


def stream(*events: Any, end: str = "data: [DONE]\n\n") -> bytes:
    lines = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return (": keep-alive\n\n" + lines + end).encode()


def delta(text: str | None, finish: str | None = None, index: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "choices": [{"index": index, "delta": {"content": text, **more}, "finish_reason": finish}],
        "model": "m",
    }


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_only_line_ends_end_the_lines_of_a_stream(end: str) -> None:
    """JSON may hold characters that Python, too, takes for ends of lines."""
    text = "a\u2028b\u2029c\u0085d"
    event = json.dumps({"choices": [{"text": text, "finish_reason": "stop"}]}, ensure_ascii=False)
    raw = end.join([f"data: {event}", "", "data: [DONE]", ""]).encode()
    assert read(raw).choices[0].text == text


def test_a_stream_that_nobody_asked_for_is_put_together() -> None:
    events = [
        delta(None, reasoning_content="hm"),
        delta("It is "),
        delta("b", index=1),
        delta("4.", "length"),
        delta(None, "stop", 1),
        {"choices": [], "usage": {"prompt_tokens": 3}},
    ]
    reply = read(stream(*events))
    assert [(c.text, c.finish_reason, c.reasoning) for c in reply.choices] == [
        ("It is 4.", "length", "hm"),
        ("b", "stop", None),
    ]
    assert (reply.usage.prompt, reply.model) == (3, "m")
    texts = stream(
        {"choices": [{"text": "a"}]}, {"choices": [{"text": "b", "finish_reason": "stop"}]}, end=""
    )
    assert read(texts).choices[0].text == "ab"


@pytest.mark.parametrize(
    "raw",
    [
        stream(delta("5 times 8 "), end=""),
        stream(delta("5"), end='data: {"choi'),
        stream(delta("a", "stop"), delta("b", index=1), end=""),
    ],
)
def test_a_stream_without_its_end_is_not_an_answer(raw: bytes) -> None:
    with pytest.raises(Failure) as caught:
        read(raw)
    assert caught.value.kind is Kind.GARBLED


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["choices", "message", "content", "text", "error", "code", "usage", "index", "delta",
                         "finish_reason", "prompt_tokens", "completion_tokens", "reasoning", "stop_reason"]),
        inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=1000, deadline=None)
@given(JSON, st.sampled_from([200, 400, 404, 429, 500]), st.booleans())
def test_whatever_comes_is_a_reply_or_a_failure(body: Any, status: int, streamed: bool) -> None:
    raw = json.dumps(body).encode()
    try:
        reply = read_reply(status, {}, b"data: " + raw + b"\n\ndata: [DONE]\n" if streamed else raw, 16)
    except Failure:
        return
    assert all(isinstance(choice.text, str) for choice in reply.choices)
