"""Any server that speaks OpenAI's completions or chat completions."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from resit.errors import UsageError
from resit.models.account import Account, Price, read_price
from resit.models.client import Asking, Drain, Interrupted, Job, Loop, run_jobs
from resit.models.doctor import Patient
from resit.models.echo import Echo
from resit.models.echo import jobs as passage_jobs
from resit.models.exchange import Exchange, Reading
from resit.models.failures import Patience
from resit.models.http import Access, find_key
from resit.models.limiter import HIGHEST
from resit.models.protocol import JSON, Closing, Encoding, Setup
from resit.models.replicas import Replicas, agree
from resit.models.secrecy import with_scheme, without_credentials
from resit.models.server import Server
from resit.models.tokens import Tokens
from resit.models.watch import Watch
from resit.models.wire import SEVERAL, Dialect, Endpoint, Wording
from resit.records import Generation, Passage, Prompt, Request, Sampling, TokenLikelihoods

Result = TypeVar("Result")

OFFICIAL = "api.openai.com"
OFFICIAL_STOPS = 4

NEEDLESS = frozenset(
    {"tokenized_requests", "tokenizer_backend", "batch_size", "trust_remote_code", "revision", "eos_string"}
)
"""Arguments of lm-eval's that settle what here needs no settling."""
ELSEWHERE = {
    "max_gen_toks": "--gen-kwargs max_gen_toks=N",
    "seed": "--seed N: every sample then has its own seed",
    "max_length": "the server knows its context; prompts are never cut, those too long are reported",
    "api_key": "keys come from the environment (api_key_env=NAME) or the keyring, not from the command line",
}


