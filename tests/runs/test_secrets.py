"""Settings as `run.json` shows them, and identities that tell one value of a variable from another."""

from __future__ import annotations

from typing import Any

import pytest

from resit.runs.secrets import Secrets, without_logins


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"base_url": "me:p@ss@h:1/v1?k=v"}, {"base_url": "http://h:1/v1"}),
        ({"base_url": "me:a@h/v1; http://me:b@g/v1"}, {"base_url": "http://h/v1; http://g/v1"}),
        ({"base_url": ("h:1", "me:p;w@g:2")}, {"base_url": ["http://h:1", "http://g:2"]}),
        ({"more": {"api_url": "me:pw@h"}}, {"more": {"api_url": "http://h"}}),
        ({"place": "see http://me:p@ss@h/v1?k=v"}, {"place": "see http://h/v1"}),
        ({"text": "me@home, you?", "n": 3}, {"text": "me@home, you?", "n": 3}),
    ],
)
def test_addresses_are_shown_without_logins_and_queries(given: dict[str, Any], shown: dict[str, Any]) -> None:
    assert without_logins(given) == shown


def test_another_value_of_a_variable_is_another_identity_that_does_not_tell_it() -> None:
    def identity(**environment: str) -> Any:
        secrets = Secrets(environment)
        return secrets.marked(secrets.expanded({"server": "http://${HOST}/v1", "n": ["${N}"]}, "model_args"))

    one = identity(HOST="node-1", N="8")
    assert one == {"server": "http://${HOST}#35971be6/v1", "n": ["${N}#2c624232"]}
    assert identity(HOST="node-1", N="8") == one
    assert identity(HOST="node-2", N="8")["server"] != one["server"]
    assert identity(HOST="node-1", N="9")["n"] != one["n"]


def test_a_short_value_is_not_looked_for_in_texts_that_it_did_not_make() -> None:
    def identity(count: str, size: str = "4b") -> Any:
        secrets = Secrets({"C": count, "SIZE": size, "TOKEN": "secret-token"})
        secrets.expanded({"num_concurrent": "${C}", "model": "qwen-${SIZE}"}, "model_args")
        secrets.expanded("${TOKEN}", "model_args")
        server = {"server": "http://127.0.0.1:8941/v1", "model": f"qwen-{size}"}
        return secrets.marked({**server, "path": f"{size}/secret-token", "n": count})

    four, eight = identity("4"), identity("8")
    assert four == {
        "server": "http://127.0.0.1:8941/v1",
        "model": "qwen-${SIZE}#61b8453c",
        "path": "4b/${TOKEN}#930bbdc5",
        "n": "${C}#4b227777",
    }
    assert four["n"] != eight.pop("n")
    assert eight.items() <= four.items()
    assert identity("4", "8b")["model"] != four["model"]


def test_nothing_is_replaced_within_what_was_put_in() -> None:
    secrets = Secrets({"A2": "secret-2", "N": "2"})
    expanded = secrets.expanded("${A2}/${N}", "model_args")
    assert secrets.hidden(expanded) == "${A2}/${N}"
    assert secrets.marked(expanded) == "${A2}#f4b6bb65/${N}#d4735e3a"
