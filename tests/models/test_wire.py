from __future__ import annotations

import pytest

from resit.models.failures import Failure, Kind
from resit.models.wire import Dialect, api_root, endpoints, most_texts


@pytest.mark.parametrize(
    ("base", "first", "second"),
    [
        ("http://h:8000/v1", "http://h:8000/v1/completions", None),
        ("http://h:8000/v1/", "http://h:8000/v1/completions", None),
        ("http://h:8000/v1/completions", "http://h:8000/v1/completions", None),
        ("http://h:8000/v1/chat/completions", "http://h:8000/v1/completions", None),
        ("http://h:8000", "http://h:8000/v1/completions", "http://h:8000/completions"),
        ("http://h", "http://h/v1/completions", "http://h/completions"),
        ("https://h/prefix/v1", "https://h/prefix/v1/completions", None),
        ("https://h/prefix", "https://h/prefix/v1/completions", "https://h/prefix/completions"),
        ("https://h/v1beta/openai", "https://h/v1beta/openai/completions", None),
        ("https://h/api/v3", "https://h/api/v3/completions", None),
    ],
)
def test_addresses(base: str, first: str, second: str | None) -> None:
    found = endpoints(base, "completions")
    assert found == ((first,) if second is None else (first, second))
    assert endpoints(base, "chat")[0] == first.replace("/completions", "/chat/completions")
    assert api_root(endpoints(base, "chat")[0]) == api_root(first) == first.removesuffix("/completions")


def refusal(words: str) -> Failure:
    return Failure(Kind.REQUEST, words)


def test_each_lesson_is_learnt_once() -> None:
    dialect = Dialect()
    assert dialect.learn(refusal("400: at most 4 stop sequences"), stops=5, texts=1)
    assert dialect.max_stops == 4
    assert not dialect.learn(refusal("400: at most 4 stop sequences"), stops=4, texts=1)
    assert dialect.learn(refusal("use 'max_completion_tokens' instead"), stops=0, texts=1)
    assert dialect.learn(refusal("unknown field: seed"), stops=0, texts=1)
    assert dialect.learn(refusal("whatever"), stops=0, texts=8)
    assert not dialect.learn(refusal("whatever"), stops=0, texts=8)
    assert (dialect.tokens_field, dialect.send_seed, dialect.several) == (
        "max_completion_tokens",
        False,
        False,
    )
    assert len(dialect.notes) == 4


def test_the_number_of_texts_in_a_refusal() -> None:
    assert most_texts("n must be at most 8") == 8
    assert most_texts("n must be at most " + "9" * 5000) is None


def test_trouble_is_no_lesson() -> None:
    dialect = Dialect()
    assert not dialect.learn(Failure(Kind.PASSING, "500: stop seed n"), stops=9, texts=9)
    assert dialect == Dialect()
