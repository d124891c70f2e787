"""Refusals list every place where two records differ, and nothing else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from resit.differences import differences

records = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.dictionaries(st.text(max_size=2), inner, max_size=3) | st.lists(inner, max_size=2),
)


def test_each_place_is_named_by_its_path() -> None:
    found = list(differences({"a": {"b": 1, "c": [1]}, "d": 1}, {"a": {"b": 2, "c": [1]}, "e": "x"}))
    assert found == [
        ("a.b", "1", "2"),
        ("d", "1", "null"),
        ("e", "null", '"x"'),
    ]


def test_long_values_are_cut() -> None:
    (found,) = differences({"prompt": "x" * 500}, {"prompt": "y" * 500})
    assert len(found.first) == len(found.second) == 80
    assert found.first.endswith("…")


@given(records)
def test_nothing_differs_from_itself(record: object) -> None:
    assert list(differences(record, record)) == []
