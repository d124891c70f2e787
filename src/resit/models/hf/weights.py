"""From a source to a causal model of transformers, on its device and ready to run."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resit.errors import AssetError, ResitError, UsageError
from resit.models.hf.source import Source, adapter_files, checked_weights, read_json
from resit.models.waiting import settle_waiting

DTYPES = {
    "float32": "float32", "float": "float32", "fp32": "float32",
    "bfloat16": "bfloat16", "bf16": "bfloat16",
    "float16": "float16", "half": "float16", "fp16": "float16",
}  # fmt: skip
"""The names of a dtype that are understood, and torch's own."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where and how the weights are held."""

    dtype: str
    device: str | None = None
    """None: a GPU where there is one."""
    device_map: str | Mapping[str, Any] | None = None
    gpu_memory: str | None = None
    """Of each GPU, such as 20GiB; with `device_map` only."""
    cpu_memory: str | None = None
    offload_folder: Path | None = None
    attn_implementation: str | None = None
    load_in_4bit: bool = False
    load_in_8bit: bool = False
    debug: bool = False


def torch() -> Any:
    """The torch package. Raises UsageError where it is not installed."""
    return _package("torch")


def transformers(debug: bool = False) -> Any:
    """The transformers package, silent unless told otherwise. Raises UsageError where it is not installed."""
    package = _package("transformers")
    if not debug:
        package.utils.logging.set_verbosity_error()
        package.utils.logging.disable_progress_bar()
    return package


def _package(name: str, remedy: str = "pip install 'resit[hf]'") -> Any:
    """A package, imported once OpenMP's threads are told how to wait."""
    settle_waiting()
    try:
        return importlib.import_module(name)
    except ImportError as error:
        missing = error.name or name
        raise UsageError(f"model 'hf' needs {missing}, which is not installed", remedy) from None


def chosen_device(asked: str | None) -> str:
    """The device to run on: the one asked for, else a GPU, else the CPU. Raises UsageError."""
    backends = torch().backends
    has = {"cuda": torch().cuda.is_available(), "mps": backends.mps.is_available(), "cpu": True}
    if asked is None:
        return next(name for name in ("cuda", "mps", "cpu") if has[name])
    kind = asked.partition(":")[0]
    if kind in has and not has[kind]:
        raise UsageError(
            f"device={asked}: torch finds no such device here", "leave device away, or device=cpu"
        )
    try:
        torch().empty(0, device=asked)
    except (RuntimeError, AssertionError) as error:
        raise UsageError(f"device={asked}: torch cannot use it ({first_line(error)})") from None
    return asked


def load(source: Source, placement: Placement, adapter: Source | None = None) -> Any:
    """The model in eval mode. Raises AssetError for files that are not a whole causal model, UsageError."""
    checked_weights(source)
    if adapter is not None:
        adapter_files(adapter)
    config = read_json(source.small() / "config.json")
    if config.get("is_encoder_decoder"):
        raise UsageError(
            f"{source.asked}: {config.get('model_type')} is an encoder-decoder; hf runs causal models"
        )
    with _explained(source.asked):
        model, info = _loaded(source, placement)
    _check_complete(source, info)
    if adapter is not None:
        with _explained(adapter.asked):
            model = _adapted(model, adapter)
    return model.eval().requires_grad_(False)


def _loaded(source: Source, placement: Placement) -> tuple[Any, Mapping[str, Any]]:
    arguments: dict[str, Any] = {
        "dtype": getattr(torch(), placement.dtype),
        "trust_remote_code": source.code,
        "local_files_only": True,
        "output_loading_info": True,
    }
    device = None if placement.device_map else chosen_device(placement.device)
    optional = {
        "gguf_file": source.gguf or None,
        "attn_implementation": placement.attn_implementation,
        "quantization_config": _quantisation(placement),
        "device_map": placement.device_map or (None if source.gguf or device == "cpu" else device),
        "max_memory": _max_memory(placement),
        "offload_folder": placement.offload_folder,
    }
    arguments |= {name: value for name, value in optional.items() if value is not None}
    automatic = transformers(placement.debug).AutoModelForCausalLM
    model, info = automatic.from_pretrained(str(source.whole()), **arguments)
    if source.gguf:
        model = _dequantised(model)
    return model.to(device) if device and "device_map" not in arguments else model, info


