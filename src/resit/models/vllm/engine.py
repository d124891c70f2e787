"""The one place that touches vLLM: its arguments, its engine step by step, its end."""

from __future__ import annotations

import asyncio
import dataclasses
import importlib.util
import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from multiprocessing import resource_tracker
from typing import Any

from resit.errors import AssetError, ResitError, UsageError

AHEAD = 2
"""Requests in the engine for each that it decodes at once: a finished one is replaced at its next step."""

WATCH_SECONDS = 2.0
"""A silent engine is looked after this often."""

_DIED = "what is finished is kept; --debug shows vLLM's own log"


def require() -> None:
    """Raise UsageError where vLLM is not installed; imports nothing of it, which takes ten seconds."""
    if importlib.util.find_spec("vllm") is None:
        raise UsageError("model 'vllm' needs vllm, which is not installed", "pip install 'resit[vllm]'")


@cache
def _vllm(debug: bool = False) -> Any:
    """The package, told before it is imported to log to standard error, and errors only."""
    quiet = {"VLLM_LOGGING_STREAM": "ext://sys.stderr", "VLLM_NO_USAGE_STATS": "1"}
    if not debug:
        quiet |= {"VLLM_LOGGING_LEVEL": "ERROR", "TQDM_DISABLE": "1"}
    for name, value in quiet.items():
        os.environ.setdefault(name, value)
    require()
    import vllm

    return vllm


def checked_extras(given: Mapping[str, Any], debug: bool = False) -> dict[str, Any]:
    """Further arguments for vLLM's engine, in the types that it declares. Raises UsageError for others."""
    if not given:
        return {}
    _vllm(debug)
    from vllm.engine.arg_utils import EngineArgs

    known = {
        field.name: Any if isinstance(field.type, str) else field.type
        for field in dataclasses.fields(EngineArgs)
        if not field.name.startswith("_")
    }
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            raise UsageError(
                f"model 'vllm' has no argument {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""),
                f"vLLM {_vllm(debug).__version__} takes {', '.join(sorted(known))}",
            )
    return {name: _typed(name, value, known[name]) for name, value in given.items()}


def _typed(name: str, value: Any, hint: Any) -> Any:
    """A value of the command line in a declared type; what pydantic cannot check is vLLM's to refuse."""
    from pydantic import (
        ConfigDict,
        PydanticSchemaGenerationError,
        PydanticUserError,
        TypeAdapter,
        ValidationError,
    )

    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise UsageError(f"model_args of 'vllm': {name}: not JSON ({error}), found {value!r}") from None
    try:
        adapter = TypeAdapter[Any](hint, config=ConfigDict(arbitrary_types_allowed=True))
    except (PydanticSchemaGenerationError, PydanticUserError):
        return value
    try:
        adapter.validate_python(value)
    except ValidationError as error:
        raise UsageError(
            f"model_args of 'vllm': {name}: {error.errors()[0]['msg']}, found {value!r}"
        ) from None
    return value if isinstance(value, Mapping) else adapter.validate_python(value)


@contextmanager
def _children_that_do_not_hear_ctrl_c() -> Iterator[None]:
    """Keep the terminal's Ctrl-C from vLLM's processes, which would end at once; ours ends them when it ends.

    A run finishes what is in flight at the first Ctrl-C, and for that it needs its engine.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start would unblock the signal again
    over = threading.Event()
    threading.Thread(target=over.wait, daemon=True).start()  # hears Ctrl-C while this thread cannot
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        over.set()


@dataclass(slots=True)
class Job:
    """One request to the engine."""

    key: Any
    token_ids: tuple[int, ...]
    params: dict[str, Any]
    """Fields of vLLM's SamplingParams."""
    began: float = field(default_factory=time.monotonic)


@dataclass(slots=True)
class Done:
    """A job's end: vLLM's output, or why there is none."""

    job: Job
    output: Any = None
    error: str | None = None
    seconds: float = 0.0


