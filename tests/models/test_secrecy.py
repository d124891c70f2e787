"""What is a secret among model arguments, and what of an address may be written down."""

from __future__ import annotations

from typing import Any

import pytest

from resit.errors import UsageError
from resit.models import create
from resit.models.secrecy import secret_names, with_scheme, without_credentials


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("http://h:8000/v1", "http://h:8000/v1"),
        ("h:8000/v1", "http://h:8000/v1"),
        ("localhost", "http://localhost"),
        ("http://me:pw@h:8000/v1?token=t", "http://h:8000/v1"),
        ("me:pw@h:8000/v1", "http://h:8000/v1"),
        ("me:p@ss@h/v1", "http://h/v1"),
        ("https://me:p;w@h/v1?a=b;c=d", "https://h/v1"),
        ("https://h/%40cf/v1?who=a%40b", "https://h/%40cf/v1"),
        ("h/v1?next=http://x&key=k", "http://h/v1"),
    ],
)
def test_an_address_is_shown_without_login_and_query_and_asked_there(given: str, shown: str) -> None:
    assert without_credentials(with_scheme(given)) == shown
    model: Any = create("openai-completions", {"base_url": [given], "model": "m"})
    assert model.identity()["server"] == shown
    assert model._servers[0].url.startswith(shown)


@pytest.mark.parametrize("scheme", ["", "http://"])
@pytest.mark.parametrize("password", ["qzx/1", "qzx?1", "qzx#1", "q@zx/1", "1/qzx", "1/qzx?1"])
def test_an_address_of_no_form_is_refused_without_its_login(scheme: str, password: str) -> None:
    with pytest.raises(UsageError) as refused:
        create("openai-completions", {"base_url": f"{scheme}alice:{password}@host:8000/v1?k=hidden"})
    said = f"{refused.value} {refused.value.hint}"
    assert "host:8000/v1 is not an address" in said
    assert [word for word in ("alice", "zx", "hidden") if word in said] == []


def test_secrets_are_told_by_their_names() -> None:
    names = ["hf_token", "api_key", "header", "db_password", "tokenizer", "api_key_env", "max_tokens"]
    assert secret_names(dict.fromkeys(names)) == ["api_key", "db_password", "header", "hf_token"]


def test_the_password_of_an_address_without_a_scheme_is_sent() -> None:
    model: Any = create("openai-completions", {"base_url": "me:p%40s@s@h/v1;you:pw@g", "model": "m"})
    assert [server.access.login for server in model._servers] == ["me:p@s@s", "you:pw"]
    assert [server.host for server in model._servers] == ["h", "g"]
