from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resit.models.stops import cut, divide_reasoning


@pytest.mark.parametrize(
    ("text", "stops", "expected"),
    [
        ("a\nQ: b", ("Q:",), ("a\n", "Q:")),
        ("no stop here", ("Q:", "\n\n"), ("no stop here", None)),
        ("one\n\ntwo Q: three", ("Q:", "\n\n"), ("one", "\n\n")),
        ("ends with Q:", ("Q:",), ("ends with ", "Q:")),
        ("Q: begins", ("Q:",), ("", "Q:")),
        ("text", (), ("text", None)),
        ("text", ("",), ("text", None)),
        ("", ("x",), ("", None)),
        ("a</s>", ("<", "</s>"), ("a", "</s>")),
        ("#### 27\n\nQues", ("\n\nQuestion:",), ("#### 27\n\nQues", None)),
        ("caf\u00e9\0\ud800 Q:", ("\ud800",), ("caf\u00e9\0", "\ud800")),
    ],
)
def test_cut(text: str, stops: tuple[str, ...], expected: tuple[str, str | None]) -> None:
    assert cut(text, stops) == expected


@given(st.text("abQ:\n", max_size=30), st.lists(st.text("abQ:\n", min_size=1, max_size=3), max_size=4))
def test_what_is_left_has_no_stop_string_and_nothing_is_invented(text: str, stops: list[str]) -> None:
    left, stop = cut(text, stops)
    assert text.startswith(left + (stop or ""))
    assert not any(other in left for other in stops)
    assert (stop is None) == (left == text and not any(other in text for other in stops))
    assert cut(left, stops) == (left, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>40?</think>\n\nIt is 44.", ("<think>40?</think>", "It is 44.")),
        ("no opening tag\n</think>\n63", ("no opening tag\n</think>", "63")),
        ("a</think>b</think> c", ("a</think>b</think>", "c")),
        ("<think>never ends 44", (None, "<think>never ends 44")),
        ("plain 44", (None, "plain 44")),
    ],
)
def test_divide_reasoning(text: str, expected: tuple[str | None, str]) -> None:
    assert divide_reasoning(text, "</think>") == expected
