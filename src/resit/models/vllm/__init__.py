"""vLLM in this process: its own scheduler and prefix cache, our requests and seeds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from resit.errors import UsageError
from resit.models.protocol import Setup

if TYPE_CHECKING:
    from resit.models.vllm.model import VllmModel

NEEDLESS = frozenset({"max_batch_size", "swap_space", "device", "seed", "truncation_side", "prefix_token_id"})
"""Arguments of lm-eval's that settle what here needs no settling: each sample has its own seed, prompts are
never cut, and vLLM's own build decides the device."""
ELSEWHERE = {
    "batch_size": "--batch-size N, or auto: vLLM then decides",
    "max_gen_toks": "--gen-kwargs max_gen_toks=N",
    "model": "pretrained=…",
}

_VLLM = "(default: vLLM decides)"


class Arguments(BaseModel):
    """Arguments of `vllm`: Resit's, lm-eval's, and every further one of vLLM's engine."""

    model_config = ConfigDict(protected_namespaces=(), extra="allow")

    pretrained: str = Field(description="a folder, a GGUF file or a hub's org/name")
    revision: str = Field("main", description="branch, tag or commit on the hub")
    tokenizer: str | None = Field(None, description="another tokenizer: a folder or a hub's name")
    trust_remote_code: bool = Field(False, description="run the Python that comes with the model")
    dtype: str = Field("auto", description="float32, bfloat16, float16, or auto: vLLM decides")
    quantization: str | None = Field(None, description="method of the quantised weights, such as awq or fp8")
    max_model_len: int | None = Field(None, gt=0, description="context in tokens (default: the model's)")
    max_length: int | None = Field(None, gt=0, description="lm-eval's name for max_model_len")
    tensor_parallel_size: int = Field(1, gt=0, description="GPUs that one copy of the model is split over")
    data_parallel_size: int = Field(1, gt=0, description="copies of the model")
    gpu_memory_utilization: float | None = Field(None, gt=0, le=1, description=f"share of the GPU {_VLLM}")
    enable_prefix_caching: bool | None = Field(
        None, description="false evaluates every prompt in full (default: wherever the model allows)"
    )
    enforce_eager: bool = Field(False, description="start sooner, decode slower: no compiled graphs")
    max_num_seqs: int | None = Field(None, gt=0, description=f"samples decoded together {_VLLM}")
    lora_local_path: str | None = Field(None, description="a LoRA adapter in PEFT's format: a folder")
    add_bos_token: bool | None = Field(
        None, description="whether BOS goes before a prompt that has none (default: as the tokenizer does)"
    )
    chat_template: Path | None = Field(None, description="file with a chat template to use instead")
    enable_thinking: bool | None = Field(None, description="passed to the chat template")
    chat_template_args: dict[str, Any] = Field({}, description="more for the chat template, written as JSON")
    think_end_token: str | None = Field(None, description="what ends the reasoning part, such as </think>")


def arguments(kind: str) -> type[Arguments]:
    """What `model_args` may hold; what is not named here goes to vLLM if its engine knows it."""
    return Arguments


def build(kind: str, args: Arguments, setup: Setup) -> VllmModel:
    """The model; nothing is loaded yet. Raises AssetError for files that are not there, UsageError."""
    from resit.models.hf.source import find
    from resit.models.hf.tokens import Tokens
    from resit.models.vllm.engine import checked_extras, require
    from resit.models.vllm.model import VllmModel

    require()
    if args.max_length and args.max_model_len and args.max_length != args.max_model_len:
        raise UsageError("max_length and max_model_len are the same setting", "leave one of the two")
    if args.chat_template and not args.chat_template.is_file():
        raise UsageError(f"chat_template={args.chat_template}: there is no such file")
    extras = checked_extras(args.model_extra or {}, setup.debug)
    source = find("pretrained", args.pretrained, args.revision, code=args.trust_remote_code)
    tokenizer = find("tokenizer", args.tokenizer, code=args.trust_remote_code) if args.tokenizer else source
    adapter = find("lora_local_path", args.lora_local_path) if args.lora_local_path else None
    thinking = {} if args.enable_thinking is None else {"enable_thinking": args.enable_thinking}
    template_args = {**args.chat_template_args, **thinking}
    tokens = Tokens(tokenizer, args.add_bos_token, args.chat_template, template_args, setup.debug)
    return VllmModel(args, extras, source, tokens, adapter, setup)