def _max_memory(placement: Placement) -> dict[int | str, str] | None:
    gpus = range(torch().cuda.device_count()) if placement.gpu_memory else ()
    memory: dict[int | str, str] = dict.fromkeys(gpus, placement.gpu_memory or "")
    if placement.cpu_memory:
        memory["cpu"] = placement.cpu_memory
    return memory or None


def _quantisation(placement: Placement) -> Any:
    if not (placement.load_in_4bit or placement.load_in_8bit):
        return None
    _package("bitsandbytes", "pip install bitsandbytes; it needs a device that it supports")
    _package("accelerate")
    return transformers(placement.debug).BitsAndBytesConfig(
        load_in_4bit=placement.load_in_4bit,
        load_in_8bit=placement.load_in_8bit,
        bnb_4bit_compute_dtype=getattr(torch(), placement.dtype),
    )


def _dequantised(model: Any) -> Any:
    """A GGUF's model without the mark of its quantisation, since its weights are floats now."""
    for holder in (model.config, model):
        for mark in ("quantization_config", "hf_quantizer", "is_quantized"):
            with contextlib.suppress(AttributeError):
                delattr(holder, mark)
    return model


def _check_complete(source: Source, info: Mapping[str, Any]) -> None:
    """Raise AssetError for weights that transformers would leave at random."""
    for kind, found in (("lacks", "missing_keys"), ("has of another shape", "mismatched_keys")):
        names = sorted(str(name) for name in info.get(found) or ())
        if names:
            raise AssetError(
                f"{source.asked}: the checkpoint {kind} {len(names)} of the model's weights: "
                f"{', '.join(names[:3])}{', …' if len(names) > 3 else ''}",
                "its config.json and its weights do not belong together; fetch the model again",
            )


def _adapted(model: Any, adapter: Source) -> Any:
    """The model with a PEFT adapter in its layers. Raises UsageError for one that is not in the layers."""
    peft = _package("peft", "pip install 'resit[lora]'")
    folder = str(adapter_files(adapter)[0].parent)
    settings = peft.PeftConfig.from_pretrained(folder)
    if settings.is_prompt_learning:
        raise UsageError(
            f"{adapter.asked}: {settings.peft_type.value} adapters put tokens before the prompt",
            "hf runs adapters that change layers, such as LoRA",
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        adapted = peft.PeftModel.from_pretrained(model, folder)
    missing = next(
        (str(each.message) for each in caught if "missing adapter keys" in str(each.message)), None
    )
    if missing:
        raise AssetError(f"{adapter.asked}: the adapter does not fit the model ({missing[:200]})")
    return adapted.get_base_model()


@contextlib.contextmanager
def _explained(asked: str) -> Iterator[None]:
    """Turn what transformers raises while loading into reasons."""
    try:
        yield
    except ResitError:
        raise
    except ImportError as error:
        raise UsageError(
            f"{asked}: loading it needs a package that is not installed ({first_line(error)})",
            f"pip install {error.name}" if error.name else "install the package that is named",
        ) from None
    except Exception as error:  # remote code and converters raise anything
        line = first_line(error)
        if "trust_remote_code" in str(error):
            raise UsageError(
                f"{asked}: the model comes with its own Python, which is not run unasked",
                "read it, then add trust_remote_code=true",
            ) from None
        if isinstance(error, MemoryError) or "out of memory" in line.lower():
            raise ResitError(
                f"{asked}: the weights do not fit into memory ({line})",
                "a smaller dtype, load_in_4bit=true, or parallelize=true over several GPUs",
            ) from None
        raise AssetError(
            f"{asked}: transformers cannot load it ({type(error).__name__}: {line})",
            "run again with --debug for the traceback",
        ) from error


def first_line(error: BaseException) -> str:
    """What an error says, as far as one line of at most 300 characters goes."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]