class _Watched:
    """The processes that an engine has started.

    vLLM notices when the system kills one (memory is short), but who waits for its answer waits for ever.
    """

    def __init__(self) -> None:
        self._others = set(multiprocessing.active_children())
        self.processes: list[Any] = []

    def started(self) -> None:
        """Everything started since this was made is the engine's."""
        self.processes = [p for p in multiprocessing.active_children() if p not in self._others]

    def check(self) -> None:
        """Raise RuntimeError if one has ended."""
        ended = [process for process in self.processes if not process.is_alive()]
        if ended:
            raise RuntimeError(f"its process has ended with status {ended[0].exitcode}; was memory short?")


class _One:
    """One copy of the model: vLLM's synchronous engine, whose steps the caller's thread takes."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.watched = _Watched()
        self.llm = _vllm().LLM(**options)
        self.watched.started()
        self._engine = self.llm.llm_engine
        self.config = self._engine.vllm_config

    def add(self, name: str, prompt: Mapping[str, Any], params: Any, lora: Any) -> None:
        """Give the engine a request."""
        self._engine.add_request(name, prompt, params, lora_request=lora)

    def outputs(self) -> list[Any]:
        """What has ended since the last call; waits for the engine's next step."""
        queue = getattr(self._engine.engine_core, "outputs_queue", None)
        while queue is not None and not queue.queue:  # else `step` would wait there, also for the dead
            with queue.not_empty:
                if not queue.queue:
                    queue.not_empty.wait(WATCH_SECONDS)
            if not queue.queue:
                self.watched.check()
        return [output for output in self._engine.step() if output.finished]

    def abort(self, names: list[str]) -> None:
        """Take requests back."""
        self._engine.abort_request(names)

    def close(self) -> None:
        """End the engine's processes."""
        self._engine.engine_core.shutdown()
        del self._engine, self.llm


class _Copies:
    """Several copies (`data_parallel_size`): vLLM's asynchronous engine, which shares the requests out."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.watched = _Watched()
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._engine = self._loop.run_until_complete(self._start(options))
        self.watched.started()
        self.config = self._engine.vllm_config

    @staticmethod
    async def _start(options: Mapping[str, Any]) -> Any:
        from vllm import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        return AsyncLLM.from_engine_args(AsyncEngineArgs(**{"disable_log_stats": True, **options}))

    def add(self, name: str, prompt: Mapping[str, Any], params: Any, lora: Any) -> None:
        """Give the engine a request."""
        self._tasks.add(self._loop.create_task(self._end(name, prompt, params, lora)))

    async def _end(self, name: str, prompt: Mapping[str, Any], params: Any, lora: Any) -> Any:
        async for output in self._engine.generate(prompt, params, name, lora_request=lora):
            if output.finished:
                return output
        raise RuntimeError(f"request {name} has no end")

    def outputs(self) -> list[Any]:
        """What has ended since the last call; waits until something has."""
        done: set[asyncio.Task[Any]] = set()
        while not done:
            first = asyncio.wait(self._tasks, timeout=WATCH_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            done, self._tasks = self._loop.run_until_complete(first)
            if not done:
                self.watched.check()
        return [task.result() for task in done]

    def abort(self, names: list[str]) -> None:
        """Take requests back."""
        for task in self._tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))
        self._tasks = set()

    def close(self) -> None:
        """End the engine's processes."""
        self._engine.shutdown()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()


def _suited() -> dict[str, Any]:
    """What vLLM needs on this kind of machine.

    Its build for processors (0.32) dies when it draws by a seed and has evaluated a prompt in part: it would
    turn the seed's generator back, which only a GPU's can be. There every prompt is evaluated whole.
    """
    from vllm.platforms import current_platform

    return {"enable_chunked_prefill": False} if current_platform.is_cpu() else {}


