"""A GGUF model on llama.cpp, in this process: the embedded default."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, groupby, islice
from os.path import commonprefix
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from resit.errors import AssetError, UsageError
from resit.models.gguf import file_sha256, read_header
from resit.models.llama_likelihood import likelihoods
from resit.models.llama_server import Layout, LlamaServer
from resit.models.llama_slots import Slots, repeated
from resit.models.loopback import Refused
from resit.models.pool import in_flight
from resit.models.protocol import JSON, Closing, Encoding, Setup, failed, owed
from resit.models.stops import cut, divide_reasoning
from resit.records import Generation, Passage, Prompt, Request, Sampling, TokenLikelihoods

SLOTS = 8
CONTEXT = 4096
"""Tokens a slot: an eight-shot prompt (about 800) and a long answer."""

SHARED_CHARACTERS = 256
"""A common prefix shorter than this is not evaluated ahead."""

_SEEDS = 2**32 - 1
"""llama.cpp takes 32-bit seeds; the last one means "at random"."""


class Arguments(BaseModel):
    """Arguments of `llamacpp`."""

    pretrained: str = Field("smollm2-135m", description="a GGUF file, or a model of the catalogue")
    n_ctx: int | None = Field(None, gt=0, description=f"context of a slot in tokens (default: {CONTEXT})")
    n_gpu_layers: int | None = Field(
        None, ge=0, description="layers kept on the GPU (default: llama.cpp decides)"
    )
    n_threads: int | None = Field(None, gt=0, description="threads (default: llama.cpp decides)")
    chat_template: Path | None = Field(
        None, description="file with a chat template to use instead of the model's"
    )
    steady: bool = Field(
        True, description="greedy texts independent of what else is in flight (CPU only, a quarter slower)"
    )
    think_end_token: str | None = Field(None, description="what ends the reasoning part, such as </think>")


def arguments(kind: str) -> type[Arguments]:
    """What `model_args` may hold."""
    return Arguments


def build(kind: str, args: Arguments, setup: Setup) -> LlamaCppModel:
    """The model; fetches the file if need be and reads its header. Raises AssetError, UsageError."""
    path = _model_file(args.pretrained)
    trained = read_header(path).context_length
    if args.n_ctx and trained and args.n_ctx > trained:
        raise UsageError(f"n_ctx={args.n_ctx}: {path.name} was trained with a context of {trained} tokens")
    if args.chat_template and not args.chat_template.is_file():
        raise UsageError(f"chat_template={args.chat_template}: there is no such file")
    context = args.n_ctx or min(CONTEXT, trained or CONTEXT)
    layout = Layout(
        path=path,
        slots=setup.concurrency or SLOTS,
        context=context,
        threads=args.n_threads,
        gpu_layers=args.n_gpu_layers,
        chat_template=args.chat_template,
        steady=args.steady,
        debug=setup.debug,
    )
    return LlamaCppModel(layout, args.think_end_token)


def _model_file(pretrained: str) -> Path:
    path = Path(pretrained).expanduser()
    if path.exists() or path.suffix == ".gguf":
        return path
    from resit import assets

    try:
        return assets.fetch(pretrained)
    except UsageError as error:
        raise AssetError(f"pretrained={pretrained}: there is no such file, and {error}", error.hint) from None


def _body(sampling: Sampling, seed: int) -> dict[str, Any]:
    """A request to `/completion` but for its prompt; every sampler that was not asked for is switched off."""
    return {
        **sampling.extra,
        "n_predict": sampling.max_tokens,
        "seed": seed % _SEEDS,
        "temperature": sampling.temperature,
        "top_k": sampling.top_k or 0,
        "top_p": 1.0 if sampling.top_p is None else sampling.top_p,
        "min_p": sampling.min_p or 0.0,
        "repeat_penalty": sampling.repetition_penalty or 1.0,
        "cache_prompt": True,
    }


def _reason(error: Refused) -> str:
    if error.error.get("type") == "exceed_context_size_error":
        tokens, context = error.error.get("n_prompt_tokens"), error.error.get("n_ctx")
        return f"prompt too long: {tokens} tokens, the context has {context}"
    return f"llama.cpp refused the request ({error.status}): {error}"


class LlamaCppModel(Closing):
    """A model in a number of slots; its weights are loaded when the first prompt comes."""

    def __init__(self, layout: Layout, think_end_token: str | None) -> None:
        self._layout = layout
        self._think_end = think_end_token
        self._running: LlamaServer | None = None
        self._slots: Slots | None = None
        self.shares_repeats = True
        self._starting = threading.Lock()
        self.name = layout.path.stem

    def identity(self) -> dict[str, JSON]:
        """Weights, context of a slot, and what replaces the template or splits the text."""
        template = self._layout.chat_template
        return {
            "kind": "llamacpp",
            "sha256": file_sha256(self._layout.path),
            "n_ctx": self._layout.context,
            "chat_template_sha256": file_sha256(template) if template else None,
            "steady": self._layout.steady,
            "think_end_token": self._think_end,
        }

    def load(self) -> None:
        """Load the weights now."""
        self._server()

    def _server(self) -> LlamaServer:
        with self._starting:
            if self._running is None:
                self._running = LlamaServer(self._layout)
                self._slots = Slots(self._running, self._layout.slots)
            return self._running

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
        """One generation a request, in the order they finish; each task's shared prefix is evaluated once."""
        for _, of_task in groupby(requests, key=lambda request: request.question.task):
            yield from self._generate_task(of_task)

    def _generate_task(self, requests: Iterator[Request]) -> Iterator[Generation]:
        first = list(islice(requests, self._layout.slots))
        server = self._server()
        self._share_prefix(server, [request.question.prompt for request in first])
        asked = repeated(chain(first, requests))
        yield from in_flight(asked, self._answer, self._layout.slots, server.drop)

    def _share_prefix(self, server: LlamaServer, prompts: Sequence[Prompt]) -> None:
        texts = [server.text(prompt) for prompt in prompts]
        prefix = commonprefix(texts)  # noqa: RUF071
        if len(texts) > 1 and len(prefix) >= SHARED_CHARACTERS:
            with suppress(Refused):  # too long for the context: each request will say so for itself
                server.share_prefix(prefix)

    def _answer(self, asked: tuple[Request, bool]) -> Generation:
        (request, shared), server = asked, self._server()
        sampling, slots = request.sampling, self._slots
        assert slots is not None
        prompt, body = server.text(request.question.prompt), _body(sampling, request.seed)
        if not self._think_end:  # a stop string inside the reasoning must not end the answer
            body["stop"] = [stop for stop in sampling.stop if stop]
        try:
            answer = slots.complete(prompt, body, shared and self.shares_repeats)
        except Refused as error:
            return failed(request, _reason(error))
        except OSError as error:
            return failed(request, str(error))
        return self._generation(request, answer)

    def _generation(self, request: Request, answer: dict[str, Any]) -> Generation:
        reasoning, text = None, answer["content"]
        if self._think_end:
            reasoning, text = divide_reasoning(text, self._think_end)
        text, stop = cut(text, request.sampling.stop)
        timings = answer["timings"]
        return owed(
            request,
            text=text,
            reasoning=reasoning,
            finish_reason="stop" if stop or answer["stop_type"] != "limit" else "length",
            stop=stop or answer.get("stopping_word") or None,
            prompt_tokens=answer["tokens_evaluated"],
            cached_tokens=timings["cache_n"],
            completion_tokens=answer["tokens_predicted"],
            seconds=round((timings["prompt_ms"] + timings["predicted_ms"]) / 1000, 4),
        )

    def loglikelihoods(
        self, passages: Iterable[Passage], moments: bool = False
    ) -> Iterator[TokenLikelihoods]:
        """One result a passage, in the order they finish; no moments. A context that all share is shared."""
        stream, server = iter(passages), self._server()
        first = list(islice(stream, self._layout.slots))
        self._share_prefix(server, [passage.context for passage in first])
        return in_flight(chain(first, stream), self._likelihood, self._layout.slots, server.drop)

    def _likelihood(self, passage: Passage) -> TokenLikelihoods:
        try:
            return likelihoods(self._server(), passage, self._layout.context)
        except Refused as error:
            return TokenLikelihoods(passage.key, error=_reason(error))
        except OSError as error:
            return TokenLikelihoods(passage.key, error=str(error))

    def encode(self, prompt: Prompt) -> Encoding:
        """Text and token ids as they are evaluated; loads the model."""
        return self._server().encode(prompt)

    def close(self) -> None:
        """Stop the server; what is in flight is dropped."""
        with self._starting:
            if self._running is not None:
                self._running.close()
                self._running = None
