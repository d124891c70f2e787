"""The client against servers that behave."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from resit.errors import ResitError, UsageError
from resit.models import Model, Setup, create
from resit.models.openai import SEVERAL
from resit.records import Generation, Message, Request

Ask = Callable[..., Request]
Serve = Callable[..., Any]
MakeReply = Callable[..., dict[str, Any]]


def open_model(
    server: Any, kind: str = "openai-completions", notes: list[str] | None = None, **args: Any
) -> Model:
    concurrency = args.pop("concurrency", 8)
    setup = Setup(concurrency, (notes if notes is not None else []).append)
    return create(kind, {"base_url": server.url, "model": "m", **args}, setup)


def generate(model: Model, requests: Any) -> list[Generation]:
    with model:
        return list(model.generate(requests))


@pytest.fixture
def echo(serve: Serve, reply: MakeReply) -> Any:
    """A server that answers every prompt with its own text."""

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        await asyncio.sleep(0.002)
        said = body.get("prompt") or body["messages"][-1]["content"]
        texts = [f"{said}#{i}" if body.get("n", 1) > 1 else str(said) for i in range(body.get("n", 1))]
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5}}
        return web.json_response(reply(*texts, usage=usage))

    return serve(answer)


def test_every_request_is_answered_once_and_with_its_own_answer(echo: Any, ask: Ask) -> None:
    answers = generate(open_model(echo), [ask(f"prompt {i}", i) for i in range(300)])
    assert {a.doc_id: a.text for a in answers} == {i: f"prompt {i}" for i in range(300)}
    assert len(answers) == 300
    assert 2 <= echo.most_in_flight <= 8
    one = answers[0]
    assert (one.prompt_tokens, one.cached_tokens, one.completion_tokens) == (7, 5, 3)
    assert (one.finish_reason, one.stop, one.error) == ("stop", None, None)


def test_the_body_says_what_was_asked_and_nothing_else(echo: Any, ask: Ask) -> None:
    request = ask(
        "P", seed=11, max_tokens=9, stop=("Q:", "\n\n"), temperature=0.5, top_p=0.9, extra={"min_tokens": 1}
    )
    generate(open_model(echo), [request])
    assert echo.bodies == [
        {
            "model": "m", "prompt": "P", "max_tokens": 9, "temperature": 0.5, "min_tokens": 1,
            "stop": ["Q:", "\n\n"], "seed": 11, "top_p": 0.9,
        }
    ]  # fmt: skip


def test_no_stop_strings_asked_none_sent_and_none_applied(echo: Any, ask: Ask) -> None:
    (answer,) = generate(open_model(echo), [ask("a\n\nb", stop=())])
    assert answer.text == "a\n\nb"
    assert "stop" not in echo.bodies[0]


def test_chat_turns(echo: Any, ask: Ask) -> None:
    turns = (Message("system", "S"), Message("user", "U"))
    plain, chat = generate(open_model(echo, "openai-chat", concurrency=1), [ask("plain"), ask(turns, 1)])
    assert echo.bodies[0]["messages"] == [{"role": "user", "content": "plain"}]
    assert echo.bodies[1]["messages"] == [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "U"},
    ]
    assert (plain.text, chat.text) == ("plain", "U")


@pytest.mark.parametrize("echoed", [True, False])
def test_a_begun_turn_is_continued_whether_the_server_repeats_it_or_not(
    serve: Serve, reply: MakeReply, ask: Ask, echoed: bool
) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        return web.json_response(reply("The total is 5." if echoed else "5."))

    server = serve(answer)
    turns = (Message("user", "How many?"), Message("assistant", "The total is "))
    (found,) = generate(open_model(server, "openai-chat"), [ask(turns)])
    assert found.text == "5."
    assert server.bodies[0]["continue_final_message"] is True
    assert server.bodies[0]["add_generation_prompt"] is False


def test_chat_turns_on_the_completions_endpoint_are_a_usage_error(echo: Any, ask: Ask) -> None:
    with pytest.raises(UsageError, match="chat turns"):
        generate(open_model(echo), [ask((Message("user", "U"),))])


@pytest.mark.parametrize("suffix", ["", "/", "/completions", "/chat/completions", "/completions/"])
def test_base_url_as_everyone_writes_it(echo: Any, ask: Ask, suffix: str) -> None:
    for base in (echo.url + suffix, echo.root):
        model = create("openai-chat", {"base_url": base, "model": "m"}, Setup(2))
        assert [a.text for a in generate(model, [ask("x")])] == ["x"]


def test_an_api_below_a_prefix_without_a_version(ask: Ask, reply: MakeReply, serve: Serve) -> None:
    """The address with /v1 is not found; the other one is then used for everything."""

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        return web.json_response(reply("x"))

    server = serve(answer)
    server.url = f"{server.root}/v1/nothing/.."
    model = create("openai-completions", {"base_url": f"{server.root}/v1/", "model": "m"}, Setup(4))
    assert len(generate(model, [ask("x", i) for i in range(9)])) == 9
    assert model._servers[0].url == f"{server.root}/v1/completions"  # type: ignore[attr-defined]


def test_the_only_model_listed_is_taken(echo: Any, ask: Ask) -> None:
    echo.models = ["the-one"]
    with create("openai-completions", {"base_url": echo.url}) as model:
        assert model.name == "the-one"
        assert model.identity()["model"] == "the-one"
        list(model.generate([ask("x")]))
    assert echo.bodies[0]["model"] == "the-one"


@pytest.mark.parametrize(
    ("models", "message"), [(["a", "b"], "lists a, b"), ([], "no models"), (None, "no models")]
)
def test_which_model(echo: Any, models: list[str] | None, message: str) -> None:
    echo.models = models
    with (
        create("openai-completions", {"base_url": echo.url}) as model,
        pytest.raises(UsageError, match=message),
    ):
        model.identity()


def test_a_server_that_is_not_there(ask: Ask) -> None:
    with create("openai-completions", {"base_url": "http://127.0.0.1:9/v1"}) as model:
        with pytest.raises(ResitError, match="cannot be asked") as caught:
            model.identity()
        assert "running" in caught.value.hint


@pytest.mark.parametrize("n", ["1", "auto"])
def test_requests_are_pulled_a_bounded_number_ahead(echo: Any, ask: Ask, n: str) -> None:
    pulled = 0

    def requests() -> Iterator[Request]:
        nonlocal pulled
        for i in range(3000):
            pulled += 1
            yield ask("x", i)

    with open_model(echo, concurrency=4, n=n) as model:
        for taken, _ in enumerate(model.generate(requests()), 1):
            assert pulled <= taken + 2 * 4 + 32


def test_leaving_early_drops_what_is_in_flight(serve: Serve, reply: MakeReply, ask: Ask) -> None:
    dropped = threading.Event()

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        if body["prompt"] == "slow":
            while request.transport is not None and not request.transport.is_closing():
                await asyncio.sleep(0.02)
            dropped.set()
        return web.json_response(reply("x"))

    with open_model(serve(answer)) as model:
        stream = model.generate([ask("slow", 0), ask("fast", 1), ask("slow", 2)])
        assert next(stream).doc_id == 1
        stream.close()
        assert dropped.wait(60), "the server was left to go on"
        assert [a.doc_id for a in model.generate([ask("fast", 5)])] == [5]


def test_repeats_share_a_request_when_the_server_can(echo: Any, ask: Ask) -> None:
    requests = [
        ask(f"q{d}", d, repeat=r, seed=100 * d + r, temperature=0.7) for d in range(5) for r in range(8)
    ]
    answers = generate(open_model(echo), requests)
    assert len(echo.bodies) == 5
    assert {body["n"] for body in echo.bodies} == {8}
    assert Counter(a.doc_id for a in answers) == dict.fromkeys(range(5), 8)
    assert {(a.doc_id, a.repeat) for a in answers} == {(d, r) for d in range(5) for r in range(8)}
    assert {a.seed for a in answers if a.doc_id == 2} == {200}, "the seed that was really sent"
    assert {a.completion_tokens for a in answers} == {None}, "the count is of all eight texts together"


def test_n_is_asked_for_once_before_it_is_relied_on(serve: Serve, reply: MakeReply, ask: Ask) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        await asyncio.sleep(0.05)
        return web.json_response(reply(*[f"t{i}" for i in range(body.get("n", 1))]))

    server = serve(answer)
    stream = open_model(server, concurrency=16)
    with stream:
        first = next(
            stream.generate([ask("q", d, repeat=r, temperature=1.0) for d in range(40) for r in range(4)])
        )
    assert first.error is None
    assert server.bodies[0]["n"] == 4


@pytest.mark.parametrize("behaviour", ["one choice", "identical", "refuses"])
def test_a_server_without_n_gets_a_request_for_each_seed(
    serve: Serve, reply: MakeReply, ask: Ask, behaviour: str
) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        wanted = body.get("n", 1)
        if wanted == 1 or behaviour == "one choice":
            return web.json_response(reply(f"seed {body['seed']}"))
        if behaviour == "identical":
            return web.json_response(reply(*["same"] * wanted))
        return web.json_response({"error": {"message": "only n=1 is allowed"}}, status=400)

    server, notes = serve(answer), []
    requests = [ask("q", d, repeat=r, seed=10 * d + r, temperature=0.7) for d in range(6) for r in range(4)]
    answers = generate(open_model(server, notes=notes), requests)
    assert {(a.doc_id, a.repeat): a.text for a in answers} == {
        (d, r): f"seed {10 * d + r}" for d in range(6) for r in range(4)
    }
    assert sum("n" in body for body in server.bodies) == 1
    assert [note for note in notes if "by itself" in note]


def test_a_server_that_gives_few_texts_a_request_is_asked_for_few(
    serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    """llama.cpp gives as many as it has slots, and says so."""

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        count = body.get("n", 1)
        if count > 3:
            words = f"Field 'n': Value must be between 1 <= value <= 3, but got {count}"
            return web.json_response({"error": {"message": words}}, status=400)
        return web.json_response(reply(*(f"{body['prompt']} {body['seed']} {i}" for i in range(count))))

    server = serve(answer)
    notes: list[str] = []
    requests = [ask(f"p{d}", d, repeat=r, seed=r, temperature=0.7) for d in range(3) for r in range(8)]
    answers = generate(open_model(server, notes=notes), requests)
    assert len({(a.doc_id, a.repeat) for a in answers}) == len({a.text for a in answers}) == 24
    assert sorted(body.get("n", 1) for body in server.bodies) == [2] * 3 + [3] * 6 + [8]
    assert notes == ["the server gives 3 texts a request"]


def test_greedy_repeats_never_share_a_request(echo: Any, ask: Ask) -> None:
    generate(open_model(echo), [ask("q", 0, repeat=r) for r in range(3)])
    assert [body.get("n") for body in echo.bodies] == [None] * 3
    assert SEVERAL >= 64


def test_stop_strings_beyond_the_servers_limit_are_cut_on_our_side(
    serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        if len(body.get("stop", [])) > 4:
            return web.json_response({"error": {"message": "at most 4 stop sequences"}}, status=400)
        return web.json_response(reply("The answer is 4.<fifth> more"))

    server, notes = serve(answer), []
    stops = ("a1", "b2", "c3", "d4", "<fifth>")
    answers = generate(open_model(server, notes=notes), [ask("q", i, stop=stops) for i in range(20)])
    assert {(a.text, a.stop, a.finish_reason, a.error) for a in answers} == {
        ("The answer is 4.", "<fifth>", "stop", None)
    }
    assert server.bodies[-1]["stop"] == list(stops[:4])
    assert len(notes) == 1


def test_the_stop_field_of_vllm_is_kept_and_not_required(serve: Serve, ask: Ask) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        named = {"stop_reason": "\nQ:"} if body["prompt"] == "named" else {"stop_reason": None}
        return web.json_response({"choices": [{"text": "a", "finish_reason": "stop", **named}]})

    answers = generate(open_model(serve(answer)), [ask("named", 0), ask("not", 1)])
    assert {a.doc_id: a.stop for a in answers} == {0: "\nQ:", 1: None}


def test_the_token_limit_under_its_newer_name(serve: Serve, reply: MakeReply, ask: Ask) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        if "max_tokens" in body:
            words = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            return web.json_response({"error": {"message": words}}, status=400)
        return web.json_response(reply(str(body["max_completion_tokens"])))

    (answered,) = generate(open_model(serve(answer)), [ask("q", max_tokens=12)])
    assert answered.text == "12"


def test_keys_come_from_the_environment_and_stay_out_of_everything(
    echo: Any, ask: Ask, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret")
    model = open_model(echo, api_key_env="MY_KEY")
    answers = generate(model, [ask("x")])
    assert echo.headers[0]["Authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in repr((model.identity(), answers, vars(model), caplog.text))


def test_a_key_that_the_server_repeats_is_hidden(
    serve: Serve, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        return web.json_response({"error": {"message": "Incorrect API key: sk-secret"}}, status=401)

    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with pytest.raises(ResitError, match=r"Incorrect API key: \*\*\*"):
        generate(open_model(serve(answer)), [ask("x")])


@pytest.mark.parametrize("key", ["x", "e", "EMPTY"])
def test_a_key_that_is_none_changes_no_words_of_the_servers(
    serve: Serve, ask: Ask, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        words = "This model's maximum context length is 8 tokens, EMPTY or not"
        return web.json_response({"error": {"message": words}}, status=400)

    monkeypatch.setenv("OPENAI_API_KEY", key)
    (answered,) = generate(open_model(serve(answer)), [ask("x")])
    assert answered.error == "prompt too long: ? tokens, the context has 8"


def test_credentials_in_the_address_are_not_identity(ask: Ask) -> None:
    model = create("openai-completions", {"base_url": "http://me:pw@h:1/v1?token=t", "model": "m"})
    assert model.identity()["server"] == "http://h:1/v1"


def test_an_own_header_counts_over_ours_however_its_name_is_written(
    serve: Serve, reply: MakeReply, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    sent: list[list[str]] = []

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        sent.append([request.headers.getall(name) for name in ("Authorization", "Accept")])
        return web.json_response(reply("x"))

    own = {"authorization": "Bearer own", "accept": "application/json;q=1"}
    generate(open_model(serve(answer), header=own), [ask("x")])
    assert sent == [[["Bearer own"], ["application/json;q=1"]]]


def test_whether_special_tokens_are_sent_is_identity_where_tokens_are() -> None:
    def identity(**args: Any) -> dict[str, Any]:
        args = {"base_url": "http://h/v1", "model": "m", "tokenizer": "t.json", **args}
        return create("openai-completions", args).identity()

    assert identity() == identity(add_bos_token=False)
    assert "add_bos_token" not in identity(), "the identities of runs that send text are what they were"
    sent = identity(tokens=True), identity(tokens=True, add_bos_token=False)
    assert [one["add_bos_token"] for one in sent] == [True, False]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    pem = folder / "both.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1"
    files = [
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-keyout",
        str(folder / "k"),
        "-out",
        str(folder / "c"),
    ]
    try:
        subprocess.run(command.split() + files, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"openssl cannot make a certificate here: {error}")
    pem.write_bytes((folder / "k").read_bytes() + (folder / "c").read_bytes())
    return pem


def test_self_signed_certificates_by_explicit_flag(
    serve: Serve, reply: MakeReply, ask: Ask, certificate: Path
) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        return web.json_response(reply("ok"))

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = serve(answer, context)
    with pytest.raises(ResitError, match="not trusted"):
        generate(open_model(server), [ask("x")])
    for args in ({"verify_certificate": "false"}, {"ca_cert_path": str(certificate)}):
        assert [a.text for a in generate(open_model(server, **args), [ask("x")])] == ["ok"]


def test_proxies_of_the_environment_are_used_but_not_for_this_machine(
    echo: Any, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert [a.text for a in generate(open_model(echo), [ask("x")])] == ["x"]
    elsewhere = create(
        "openai-completions", {"base_url": "http://192.0.2.1/v1", "model": "m", "max_retries": 0}, Setup(1)
    )
    (refused,) = generate(elsewhere, [ask("x")])
    assert refused.error is not None
    assert ":9" in refused.error, "it was the proxy that was asked"


def test_accounts(echo: Any, ask: Ask, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("m: {prompt: 1.0, cached: 0.1, completion: 10}\n", encoding="utf-8")
    notes: list[str] = []
    model = open_model(echo, prices=str(prices), notes=notes)
    generate(model, [ask("x", i) for i in range(100)])
    account = model.account  # type: ignore[attr-defined]
    assert (account.requests, account.retries, account.uncounted) == (100, 0, 0)
    assert (account.prompt_tokens, account.cached_tokens, account.completion_tokens) == (700, 500, 300)
    assert account.reasoning_tokens is None
    price = model.price()  # type: ignore[attr-defined]
    (bill,) = notes
    assert "100 requests (0 of them again), 700 prompt tokens (500 cached)" in bill
    assert bill.endswith("300 completion tokens: 0.00325")
    assert account.cost(price) == pytest.approx((200 * 1.0 + 500 * 0.1 + 300 * 10) / 1e6)


@pytest.mark.parametrize(
    "content",
    [
        "m: 5",
        "m: {prompt: -1, completion: 1}",
        "other: {prompt: 1, completion: 1}",
        "[",
        "m: {prompt: 1, completion: 1, x: 2}",
    ],
)
def test_ill_formed_prices(echo: Any, tmp_path: Path, content: str) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match="price"):
        open_model(echo, prices=str(prices)).price()  # type: ignore[attr-defined]


def test_arguments_that_cannot_be(echo: Any) -> None:
    with pytest.raises(UsageError, match="expected a number from 1 up, or auto"):
        create("openai-chat", {"base_url": echo.url, "num_concurrent": "many"})
    with pytest.raises(UsageError, match="from 1 up"):
        create("openai-chat", {"base_url": echo.url, "num_concurrent": "0"})
    with pytest.raises(UsageError, match="timeout"):
        create("openai-chat", {"base_url": echo.url, "timeout": "inf"})
    with pytest.raises(UsageError, match="completions endpoint"):
        create("openai-chat", {"tokens": "true"})
    with pytest.raises(UsageError, match="tokenizer"):
        create("openai-completions", {"tokens": "true"})


def test_token_ids_are_sent_when_asked_for_and_shown(echo: Any, ask: Ask, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="needs resit[server]")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<s>": 0, "How": 1, "many": 2}, unk_token="How"))
    made.add_special_tokens(["<s>"])
    made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    tokenizer = tmp_path / "tokenizer.json"
    made.save(str(tokenizer))
    with open_model(echo, tokens="true", tokenizer=str(tokenizer)) as model:
        encoding = model.encode("How many")
        assert (encoding.token_ids, encoding.pieces, encoding.bos) == (
            (0, 1, 2),
            ("<s>", "How", "many"),
            True,
        )
        assert model.encode("<s>How many").token_ids == (0, 1, 2), "never two of them"
        list(model.generate([ask("How many")]))
    assert echo.bodies[0]["prompt"] == [0, 1, 2]
    with open_model(echo, tokens="true", tokenizer=str(tokenizer), add_bos_token="false") as bare:
        assert bare.encode("How many").bos is False


def test_headers_of_ones_own(echo: Any, ask: Ask) -> None:
    model = open_model(echo, header={"X-Team": "maths"})
    generate(model, [ask("x")])
    assert echo.headers[0]["X-Team"] == "maths"
    assert "maths" not in repr(model.identity())
