"""A row's text as it grows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="needs `pip install 'resit[hf]'`")

from resit.models.hf.transcript import Transcript, special_tokens
from resit.models.stops import cut

TEXTS = st.text(st.sampled_from("one two:\n\n#é漢🍎"), max_size=30)
STOPS = st.lists(st.text(st.sampled_from("one tw:\n#漢🍎"), min_size=1, max_size=5), max_size=3)


class InPython:
    """The tokenizer, without the incremental decoder that only tokenizers in Rust have."""

    def __init__(self, tokenizer: Any) -> None:
        self.decode = tokenizer.decode
        self.encode = tokenizer.encode


@pytest.mark.parametrize("in_python", [False, True])
@given(text=TEXTS, stops=STOPS)
def test_a_stop_is_seen_at_the_token_that_completes_it(
    tokenizer: Any, in_python: bool, text: str, stops: list[str]
) -> None:
    tokens = tokenizer.encode(text)
    transcript = Transcript(InPython(tokenizer) if in_python else tokenizer, stops, {})
    for number, token in enumerate(tokens, 1):
        seen = transcript.append(token)
        _, expected = cut(tokenizer.decode(tokens[:number]), stops)
        assert (seen is None) == (expected is None)
        if seen is not None:
            break
    assert transcript.answer() == cut(tokenizer.decode(transcript.tokens), stops)
    assert transcript.text == transcript.decoded().rstrip("\ufffd")


def test_a_stop_may_name_a_special_token(tokenizer: Any) -> None:
    special = special_tokens(tokenizer)
    transcript = Transcript(tokenizer, ("<turn>",), special)
    one, turn = tokenizer.encode("one")[0], tokenizer.convert_tokens_to_ids("<turn>")
    assert transcript.append(one) is None
    assert transcript.append(turn) == "<turn>"
    assert transcript.answer() == (tokenizer.decode([one]), "<turn>")


def test_special_tokens_that_are_no_stop_leave_no_text(tokenizer: Any) -> None:
    transcript = Transcript(tokenizer, ("#",), special_tokens(tokenizer))
    assert transcript.append(tokenizer.convert_tokens_to_ids("<turn>")) is None
    assert transcript.text == ""


@given(text=TEXTS, other=TEXTS)
def test_other_tokens_in_place_of_all_said_so_far(tokenizer: Any, text: str, other: str) -> None:
    transcript = Transcript(tokenizer, (), {})
    for token in tokenizer.encode(text):
        transcript.append(token)
    transcript.replace(transcript.tokens_of(other))
    assert transcript.text == other
