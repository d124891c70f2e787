"""The backend: requests become jobs of the engine, their outputs become generations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from resit.errors import ResitError
from resit.models.gguf import file_sha256
from resit.models.hf import source as files
from resit.models.hf.source import Source
from resit.models.hf.tokens import Tokens
from resit.models.protocol import JSON, Closing, Encoding, Setup, failed, owed
from resit.models.secrecy import secret_names
from resit.models.stops import cut, divide_reasoning
from resit.models.vllm.engine import Done, Engine, Job
from resit.records import Generation, Passage, Prompt, Request, Sampling, TokenLikelihoods

if TYPE_CHECKING:
    from resit.models.vllm import Arguments

SCHEDULING = frozenset(
    {
        "block_size", "cpu_offload_gb", "data_parallel_backend", "disable_custom_all_reduce",
        "disable_log_stats", "distributed_executor_backend", "download_dir", "enable_chunked_prefill",
        "kv_cache_memory_bytes", "long_prefill_token_threshold", "max_logprobs", "max_loras",
        "max_num_batched_tokens", "max_parallel_loading_workers", "pipeline_parallel_size",
        "scheduling_policy", "use_tqdm_on_load",
    }
)  # fmt: skip
"""Engine arguments that decide when and where something is computed, not what: no part of the identity."""


class VllmModel(Closing):
    """A model in vLLM's engine; its weights are loaded when the first prompt comes."""

    def __init__(
        self,
        args: Arguments,
        extras: Mapping[str, Any],
        source: Source,
        tokens: Tokens,
        adapter: Source | None,
        setup: Setup,
    ) -> None:
        self._args = args
        self._extras = extras
        self._source = source
        self._tokens = tokens
        self._adapter = adapter
        self._setup = setup
        self._running: Engine | None = None
        self.name = source.name

    @cached_property
    def _context(self) -> int | None:
        """Tokens of a prompt and its answer together, as asked for or as the model has; None: unknown."""
        return self._args.max_model_len or self._args.max_length or files.context_length(self._source)

    def identity(self) -> dict[str, JSON]:
        """Weights, configuration, tokenizer, template, number formats, adapter, and what splits the text."""
        args, source = self._args, self._source
        left_out = SCHEDULING.union(secret_names(self._extras))  # a key opens a model, and decides no text
        own = {name: str(value) for name, value in self._extras.items() if name not in left_out}
        return {
            "kind": "vllm",
            "weights_sha256": files.weights_digest(source),
            "config_sha256": files.config_digest(source),
            "code_sha256": files.code_digest(source),
            "dtype": args.dtype,
            "quantization": args.quantization,
            "lora_sha256": files.files_digest(files.adapter_files(self._adapter)) if self._adapter else None,
            "tokenizer_sha256": files.tokenizer_digest(self._tokens.source, source),
            "chat_template_sha256": file_sha256(args.chat_template) if args.chat_template else None,
            "chat_template_args": dict(self._tokens.template_args),
            "add_bos_token": args.add_bos_token,
            "max_model_len": self._context,
            "think_end_token": args.think_end_token,
            "engine": dict(sorted(own.items())),
        }

    def _options(self) -> dict[str, Any]:
        """What the engine is started with; a setting that nobody made is left to vLLM."""
        args, source, tokenizer = self._args, self._source, self._tokens.source
        folder = source.whole()
        wanted = {
            "model": str(folder / source.gguf if source.gguf else folder),
            "tokenizer": str(tokenizer.small() if not tokenizer.gguf else tokenizer.whole()),
            "trust_remote_code": args.trust_remote_code,
            "dtype": args.dtype,
            "quantization": args.quantization,
            "max_model_len": args.max_model_len or args.max_length,
            "tensor_parallel_size": args.tensor_parallel_size,
            "data_parallel_size": args.data_parallel_size,
            "gpu_memory_utilization": args.gpu_memory_utilization,
            "enable_prefix_caching": args.enable_prefix_caching,
            "enforce_eager": args.enforce_eager,
            "max_num_seqs": args.max_num_seqs or self._setup.concurrency,
            "enable_lora": True if self._adapter else None,
        }
        return {name: value for name, value in wanted.items() if value is not None} | dict(self._extras)

    def load(self) -> None:
        """Load the weights now."""
        self._engine()

    def _engine(self) -> Engine:
        if self._running is None:
            files.checked_weights(self._source)
            adapter = str(files.adapter_files(self._adapter)[0].parent) if self._adapter else None
            self._running = Engine(self._options(), adapter, self._setup.debug)
        return self._running

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
        """One generation a request, in the order they finish; prompts share vLLM's prefix cache."""
        failures: list[ResitError] = []
        for done in self._engine().run(self._jobs(requests, failures)):
            yield self._generation(done)
        if failures:
            raise failures[0]

    def _jobs(self, requests: Iterable[Request], failures: list[ResitError]) -> Iterator[Job]:
        """The requests as jobs; a prompt is tokenised once for all of its repeats.

        An error that concerns every request ends the jobs, and is raised when those before it are done.
        """
        prompt: Prompt | None = None
        ids: tuple[int, ...] = ()
        for request in requests:
            try:
                if request.question.prompt is not prompt:
                    prompt = request.question.prompt
                    ids = self._tokens.token_ids(prompt)
            except ResitError as error:
                failures.append(error)
                return
            yield Job(request, ids, self._params(request.sampling, request.seed))

    def _params(self, sampling: Sampling, seed: int) -> dict[str, Any]:
        """vLLM's sampling parameters; its own defaults are "off", so that is what is not asked for."""
        shown: dict[str, Any] = {}
        if self._think_end_is_special:  # text leaves special tokens out, and the tag must be found in it
            shown = {"skip_special_tokens": False, "spaces_between_special_tokens": False}
        asked = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k,
            "min_p": sampling.min_p,
            "repetition_penalty": sampling.repetition_penalty,
            "max_tokens": sampling.max_tokens,
            "seed": seed,
            # a stop string inside the reasoning must not end the answer
            "stop": None if self._args.think_end_token else [stop for stop in sampling.stop if stop],
        }
        return {
            **shown,
            **sampling.extra,
            **{name: value for name, value in asked.items() if value is not None},
        }

    @cached_property
    def _think_end_is_special(self) -> bool:
        return self._args.think_end_token in self._tokens.tokenizer.all_special_tokens

    def _generation(self, done: Done) -> Generation:
        request: Request = done.job.key
        if done.output is None:
            return failed(request, str(done.error), prompt_tokens=len(done.job.token_ids))
        written = done.output.outputs[0]
        counts: dict[str, Any] = {
            "prompt_tokens": len(done.job.token_ids),
            "cached_tokens": done.output.num_cached_tokens,
            "completion_tokens": len(written.token_ids),
            "seconds": round(done.seconds, 4),
        }
        if written.finish_reason not in ("stop", "length"):
            return failed(request, f"vLLM broke the text off ({written.finish_reason})", **counts)
        reasoning, text = None, written.text
        if self._args.think_end_token:
            reasoning, text = divide_reasoning(text, self._args.think_end_token)
        text, stop = cut(text, request.sampling.stop)
        named = written.stop_reason if isinstance(written.stop_reason, str) else None
        stop = stop or (named if named in request.sampling.stop else None)
        finish = "stop" if stop else written.finish_reason
        return owed(request, text=text, reasoning=reasoning, finish_reason=finish, stop=stop, **counts)

    def loglikelihoods(
        self, passages: Iterable[Passage], moments: bool = False
    ) -> Iterator[TokenLikelihoods]:
        """One result a passage, as they are done; a context that passages share is evaluated once."""
        from resit.models.vllm.likelihood import likelihoods

        return likelihoods(self._engine(), self._tokens, passages)

    def encode(self, prompt: Prompt) -> Encoding:
        """Text and tokens exactly as the engine is given them; loads the tokenizer alone."""
        return self._tokens.encode(prompt)

    def close(self) -> None:
        """End the engine's processes and free its memory."""
        if self._running is not None:
            self._running.close()
            self._running = None
