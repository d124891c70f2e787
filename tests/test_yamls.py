"""YAML that cannot be read is always a YAMLError, in one line, with the line's number."""

from __future__ import annotations

import contextlib
import datetime
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from resit import yamls


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("a: 1", {"a": 1}),
        ("[yes, No, ~, .inf, -0.5]", [True, False, None, float("inf"), -0.5]),
        ("[0x1F, 017, 1:30, 1_000]", [31, 15, 90, 1000]),
        ("2021-02-03", datetime.date(2021, 2, 3)),
        (f"-{10**308}", -(10**308)),
        (b"\xef\xbb\xbfa: \xc3\xa9", {"a": "é"}),
    ],
)  # fmt: skip
def test_values_are_yaml_1_1_s(text: str | bytes, value: Any) -> None:
    assert yamls.load(text) == value


BOMB = "a0: &a0 [x]\n" + "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a:\n  day: 2021-13-45", "line 2: '2021-13-45' is no timestamp"),
        ("a: " + "9" * 5000, f"line 1: '{'9' * 40}' is no int"),
        ("a: 0x" + "f" * 5000, "line 1: a number beyond 1e+308"),
        (f"a: -{10**308 + 1}", "line 1: a number beyond 1e+308"),
        ("a: !!float ._", "line 1: '._' is no float"),
        ("!!bool maybe", "line 1: 'maybe' is no bool"),
        ("!!timestamp then", "line 1: 'then' is no timestamp"),
        ("!!int [1]", "line 1: "),
        ("a\n: b: [", "line 2: "),
        ("*nobody", "line 1: found undefined alias"),
        ("!!python/object:os.system {}", "line 1: could not determine a constructor"),
        (b"a: \xff\xfe", ""),
        ("a: &a [*a]", "expected at most 1000000 values"),
        ("a: &a {b: !!omap [c: *a]}", "expected at most 1000000 values"),
        (BOMB, "expected at most 1000000 values"),
        ("[" * 20_000, ""),
    ],
)
def test_what_cannot_be_read_is_one_kind_of_error(text: str | bytes, words: str) -> None:
    with pytest.raises(yaml.YAMLError) as raised:
        yamls.load(text)
    shown = yamls.problem(raised.value)
    assert shown.startswith(words)
    assert "\n" not in shown


TAGGED = st.from_regex(r"(!!(int|float|bool|timestamp|binary) )?[0-9a-fx:._+-]*")


@given(st.one_of(st.text(), st.binary(), TAGGED))
def test_any_text_gives_a_value_or_that_error(text: str | bytes) -> None:
    with contextlib.suppress(yaml.YAMLError):
        yamls.load(text)