class Engine:
    """A loaded model. Raises AssetError, with vLLM's own words, when it does not start."""

    def __init__(self, options: Mapping[str, Any], adapter: str | None = None, debug: bool = False) -> None:
        self._vllm = _vllm(debug)
        copies = int(options.get("data_parallel_size", 1))
        try:
            start = _Copies if copies > 1 else _One
            with _children_that_do_not_hear_ctrl_c():
                self.driver: _One | _Copies = start({"use_tqdm_on_load": debug, **_suited(), **options})
        except Exception as error:  # configuration, memory, a lost child process: anything
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            raise AssetError(
                f"vLLM cannot start with {options['model']}: {' '.join(lines)[:600] or type(error).__name__}",
                "run again with --debug to see vLLM's own log",
            ) from error
        self._adapter = self._lora(adapter) if adapter else None
        self.context: int = self.driver.config.model_config.max_model_len
        self.slots: int = copies * self.driver.config.scheduler_config.max_num_seqs
        self._number = 0

    def _lora(self, path: str) -> Any:
        from vllm.lora.request import LoRARequest

        return LoRARequest("adapter", 1, path)

    def params(self, fields: Mapping[str, Any]) -> Any:
        """The sampling parameters that tell the engine to speak at the end only. Raises UsageError."""
        from vllm.sampling_params import RequestOutputKind

        try:
            return self._vllm.SamplingParams(output_kind=RequestOutputKind.FINAL_ONLY, **fields)
        except (TypeError, ValueError) as error:
            raise UsageError(f"vLLM does not take these generation settings: {error}") from None

    @property
    def reads_cache(self) -> bool:
        """Whether a request with prompt log-probabilities may use the prefix cache when told to."""
        return "skip_reading_prefix_cache" in self._vllm.SamplingParams.__struct_fields__

    def run(self, jobs: Iterable[Job]) -> Iterator[Done]:
        """Every job's end, as they end. Jobs are pulled while fewer than `AHEAD` a slot are in the engine.

        The engine works in a process of its own; what it finishes while the caller is busy waits here.
        Raises ResitError when the engine dies.
        """
        waiting: dict[str, Job] = {}
        source, more = iter(jobs), True
        try:
            while more or waiting:
                while more and len(waiting) < AHEAD * self.slots:
                    job = next(source, None)
                    if job is None:
                        more = False
                        break
                    refused = self._refused(job)
                    if refused:
                        yield Done(job, error=refused)
                    else:
                        waiting[self._add(job)] = job
                for output in self._ended() if waiting else ():
                    job = waiting.pop(output.request_id)
                    yield Done(job, output, seconds=time.monotonic() - job.began)
        finally:
            with suppress(Exception):  # a dead engine has nothing to abort
                self.driver.abort(list(waiting))

    def _refused(self, job: Job) -> str | None:
        """Why a prompt cannot be evaluated at all."""
        size = len(job.token_ids)
        if size == 0:
            return "the prompt is empty: it has no token to go on from"
        if size >= self.context:
            return f"prompt too long: {size} tokens, the context has {self.context}"
        return None

    def _add(self, job: Job) -> str:
        self._number += 1
        name = str(self._number)
        job.began = time.monotonic()
        prompt = {"type": "token", "prompt_token_ids": list(job.token_ids)}
        params = self.params(job.params)
        try:
            self.driver.add(name, prompt, params, self._adapter)
        except ValueError as error:
            raise UsageError(f"vLLM refuses a request: {error}") from None
        except Exception as error:
            raise self._died(error) from error
        return name

    def _ended(self) -> list[Any]:
        try:
            return self.driver.outputs()
        except Exception as error:
            raise self._died(error) from error

    def _died(self, error: Exception) -> ResitError:
        return ResitError(f"vLLM's engine has stopped: {str(error) or type(error).__name__}", _DIED)

    def close(self) -> None:
        """End the engine's processes and free its memory."""
        self.driver.close()
