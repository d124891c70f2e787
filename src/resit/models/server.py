"""A server as its requests see it: the address, the model's name, replies, and what it tells of itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from resit.errors import ResitError, UsageError
from resit.models.failures import GATEWAY, Failure, Kind
from resit.models.http import Access, exchange, open_session
from resit.models.protocol import JSON, Encoding
from resit.models.replies import Reply, read_reply
from resit.models.secrecy import without_credentials
from resit.models.wire import Endpoint, api_root, endpoints
from resit.records import Prompt

_ELSEWHERE = {404, 405}
ALIVE_SECONDS = 10.0
"""A server that takes no connection for so long is gone."""


def _encoding(text: str, answer: Any) -> Encoding:
    """The encoding in an answer of llama.cpp's or vLLM's `/tokenize`; the text alone where there is none."""
    tokens = answer.get("tokens") if isinstance(answer, Mapping) else None
    if not isinstance(tokens, list) or not tokens:
        return Encoding(text)
    if isinstance(tokens[0], Mapping):
        pieces = tuple(str(token.get("piece", "")) for token in tokens)
        return Encoding(text, tuple(int(token["id"]) for token in tokens), pieces)
    strings = answer.get("token_strs")
    pieces = tuple(map(str, strings)) if isinstance(strings, list) else ()
    return Encoding(text, tuple(map(int, tokens)), pieces or None)


def _about(entry: Mapping[str, Any]) -> dict[str, JSON]:
    """Context and size in a server's entry for a model (vLLM's and SGLang's, OpenRouter's, llama.cpp's)."""
    meta = entry.get("meta")
    meta = meta if isinstance(meta, Mapping) else {}
    context = next(
        filter(None, (entry.get("max_model_len"), entry.get("context_length"), meta.get("n_ctx"))), None
    )
    about = {"context": context, "parameters": meta.get("n_params"), "vocabulary": meta.get("n_vocab")}
    return {name: value for name, value in about.items() if isinstance(value, int)}


