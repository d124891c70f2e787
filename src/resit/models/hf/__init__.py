"""A causal model of transformers in this process, on our decode engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from resit.errors import UsageError
from resit.models.protocol import Setup

if TYPE_CHECKING:
    from resit.models.hf.model import HfModel

NEEDLESS = frozenset(
    {
        "backend", "use_fast_tokenizer", "truncation", "logits_cache", "softmax_dtype", "max_batch_size",
        "low_cpu_mem_usage", "prefix_token_id",
    }
)  # fmt: skip
"""Arguments of lm-eval's that settle what here needs no settling."""
_QUANTISED = "a checkpoint quantised with GPTQ or AWQ says so itself: leave the argument out"
ELSEWHERE = {
    "batch_size": "--batch-size N, or auto",
    "max_gen_toks": "--gen-kwargs max_gen_toks=N",
    "seed": "--seed N: every sample then has its own seed",
    "mixed_precision_dtype": "dtype=bfloat16 runs the whole model in it",
    "autogptq": _QUANTISED,
    "gptqmodel": _QUANTISED,
    "delta": "add the delta to the weights first, save the sum, and name that folder",
    "tp_plan": "parallelize=true spreads the layers over the GPUs; for tensor parallelism use --model vllm",
}


class Arguments(BaseModel):
    """Arguments of `hf`; lm-eval's names are understood."""

    model_config = ConfigDict(protected_namespaces=())

    pretrained: str = Field(
        description="a folder, a GGUF file, a hub's org/name, or a model of the catalogue"
    )
    revision: str = Field("main", description="branch, tag or commit on the hub")
    subfolder: str = Field("", description="folder within the repository")
    gguf_file: str = Field("", description="GGUF file in that folder or repository")
    tokenizer: str | None = Field(None, description="another tokenizer: a folder or a hub's name")
    trust_remote_code: bool = Field(False, description="run the Python that comes with the model")
    dtype: str = Field("auto", description="float32, bfloat16, float16, or auto: as the checkpoint says")
    device: str | None = Field(None, description="cpu, cuda, cuda:1, mps (default: a GPU where there is one)")
    device_map: str | dict[str, int | str] | None = Field(
        None, description="where accelerate puts the layers: auto, balanced, … or, in JSON, a mapping"
    )
    parallelize: bool = Field(False, description="the same as device_map=auto")
    max_memory_per_gpu: str | None = Field(None, description="memory that device_map may use of each GPU")
    max_cpu_memory: str | None = Field(None, description="main memory that device_map may use")
    offload_folder: Path | None = Field(None, description="folder for layers that fit nowhere else")
    peft: str | None = Field(None, description="a PEFT adapter, such as LoRA: a folder or a hub's name")
    load_in_4bit: bool = Field(False, description="quantise to 4 bits while loading (bitsandbytes)")
    load_in_8bit: bool = Field(False, description="quantise to 8 bits while loading (bitsandbytes)")
    attn_implementation: str | None = Field(
        None, description="attention of transformers for what the engine does not do itself: sdpa, eager, …"
    )
    max_length: int | None = Field(None, gt=0, description="context in tokens (default: the model's)")
    add_bos_token: bool | None = Field(
        None, description="whether BOS goes before a prompt that has none (default: as the tokenizer does)"
    )
    chat_template: Path | None = Field(None, description="file with a chat template to use instead")
    enable_thinking: bool | None = Field(None, description="passed to the chat template")
    chat_template_args: dict[str, Any] = Field({}, description="more for the chat template, written as JSON")
    think_end_token: str | None = Field(
        None, description="what ends the reasoning part, such as </think>, or a token's number"
    )
    shared_prefixes: bool = Field(
        True, description="false decodes in padded batches, every prompt computed in full"
    )


def arguments(kind: Literal["hf"]) -> type[Arguments]:
    """What `model_args` may hold."""
    return Arguments


def build(kind: str, args: Arguments, setup: Setup) -> HfModel:
    """The model; nothing is loaded yet. Raises AssetError for files that are not there, UsageError."""
    from resit.models.hf.model import HfModel
    from resit.models.hf.source import find
    from resit.models.hf.tokens import Tokens

    if args.load_in_4bit and args.load_in_8bit:
        raise UsageError("load_in_4bit and load_in_8bit exclude one another")
    if args.chat_template and not args.chat_template.is_file():
        raise UsageError(f"chat_template={args.chat_template}: there is no such file")
    code = args.trust_remote_code
    source = find("pretrained", args.pretrained, args.revision, args.subfolder, args.gguf_file, code)
    tokenizer = find("tokenizer", args.tokenizer, code=code) if args.tokenizer else source
    adapter = find("peft", args.peft) if args.peft else None
    tokens = Tokens(tokenizer, args.add_bos_token, args.chat_template, _template_args(args), setup.debug)
    return HfModel(args, source, tokens, adapter, setup)


def _template_args(args: Arguments) -> Mapping[str, Any]:
    thinking = {} if args.enable_thinking is None else {"enable_thinking": args.enable_thinking}
    return {**args.chat_template_args, **thinking}
