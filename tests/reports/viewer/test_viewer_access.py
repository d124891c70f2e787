"""Who is answered and who is not, request by request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resit.reports.viewer.access import HEADERS, Access
from resit.reports.viewer.serving import Place, access_of, address

TOKEN = "correct-horse"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "localhost:9999"}, 200),  # a tunnel ends at another port
        ({"host": "127.0.0.1:8642"}, 200),
        ({"host": "[::1]:8642"}, 200),
        ({"host": "LOCALHOST"}, 200),
        ({"host": "evil.example"}, 403),  # a name that was made to point here
        ({"host": "localhost.evil.example"}, 403),
        ({"host": "192.168.1.5"}, 403),
        ({"host": ""}, 403),
        ({"host": "localhost:80:90"}, 403),
        ({"host": "[::1"}, 403),
        ({"host": "user@evil.example"}, 403),
        ({"host": "localhost@evil.example"}, 403),
        ({"origin": "http://localhost"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:1"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, 200),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"}, 403),
    ],
)
def test_loopback_answers_this_machine_only(
    client_of: Callable[..., Any], run_folder: Callable[..., Path], headers: dict[str, str], status: int
) -> None:
    run_folder("one", [["#### 0"]])
    asking = client_of()
    for path in ("/", "/api/runs", "/static/runs.js"):
        response = asking.http.get(path, headers=headers)
        assert response.status_code == status
        for name, value in HEADERS.items():
            assert response.headers[name] == value
        if status == 403:
            assert "one" not in response.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_nothing_but_reading(
    client_of: Callable[..., Any], run_folder: Callable[..., Path], method: str
) -> None:
    run_folder("one", [["#### 0"]])
    response = client_of().http.request(method, "/api/runs")
    assert response.status_code == 405
    assert response.headers["allow"] == "GET, HEAD"


def with_token(client_of: Callable[..., Any]) -> Any:
    return client_of(access=Access(frozenset({"cluster"}), TOKEN, "resit-1"))


def test_a_token_opens_and_becomes_a_cookie(
    client_of: Callable[..., Any], run_folder: Callable[..., Path]
) -> None:
    run_folder("one", [["#### 0"]])
    http = with_token(client_of).http
    assert http.get("/api/runs").status_code == 401
    assert "one" not in http.get("/").text
    opened = http.get(f"/report?runs=a%26b&token={TOKEN}", follow_redirects=False)
    assert opened.status_code == 303
    assert opened.headers["location"] == "/report?runs=a%26b"
    assert TOKEN not in opened.headers["location"]
    cookie = opened.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert http.get("/api/runs").status_code == 200  # the client keeps the cookie


@pytest.mark.parametrize(
    "shown",
    [
        {"params": {"token": "wrong"}},
        {"params": {"token": ""}},
        {"params": {"token": TOKEN[:-1]}},
        {"params": {"token": TOKEN + "é\ud800".encode("utf-8", "surrogatepass").decode("latin-1")}},
        {"headers": {"cookie": "resit-1=wrong"}},
        {"headers": {"cookie": f"resit-2={TOKEN}"}},
        {"headers": {"cookie": "resit-1"}},
        {"headers": {"cookie": b"\x80=;;;"}},
        {"headers": {"authorization": f"Basic {TOKEN}"}},
        {"headers": {"authorization": "Bearer"}},
    ],
)
def test_nothing_else_opens(
    client_of: Callable[..., Any], run_folder: Callable[..., Path], shown: dict[str, Any]
) -> None:
    run_folder("one", [["#### 0"]])
    assert with_token(client_of).http.get("/api/runs", **shown).status_code == 401


def test_a_bearer_opens(client_of: Callable[..., Any], run_folder: Callable[..., Path]) -> None:
    run_folder("one", [["#### 0"]])
    headers = {"authorization": f"Bearer {TOKEN}"}
    assert with_token(client_of).http.get("/api/runs", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("host", "status"), [("cluster", 200), ("192.168.1.5:80", 200), ("evil.example", 403), ("cluster2", 403)]
)
def test_a_name_is_checked_beside_the_token(
    client_of: Callable[..., Any], run_folder: Callable[..., Path], host: str, status: int
) -> None:
    run_folder("one", [["#### 0"]])
    headers = {"host": host, "authorization": f"Bearer {TOKEN}"}
    assert with_token(client_of).http.get("/api/runs", headers=headers).status_code == status


def test_a_redirect_stays_here(client_of: Callable[..., Any], run_folder: Callable[..., Path]) -> None:
    run_folder("one", [["#### 0"]])
    http = with_token(client_of).http
    for path in ("//evil.example/x", "/\\evil.example"):
        moved = http.get(f"http://localhost{path}?token={TOKEN}", follow_redirects=False)
        assert moved.headers["location"].startswith("/")
        assert not moved.headers["location"].startswith(("//", "/\\"))


@pytest.mark.parametrize(
    ("place", "asks"),
    [
        (Place(), False),
        (Place("localhost"), False),
        (Place("::1"), False),
        (Place("127.0.0.5"), False),
        (Place(token=True), True),
        (Place("0.0.0.0"), True),
        (Place("::"), True),
        (Place("10.0.0.7"), True),
        (Place("cluster.example"), True),
    ],
)
def test_a_token_wherever_others_can_connect(place: Place, asks: bool) -> None:
    access = access_of(place, 8642)
    assert bool(access.token) == asks
    assert len(access.token) in (0, 32)
    shown = address(place, 8642, access.token)
    assert ("?token=" in shown) == asks
    assert shown.endswith(access.token)


def test_tokens_differ() -> None:
    assert len({access_of(Place(token=True), 1).token for _ in range(100)}) == 100