class Server:
    """One endpoint of one server. Its coroutines run in one event loop."""

    def __init__(self, access: Access, endpoint: Endpoint, model: str | None) -> None:
        self.access = access
        self.endpoint = endpoint
        self.model = model
        self.place = without_credentials(access.url)
        """The address as it may be shown, and as it is asked: a login is sent as a header."""
        self._urls = list(endpoints(self.place, endpoint))
        self._query = "".join(access.url.partition("?")[1:])
        """What every address ends in, such as Azure's `?api-version=…`."""
        self._session: aiohttp.ClientSession | None = None

    @property
    def host(self) -> str:
        """The server's host name."""
        return urlsplit(self._urls[0]).hostname or ""

    @property
    def url(self) -> str:
        """The endpoint's address, the likeliest of several until one has answered."""
        return self._urls[0]

    def session(self) -> aiohttp.ClientSession:
        """The open session. Call inside the event loop."""
        if self._session is None:
            self._session = open_session(self.access)
        return self._session

    def hidden(self, words: str) -> str:
        """A server's words without key and headers, which some servers repeat."""
        for secret in self.access.secrets:
            words = words.replace(secret, "***")
        return words

    def _hidden_bytes(self, raw: bytes) -> bytes:
        """The same before anything is cut off, which might leave the half of a key."""
        for secret in self.access.secrets:
            raw = raw.replace(secret.encode(), b"***")
        return raw

    async def post(self, body: bytes, max_tokens: int) -> Reply:
        """The reply to a request body. Raises Failure."""
        while True:
            url = self.url
            try:
                status, headers, raw = await exchange(self.session(), "POST", url + self._query, body)
                if status != 200:
                    raw = self._hidden_bytes(raw)
                return read_reply(status, headers, raw, max_tokens)
            except Failure as failure:
                if failure.status in _ELSEWHERE and self._elsewhere(url):
                    continue
                raise failure.reworded(self.hidden(str(failure))) from None

    def _elsewhere(self, tried: str) -> bool:
        """Whether there is another address to try than the one that was not found."""
        if self.url == tried and len(self._urls) > 1:
            del self._urls[0]
        return self.url != tried

    async def ask(self, method: str, url: str, body: Mapping[str, Any] | None = None) -> Any:
        """The JSON that another address of the server answers with; None where it answers with an error."""
        data = None if body is None else json.dumps(body).encode()
        status, _, raw = await exchange(self.session(), method, url + self._query, data)
        if status != 200:
            return None
        try:
            return json.loads(raw.decode("utf-8", "replace"))
        except ValueError:
            return None

    async def listed_models(self) -> list[Mapping[str, Any]]:
        """What the server lists at `/models`; empty where it has no list. Raises Failure when unreachable."""
        for url in self._urls:
            answer = await self.ask("GET", f"{api_root(url)}/models")
            entries = answer.get("data") if isinstance(answer, Mapping) else None
            if isinstance(entries, list):
                return [entry for entry in entries if isinstance(entry, Mapping) and entry.get("id")]
        return []

    async def find_model(self) -> str:
        """The model's name: as given, else the only one that the server lists. Raises ResitError."""
        if self.model is None:
            place = self.place
            try:
                names = [str(entry["id"]) for entry in await self.listed_models()]
            except Failure as failure:
                raise ResitError(
                    f"{place} cannot be asked for its models: {self.hidden(str(failure))}",
                    "is the server running, and base_url its address?",
                ) from None
            if len(names) != 1:
                found = f"lists {', '.join(names[:20])}" if names else "lists no models"
                raise UsageError(f"which model? {place} {found}", "name one: --model_args model=NAME,…")
            self.model = names[0]
        return self.model

    async def alive(self) -> bool:
        """Whether a new connection is taken, and not by a proxy that misses the server behind it.

        One that is taken but not answered is alive: it may have one thread, and that is busy.
        """
        patience = aiohttp.ClientTimeout(total=3 * ALIVE_SECONDS, sock_connect=ALIVE_SECONDS)
        async with open_session(self.access) as session:
            try:
                address = f"{api_root(self.url)}/models{self._query}"
                async with session.get(address, timeout=patience, allow_redirects=False) as response:
                    return response.status not in GATEWAY
            except aiohttp.ConnectionTimeoutError:
                return False
            except TimeoutError:
                return True
            except (aiohttp.ClientError, OSError):
                return False

    async def told(self) -> dict[str, JSON]:
        """What the server tells of its model, by name; what it does not tell is left out. Raises Failure."""
        for entry in await self.listed_models():
            if str(entry["id"]) == self.model:
                return {"model": self.model, **_about(entry)}
        return {}

    async def context(self) -> int | None:
        """Tokens of the context, where the server tells. Raises Failure."""
        told = (await self.told()).get("context")
        if isinstance(told, int):
            return told
        props = await self.ask_root("/props")
        settings = props.get("default_generation_settings") if isinstance(props, Mapping) else None
        found = settings.get("n_ctx") if isinstance(settings, Mapping) else None
        return found if isinstance(found, int) else None

    async def ask_root(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The answer of an address beside the API, such as `/tokenize`; None where there is none."""
        root = api_root(self.url)
        for base in (root.removesuffix("/v1"), root):
            try:
                answer = await self.ask("GET" if body is None else "POST", f"{base}{path}", body)
            except Failure as failure:
                if failure.kind is Kind.ACCESS:
                    return None
                raise
            if answer is not None:
                return answer
        return None

    async def encode(self, prompt: Prompt) -> Encoding:
        """What the server makes of a prompt, as far as its `/apply-template` and `/tokenize` tell."""
        turns = [] if isinstance(prompt, str) else [{"role": m.role, "content": m.content} for m in prompt]
        text = prompt if isinstance(prompt, str) else "\n".join(f"{m.role}: {m.content}" for m in prompt)
        rendered = await self.ask_root("/apply-template", {"messages": turns}) if turns else {"prompt": text}
        if isinstance(rendered, Mapping):  # a text already, or llama.cpp's own template
            text = str(rendered.get("prompt", text))
            asked = {"prompt": text, "content": text, "add_special": True, "with_pieces": True}
        else:  # vLLM renders and tokenizes in one
            asked = {"messages": turns, "add_generation_prompt": turns[-1]["role"] != "assistant"}
            asked["continue_final_message"] = turns[-1]["role"] == "assistant"
        answer = await self.ask_root("/tokenize", {"model": self.model, "return_token_strs": True, **asked})
        return _encoding(text, answer)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None