class Arguments(BaseModel):
    """Arguments of `openai-completions` and `openai-chat`; lm-eval's names are understood."""

    model_config = ConfigDict(protected_namespaces=(), coerce_numbers_to_str=True)

    base_url: tuple[str, ...] = Field(
        (f"https://{OFFICIAL}/v1",),
        min_length=1,
        description="the server: its API root, or the full endpoint; several of one model, apart by ;",
    )
    model: str | None = Field(
        None, description="the model's name there (default: the only one that it lists)"
    )
    server_name: str | None = Field(
        None, description="what the run's identity calls the server (default: its first address)"
    )
    num_concurrent: str | None = Field(
        None, description="requests in flight at each server: a number, or auto (the default)"
    )
    timeout: float = Field(
        600.0, gt=0, allow_inf_nan=False, description="seconds that one request may take, from its sending"
    )
    max_retries: int = Field(
        8, ge=0, description="times that a request is asked again after trouble that may pass"
    )
    retry_seconds: float = Field(
        600.0, ge=0, allow_inf_nan=False, description="seconds that a request, or a rate limit, is waited for"
    )
    api_key_env: str = Field("OPENAI_API_KEY", description="environment variable that holds the key")
    header: dict[str, str] = Field({}, description="HTTP headers, in model_args written as JSON")
    verify_certificate: bool = Field(True, description="false accepts a self-signed certificate")
    ca_cert_path: Path | None = Field(None, description="certificates to trust instead of the system's")
    n: str = Field(
        "auto", description="texts asked for at once when a question is sampled repeatedly: auto or 1"
    )
    send_seed: bool = Field(True, description="false leaves the seed out")
    max_stops: int | None = Field(
        None, ge=0, description="stop strings the server takes (default: found out)"
    )
    think_end_token: str | None = Field(None, description="what ends the reasoning part, such as </think>")
    reasoning_as_answer: bool = Field(
        False, description="take the reasoning field of a finished answer that has no content"
    )
    tokens: bool = Field(False, description="send token ids instead of text (completions only)")
    tokenizer: str | None = Field(
        None, description="tokenizer.json or a hub name, for tokens=true and for checking the server's counts"
    )
    add_bos_token: bool = Field(True, description="whether the tokenizer may put its special tokens first")
    opening: str | None = Field(
        None, description="the begin token as text, for log-probabilities (default: the tokenizer's)"
    )
    prices: Path | None = Field(
        None, description="YAML file MODEL: {prompt: …, completion: …} for a million tokens"
    )

    @field_validator("base_url", mode="before")
    @classmethod
    def _addresses(cls, value: Any) -> Any:
        return value.replace(";", " ").split() if isinstance(value, str) else value

    @field_validator("base_url")
    @classmethod
    def _whole(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(with_scheme(address.strip()) for address in value)


def arguments(kind: str) -> type[Arguments]:
    """What `model_args` may hold."""
    return Arguments


def build(kind: str, args: Arguments, setup: Setup) -> OpenAIModel:
    """The model; contacts nothing yet. Raises UsageError."""
    endpoint: Endpoint = "chat" if kind == "openai-chat" else "completions"
    if args.tokens and endpoint == "chat":
        raise UsageError("tokens=true needs the completions endpoint", "use --model openai-completions")
    if args.tokens and not args.tokenizer:
        raise UsageError("tokens=true needs a tokenizer", "add tokenizer=path/to/tokenizer.json")
    tokens = Tokens(args.tokenizer, args.add_bos_token) if args.tokenizer else None
    servers = [Server(_access(args, url), endpoint, args.model) for url in dict.fromkeys(args.base_url)]
    return OpenAIModel(args, servers, tokens, setup)


def _access(args: Arguments, url: str) -> Access:
    return Access(
        url=url,
        key=find_key(args.api_key_env, _host(url)),
        headers=args.header,
        timeout=args.timeout,
        verify_certificate=args.verify_certificate,
        ca_file=args.ca_cert_path,
    )


def _host(url: str) -> str:
    """The address's host name. Raises UsageError where it has not the form of one."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise _formless(url) from None
    # what follows a / in a password would be shown as a path
    if "@" in parts.path + parts.query + parts.fragment:
        raise _formless(url)
    return host or ""


def _formless(url: str) -> UsageError:
    """The error for what is no address; nothing of a login is repeated in it."""
    return UsageError(
        f"base_url: {without_credentials(url.rpartition('@')[2])} is not an address",
        "expected http://HOST:PORT/v1; a login has %2F for /, %3F for ? and %23 for #, a path %40 for @",
    )


def _fixed_limit(args: Arguments, setup: Setup) -> int | None:
    """The number of requests in flight that was asked for; None: find it out."""
    if setup.concurrency is not None:
        return setup.concurrency
    if args.num_concurrent in (None, "auto"):
        return None
    try:
        limit = int(args.num_concurrent or "")
    except ValueError:
        limit = 0
    if limit < 1:
        raise UsageError(f"num_concurrent={args.num_concurrent}: expected a number from 1 up, or auto")
    return limit


def _jobs(requests: Iterable[Request], several: int) -> Iterator[Job]:
    """One job for each request; sampled repeats of one question, when they come together, share one."""

    def together(request: Request) -> tuple[str, str, Prompt, Sampling]:
        question = request.question  # a calculator's continuations have prompts and limits of their own
        return question.task, question.document.doc_hash, question.prompt, request.sampling

    for (_, _, _, sampling), group in groupby(requests, key=together):
        sampled = sampling.temperature > 0
        while batch := tuple(islice(group, several if sampled else 1)):
            yield Job(batch)


class OpenAIModel(Closing):
    """A model behind a server, or behind several that are copies of one another."""

    def __init__(
        self, args: Arguments, servers: Sequence[Server], tokens: Tokens | None, setup: Setup
    ) -> None:
        self._args = args
        self._servers = servers
        self._tokens = tokens
        self._notify = setup.notify
        self._fixed = _fixed_limit(args, setup)
        self._replicas = Replicas(servers, self._fixed)
        self._official = any(server.host == OFFICIAL for server in servers)
        stops = args.max_stops if args.max_stops is not None else OFFICIAL_STOPS if self._official else None
        self._dialect = Dialect(stops, send_seed=args.send_seed, several=None if args.n == "auto" else False)
        self._open_loop: Loop | None = None
        self._drain: Drain | None = None
        self._interrupted = False
        self.patience = Patience(args.max_retries + 1, args.retry_seconds)
        self.account = Account()

    @property
    def name(self) -> str:
        """The model's name at the server."""
        if (known := self._servers[0].model) is not None:
            return known
        try:
            return self._loop().run(agree(self._servers))
        except Exception:
            self.close()  # who asks for the name has not opened the model yet
            raise

    def _loop(self) -> Loop:
        if self._open_loop is None:
            self._open_loop = Loop()
        return self._open_loop

    def _wording(self) -> Wording:
        return Wording(self._servers[0].endpoint, self.name, continue_turn=not self._official)

    def price(self) -> Price | None:
        """The model's price, if a price file was given. Raises UsageError."""
        return read_price(self._args.prices, self.name) if self._args.prices else None

    def identity(self) -> dict[str, JSON]:
        """The first server's name, the model's name there, and what changes the texts on the way."""
        sent = {"add_bos_token": self._args.add_bos_token} if self._args.tokens else {}
        return {
            "kind": f"openai-{self._servers[0].endpoint}",
            "server": self._args.server_name or self._servers[0].place,
            "model": self.name,
            "tokenizer": self._args.tokenizer if self._args.tokens else None,
            "think_end_token": self._args.think_end_token,
            "reasoning_as_answer": self._args.reasoning_as_answer,
            **sent,
        }

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
        """One generation a request, as they finish; repeats of a question may share an HTTP request."""
        exchange = Exchange(
            wording=self._wording(),
            dialect=self._dialect,
            reading=Reading(self._args.think_end_token, self._args.reasoning_as_answer),
            watch=Watch(self._notify),
            account=self.account,
            notify=self._notify,
            tokens=self._tokens,
            send_tokens=self._args.tokens,
        )
        price = self.price()
        drain = self._drain_for(exchange)
        exchange.again = drain.again
        several = SEVERAL if self._dialect.several is not False else 1
        try:
            yield from self._answers(_jobs(requests, several), drain)
        finally:
            self.account.retries += drain.retries
            if price:
                self._notify(self.account.bill(price))

    def loglikelihoods(
        self, passages: Iterable[Passage], moments: bool = False
    ) -> Iterator[TokenLikelihoods]:
        """One result a passage, as they finish; no moments. Raises UsageError where a server tells none."""
        if self._servers[0].endpoint != "completions":
            raise UsageError(
                "log-probabilities of a text need the completions endpoint", "use --model openai-completions"
            )
        opening = self._args.opening or (self._tokens.opening() if self._tokens else None)
        echo = Echo(self._wording(), self.account, opening)
        answers = self._answers(passage_jobs(iter(passages)), self._drain_for(echo))
        yield from cast("Iterator[TokenLikelihoods]", answers)

    def _drain_for(self, asking: Asking) -> Drain:
        drain = Drain(asking, self._replicas, self.patience, self._loop().loop, self._notify)
        self._drain = drain
        if self._interrupted:  # looked at after the handler can have seen the drain
            drain.wind_down(Interrupted())
        return drain

    def _answers(self, jobs: Iterator[Job], drain: Drain) -> Iterator[Generation]:
        if not self._replicas.alone and not drain.winding_down:
            self._loop().run(drain.open())
        bound = 2 * (self._fixed or HIGHEST) * len(self._servers)
        yield from run_jobs(jobs, drain, self._loop(), bound)

    def interrupt(self) -> None:
        """Send nothing that has not been sent, and ask nothing again."""
        self._interrupted, drain, loop = True, self._drain, self._open_loop
        if drain is not None and loop is not None:
            loop.soon(lambda: drain.wind_down(Interrupted()))

    def encode(self, prompt: Prompt) -> Encoding:
        """What is sent; with token ids where a tokenizer is given or the server tells them."""
        if self._tokens and isinstance(prompt, str):
            return self._tokens.encode(prompt)
        server = self._servers[0]
        server.model = self.name
        return self._loop().run(server.encode(prompt))

    def patients(self) -> list[Patient]:
        """The servers, for `resit.models.doctor`; their model is looked up."""
        wording = self._wording()
        return [Patient(server, wording) for server in self._servers]

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of a coroutine that talks to the server."""
        return self._loop().run(work)

    def close(self) -> None:
        """Close the connections and end the loop."""
        if self._open_loop is not None:
            for server in self._servers:
                self._open_loop.run(server.close())
            self._open_loop.close()
            self._open_loop = None
        self._drain, self._interrupted = None, False
