"""Requests to ask models, and the real model for those who need it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import ssl
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from resit import assets
from resit.errors import AssetError
from resit.records import Document, Prompt, Question, Request, Sampling

# before torch is imported: threads that spin while they wait make a busy machine crawl
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
USERS_CACHE = os.environ.get("RESIT_CACHE")

Ask = Callable[..., Request]


@pytest.fixture(scope="session")
def ask() -> Ask:
    """Builds a request: `ask(prompt, doc_id=0, repeat=0, seed=0, task="t", **sampling)`."""

    def build(
        prompt: Prompt = "Q: 1+1?\nA:",
        doc_id: int = 0,
        repeat: int = 0,
        seed: int = 0,
        task: str = "t",
        **sampling: Any,
    ) -> Request:
        question = Question(task, Document(doc_id, f"hash{doc_id}", {}), prompt, "2")
        return Request(question, repeat, Sampling(**sampling), seed)

    return build


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The catalogue's real model, kept between test runs in the user's own cache."""
    with pytest.MonkeyPatch.context() as patch:
        if USERS_CACHE:
            patch.setenv("RESIT_CACHE", USERS_CACHE)
        else:
            patch.delenv("RESIT_CACHE", raising=False)
        try:
            path = assets.fetch("smollm2-135m")
        except AssetError as error:
            pytest.skip(f"the real model cannot be had here: {error}")
    return path


Answer = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]


class LocalServer:
    """A real HTTP server on loopback in a thread of its own; counts and keeps what it was asked."""

    def __init__(self, answer: Answer, ssl_context: ssl.SSLContext | None = None) -> None:
        self.answer = answer
        self.bodies: list[dict[str, Any]] = []
        self.raw: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.in_flight = self.most_in_flight = 0
        self.models: list[str] | None = ["m"]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        scheme = "https" if ssl_context else "http"
        self.root = f"{scheme}://127.0.0.1:{self._run(self._start(ssl_context))}"
        self.url = f"{self.root}/v1"

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _start(self, ssl_context: ssl.SSLContext | None) -> int:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_get("/v1/models", self._list)
        app.router.add_post("/v1/completions", self._post)
        app.router.add_post("/v1/chat/completions", self._post)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=ssl_context)
        await site.start()
        return int(self._runner.addresses[0][1])

    async def _list(self, request: web.Request) -> web.StreamResponse:
        if self.models is None:
            raise web.HTTPNotFound
        return web.json_response({"object": "list", "data": [{"id": name} for name in self.models]})

    async def _post(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        body = json.loads(raw)
        self.raw.append(raw)
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self.answer(request, body)
        finally:
            self.in_flight -= 1

    async def _end(self) -> None:
        await self._runner.cleanup()
        accepting = asyncio.all_tasks() - {asyncio.current_task()}
        if accepting:  # connections of the last moment, which the clean-up has not seen
            await asyncio.wait(accepting, timeout=1)
        await asyncio.sleep(0.01)  # those that were closed are told so

    def close(self) -> None:
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., LocalServer]]:
    """Starts servers: `serve(answer)` with `async def answer(request, body) -> response`."""
    running: list[LocalServer] = []

    def start(answer: Answer, ssl_context: ssl.SSLContext | None = None) -> LocalServer:
        running.append(LocalServer(answer, ssl_context))
        return running[-1]

    yield start
    for server in running:
        server.close()


def completion(*texts: str, **fields: Any) -> dict[str, Any]:
    """A regular answer of a completions endpoint."""
    finish = fields.pop("finish_reason", "stop")
    choices = [{"index": i, "text": text, "finish_reason": finish} for i, text in enumerate(texts)]
    return {"object": "text_completion", "model": "m", "choices": choices, **fields}


@pytest.fixture(scope="session")
def reply() -> Callable[..., dict[str, Any]]:
    """Builds a regular answer: `reply("text", …, finish_reason="stop", usage={…})`."""
    return completion


CHAT_TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)
_WORDS = (
    "Ana has 12 pens and buys 3 more. How many has she? 12 + 3 = 15. The answer is 15.\n\nQuestion: Answer:"
)

SmallTokenizer = Callable[..., Any]
SmallModel = Callable[..., Path]


@pytest.fixture(scope="session")
def small_tokenizer() -> SmallTokenizer:
    """Saves a byte-level tokenizer of 384 tokens: `small_tokenizer(folder, front="<s>", behind="")`.

    `front` and `behind` are the special tokens that it puts around every text by itself.
    """
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers", reason="needs resit[hf]")

    def save(folder: Path, front: str = "<s>", behind: str = "", template: str | None = CHAT_TEMPLATE) -> Any:
        core = tokenizers.Tokenizer(tokenizers.models.BPE())
        core.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        core.decoder = tokenizers.decoders.ByteLevel()
        special = ["<pad>", "<s>", "</s>", "<g>", "<sop>"]
        alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=384, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        )
        core.train_from_iterator([_WORDS], trainer)
        around = " ".join(part for part in (front, "$A", behind) if part)
        pairs = [(token, core.token_to_id(token)) for token in special]
        core.post_processor = tokenizers.processors.TemplateProcessing(single=around, special_tokens=pairs)
        tokenizer = transformers.PreTrainedTokenizerFast(
            tokenizer_object=core,
            bos_token="<s>",
            eos_token="</s>",
            pad_token="<pad>",
            chat_template=template,
        )
        tokenizer.save_pretrained(folder)
        return tokenizer

    return save


SMALL = {
    "vocab_size": 384, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3,
    "num_attention_heads": 4, "max_position_embeddings": 512, "initializer_range": 0.3,
    "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
}  # fmt: skip
"""A configuration that most architectures understand; the wide weights keep greedy ties away."""


@pytest.fixture(scope="session")
def small_model(small_tokenizer: SmallTokenizer) -> SmallModel:
    """Saves a random model with a tokenizer: `small_model(folder, "qwen2", num_key_value_heads=2, …)`."""
    torch = pytest.importorskip("torch", reason="needs resit[hf]")
    transformers = pytest.importorskip("transformers", reason="needs resit[hf]")

    def save(folder: Path, kind: str, **settings: Any) -> Path:
        config = transformers.AutoConfig.for_model(kind, **{**SMALL, **settings})
        torch.manual_seed(7)
        model = transformers.AutoModelForCausalLM.from_config(config)
        model.to(torch.float32).save_pretrained(folder)
        small_tokenizer(folder)
        return folder

    return save


@pytest.fixture(scope="session")
def hf_checkpoint(smollm2: Path) -> Path:
    """The real model in float32 as transformers keeps it, made of the catalogue's GGUF once and kept."""
    pytest.importorskip("transformers", reason="needs resit[hf]")
    from filelock import FileLock

    folder = smollm2.parent.parent / "dequantised" / smollm2.stem
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not (folder / "config.json").is_file():
            script = Path(__file__).parents[1] / "reference" / "dequantised.py"
            part = folder.with_name(f"{folder.name}.part")
            shutil.rmtree(part, ignore_errors=True)
            subprocess.run([sys.executable, str(script), str(smollm2), "--folder", str(part)], check=True)
            part.rename(folder)
    return folder
