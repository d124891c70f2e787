"""Valid values and bytes made hostile: exchanged, dropped, nested, flipped, cut out, doubled."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

hostile = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(
        [-1, 0, 2**31, 2**63, 2**64, -(10**400), 10**400, 0.5, 1e308, float("inf"), float("nan")]
    )
    | st.text(max_size=8)
    | st.sampled_from(
        ["", "\0", "\ud800", "{{", "{% for %}", "{{ x.__class__ }}", "!function a.b", "#### 4", "(", "a\nb"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of everything inside a value of JSON."""
    inside: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, list):
        inside = enumerate(value)
    return [path] * bool(path) + [place for key, item in inside for place in places(item, (*path, key))]


@st.composite
def spoiled(draw: Callable[..., Any], value: Any) -> Any:
    """A value of JSON in which a few parts are others than they should be."""
    value = json.loads(json.dumps(value))
    for _ in range(draw(st.integers(0, 3))):
        known = places(value)
        if not known:
            break
        *above, key = draw(st.sampled_from(known))
        holder = value
        for step in above:
            holder = holder[step]
        match draw(st.sampled_from(["other", "gone", "nested", "twice", "text"])):
            case "other":
                holder[key] = draw(hostile)
            case "gone":
                del holder[key]
            case "nested":
                holder[key] = [holder[key]] if draw(st.booleans()) else {"a": holder[key]}
            case "twice" if isinstance(holder, list):
                holder.insert(key, holder[key])
            case "twice":
                holder[draw(st.text(max_size=5))] = holder[key]
            case "text":
                holder[key] = str(holder[key])
    return value


@st.composite
def damaged(draw: Callable[..., Any], data: bytes) -> bytes:
    """Bytes of which a few are lost, doubled or others."""
    for _ in range(draw(st.integers(0, 2))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 64)))
        new = draw(
            st.binary(max_size=6)
            | st.just(data[start:end] * 2)
            | st.sampled_from(
                [
                    b"\n",
                    b"\r",
                    b"\0",
                    b"[" * 5000,
                    b'{"a":' * 5000,
                    b"\xef\xbb\xbf",
                    b"9" * 5000,
                    b"&a [*a, *a]",
                ]
            )
        )
        data = data[:start] + new + data[end:]
    return data


def lines_of(values: Sequence[Any]) -> bytes:
    """JSON lines; a lone surrogate stays an escape."""
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)
