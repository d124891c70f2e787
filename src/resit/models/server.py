"""A server as its requests see it: the address, the model's name, replies, and what it tells of itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from resit.errors import ResitError, UsageError
from resit.models.failures import Failure, Kind
from resit.models.http import Access, exchange, open_session, without_credentials
from resit.models.protocol import Encoding
from resit.models.replies import Reply, read_reply
from resit.models.wire import Endpoint, api_root, endpoints
from resit.records import Prompt

_ELSEWHERE = {404, 405}


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


class Server:
    """One endpoint of one server. Its coroutines run in one event loop."""

    def __init__(self, access: Access, endpoint: Endpoint, model: str | None) -> None:
        self.access = access
        self.endpoint = endpoint
        self.model = model
        self._urls = list(endpoints(access.url, endpoint))
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
        """A server's words without the key, which some servers repeat."""
        return words.replace(self.access.key, "***") if self.access.key else words

    async def post(self, body: bytes, max_tokens: int) -> Reply:
        """The reply to a request body. Raises Failure."""
        while True:
            url = self.url
            try:
                status, headers, raw = await exchange(self.session(), "POST", url, body)
                return read_reply(status, headers, raw, max_tokens)
            except Failure as failure:
                if failure.status in _ELSEWHERE and self._elsewhere(url):
                    continue
                raise Failure(
                    failure.kind,
                    self.hidden(str(failure)),
                    status=failure.status,
                    retry_after=failure.retry_after,
                ) from None

    def _elsewhere(self, tried: str) -> bool:
        """Whether there is another address to try than the one that was not found."""
        if self.url == tried and len(self._urls) > 1:
            del self._urls[0]
        return self.url != tried

    async def ask(self, method: str, url: str, body: Mapping[str, Any] | None = None) -> Any:
        """The JSON that another address of the server answers with; None where it answers with an error."""
        data = None if body is None else json.dumps(body).encode()
        status, _, raw = await exchange(self.session(), method, url, data)
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
            place = without_credentials(self.access.url)
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
