"""The backend: requests become rows of the engine, rows become generations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from resit.errors import ResitError, UsageError
from resit.models.calculator import intervene
from resit.models.gguf import file_sha256
from resit.models.hf import source as files
from resit.models.hf.likelihood import likelihoods
from resit.models.hf.rows import Finished, Row, Settings
from resit.models.hf.source import Source
from resit.models.hf.tokens import Tokens
from resit.models.hf.weights import DTYPES, Placement, load
from resit.models.protocol import JSON, Closing, Encoding, Setup, failed, owed
from resit.models.stops import cut, divide_reasoning
from resit.records import Generation, Passage, Prompt, Request, Sampling, TokenLikelihoods

if TYPE_CHECKING:
    from resit.models.hf import Arguments
    from resit.models.hf.engine import Engine

_NEUTRAL: dict[str, Any] = {
    "num_beams": 1, "typical_p": 1.0, "frequency_penalty": 0, "presence_penalty": 0,
    "min_tokens": 0, "min_new_tokens": 0, "min_length": 0, "skip_special_tokens": True, "ignore_eos": False,
    "use_cache": True, "length_penalty": 1.0, "no_repeat_ngram_size": 0,
}  # fmt: skip
"""Settings that Resit does not interpret, with the values at which they change nothing."""


class HfModel(Closing):
    """A causal model of transformers; its weights are loaded when the first prompt comes."""

    calculates = True
    """The calculator's results are put in while a text grows."""

    def __init__(
        self, args: Arguments, source: Source, tokens: Tokens, adapter: Source | None, setup: Setup
    ) -> None:
        self._args = args
        self._source = source
        self._tokens = tokens
        self._adapter = adapter
        self._setup = setup
        self._running: Engine | None = None
        self.name = source.name

    @cached_property
    def _dtype(self) -> str:
        asked = self._args.dtype.removeprefix("torch.")
        dtype = files.stored_dtype(self._source) if asked == "auto" else asked
        if dtype not in DTYPES:
            raise UsageError(f"dtype={asked}: expected auto, float32, bfloat16 or float16, found {dtype}")
        return DTYPES[dtype]

    @cached_property
    def _context(self) -> int:
        """Tokens of a prompt and its answer together. Raises UsageError for more than the model has."""
        made_for, asked = files.context_length(self._source), self._args.max_length
        if asked and made_for and asked > made_for:
            raise UsageError(f"max_length={asked}: {self.name} was made for a context of {made_for} tokens")
        return asked or made_for or files.UNKNOWN_LENGTH

    def identity(self) -> dict[str, JSON]:
        """Weights, configuration, tokenizer, template, dtype, adapter, context, and what splits the text."""
        args, source = self._args, self._source
        return {
            "kind": "hf",
            "weights_sha256": files.weights_digest(source),
            "config_sha256": files.config_digest(source),
            "code_sha256": files.code_digest(source),
            "dtype": self._dtype,
            "quantisation": "4bit" if args.load_in_4bit else "8bit" if args.load_in_8bit else None,
            "peft_sha256": files.files_digest(files.adapter_files(self._adapter)) if self._adapter else None,
            "tokenizer_sha256": files.tokenizer_digest(self._tokens.source, source),
            "chat_template_sha256": file_sha256(args.chat_template) if args.chat_template else None,
            "chat_template_args": dict(self._tokens.template_args),
            "add_bos_token": args.add_bos_token,
            "max_length": self._context,
            "think_end_token": args.think_end_token,
        }

    def _placement(self) -> Placement:
        args = self._args
        device_map = args.device_map or ("auto" if args.parallelize else None)
        if (args.load_in_4bit or args.load_in_8bit) and not device_map:
            device_map = {"": args.device or 0}  # bitsandbytes quantises on the device
        return Placement(
            dtype=self._dtype,
            device=args.device,
            device_map=device_map,
            gpu_memory=args.max_memory_per_gpu,
            cpu_memory=args.max_cpu_memory,
            offload_folder=args.offload_folder,
            attn_implementation=args.attn_implementation,
            load_in_4bit=args.load_in_4bit,
            load_in_8bit=args.load_in_8bit,
            debug=self._setup.debug,
        )

    def load(self) -> None:
        """Load the weights now."""
        self._engine()

    def _engine(self) -> Engine:
        if self._running is None:
            model = load(self._source, self._placement(), self._adapter)
            from resit.models.hf.engine import Engine, end_tokens

            tokenizer = self._tokens.tokenizer
            ends = {*end_tokens(model, tokenizer), tokenizer.eos_token_id} - {None}
            settings = Settings(
                context=self._context,
                rows=self._setup.concurrency,
                shared_prefixes=self._args.shared_prefixes,
                end_token_ids=frozenset(ends),
            )
            self._running = Engine(model, tokenizer, settings, self._setup.notify)
        return self._running

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
        """One generation a request, in the order they finish; what prompts share is computed once."""
        asked: dict[int, Request] = {}
        failures: list[ResitError] = []
        for finished in self._engine().run(self._rows(requests, asked, failures)):
            yield self._generation(asked.pop(int(str(finished.key))), finished)
        if failures:
            raise failures[0]

    def _rows(
        self, requests: Iterable[Request], asked: dict[int, Request], failures: list[ResitError]
    ) -> Iterator[Row]:
        """The requests as rows; a prompt is tokenised once for all of its repeats.

        An error that concerns every request ends the rows, and is raised when those before it are done.
        """
        prompt: Prompt | None = None
        ids: tuple[int, ...] = ()
        for number, request in enumerate(requests):
            try:
                sampling = self._sampling(request.sampling)
                if request.question.prompt is not prompt:
                    prompt = request.question.prompt
                    ids = self._tokens.token_ids(prompt)
            except ResitError as error:
                failures.append(error)
                return
            asked[number] = request
            yield Row(number, ids, sampling, request.seed, intervene if request.sampling.calculator else None)

    def _sampling(self, sampling: Sampling) -> Sampling:
        """The sampling as the engine is to do it. Raises UsageError for a setting that it does not know."""
        for name, value in sampling.extra.items():
            if name not in _NEUTRAL or value != _NEUTRAL[name]:
                raise UsageError(
                    f"model 'hf' has no generation setting {name}={value!r}",
                    "its settings are max_gen_toks, until, do_sample, temperature, top_p, top_k, min_p and "
                    "repetition_penalty",
                )
        if self._args.think_end_token:  # a stop string inside the reasoning must not end the answer
            return replace(sampling, stop=())
        return sampling

    def _generation(self, request: Request, finished: Finished) -> Generation:
        counts: dict[str, Any] = {
            "prompt_tokens": finished.prompt_tokens,
            "cached_tokens": finished.cached_tokens,
            "completion_tokens": len(finished.token_ids),
            "seconds": round(finished.seconds, 4),
        }
        if finished.error is not None:
            return failed(request, finished.error, **counts)
        reasoning, text, stop = None, finished.text, finished.stop
        if self._args.think_end_token:
            reasoning, text = self._divided(finished, self._args.think_end_token)
            text, stop = cut(text, request.sampling.stop)
        finish = "stop" if stop else finished.finish_reason
        return owed(request, text=text, reasoning=reasoning, finish_reason=finish, stop=stop, **counts)

    def _divided(self, finished: Finished, tag: str) -> tuple[str | None, str]:
        """The reasoning and the answer; by the tag's token where that is one, since text leaves it out."""
        tokenizer, ids = self._tokens.tokenizer, finished.token_ids
        token = int(tag) if tag.isdecimal() else tokenizer.convert_tokens_to_ids(tag)
        special = tag.isdecimal() or tag in tokenizer.all_special_tokens
        if not special or token not in ids:
            return (None, finished.text) if tag.isdecimal() else divide_reasoning(finished.text, tag)
        end = len(ids) - ids[::-1].index(token)
        thought, answer = (
            tokenizer.decode(part, skip_special_tokens=True) for part in (ids[:end], ids[end:])
        )
        return thought, answer.lstrip()

    def loglikelihoods(
        self, passages: Iterable[Passage], moments: bool = False
    ) -> Iterator[TokenLikelihoods]:
        """One result a passage, as they are done; what passages share is computed once."""
        return likelihoods(self._engine(), self._tokens, passages, moments)

    def encode(self, prompt: Prompt) -> Encoding:
        """Text and tokens exactly as the model is given them; loads the tokenizer alone."""
        return self._tokens.encode(prompt)

    def close(self) -> None:
        """Give the memory back."""
        if self._running is not None:
            self._running.close()
            self._running = None
