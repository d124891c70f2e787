"""Where a model's files lie, what they are, and whether they are whole: all that needs no torch."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from resit.errors import AssetError
from resit.models.gguf import file_sha256, read_header
from resit.models.protocol import JSON

HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
_SMALL = (".json", ".jinja", ".txt", ".model", ".tiktoken", ".vocab", ".spm")
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_ADAPTERS = ("adapter_model.safetensors", "adapter_model.bin")
_VOLATILE = (
    "_name_or_path",
    "_model_name_or_path",
    "transformers_version",
    "dtype",
    "torch_dtype",
    "use_cache",
)
"""Keys of config.json that do not change what the model computes, or are recorded by themselves."""
_TOKENIZER = re.compile(
    r"(tokenizer|special_tokens|added_tokens|vocab|merges|spiece|sentencepiece|chat_template)[^/]*"
    r"|[^/]+\.(model|tiktoken|spm|jinja)"
)
_LENGTHS = (
    "max_position_embeddings",
    "n_positions",
    "n_ctx",
    "max_sequence_length",
    "seq_length",
    "max_seq_len",
)
UNKNOWN_LENGTH = 2048
"""Context of a model that does not say what it was trained with; lm-eval's figure."""
_DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
_LFS = b"version https://git-lfs"

Choice: TypeAlias = Callable[[Sequence[str]], Sequence[str]]
"""Which of a repository's files are wanted."""


@dataclass(frozen=True, slots=True)
class Source:
    """A model (or tokenizer, or adapter) by the name that it was given, and where that leads."""

    asked: str
    """How messages name it, such as `pretrained=org/name`."""
    path: Path | None = None
    """A folder; None: it is on the hub."""
    repo: str = ""
    revision: str = "main"
    subfolder: str = ""
    gguf: str = ""
    """The GGUF file in the folder, where the weights are one."""
    code: bool = False
    """Whether its Python may be fetched and run."""

    @property
    def name(self) -> str:
        """How tables call it."""
        if self.gguf:
            return Path(self.gguf).stem
        return self.repo or (self.path.resolve().name if self.path else "")

    def small(self) -> Path:
        """The folder with configuration and tokenizer. Raises AssetError."""
        return self.folder(self._small_names)

    def whole(self) -> Path:
        """The folder with the weights as well. Raises AssetError."""
        folder = self.small()
        if self.path is None:
            wanted = [self.gguf] if self.gguf else weight_names(folder, self.asked)
            folder = self.folder(lambda names: [*self._small_names(names), *(self._below(n) for n in wanted)])
        return folder

    def _below(self, name: str) -> str:
        return f"{self.subfolder}/{name}" if self.subfolder else name

    def _small_names(self, names: Sequence[str]) -> list[str]:
        kinds = (*_SMALL, ".py") if self.code else _SMALL
        start = self._below("")
        return [name for name in names if name.startswith(start) and name.endswith(kinds)]

    def folder(self, chosen: Choice) -> Path:
        """The folder with the files that `chosen` picks among a repository's names. Raises AssetError."""
        if self.path is not None:
            return self.path / self.subfolder
        from resit.assets import hub
        from resit.assets.sources import SourceFailure

        try:
            return hub.model_folder(self.repo, self.revision, chosen) / self.subfolder
        except SourceFailure as failure:
            remedies = [failure.remedy, "name a folder that holds the model"]
            raise AssetError(
                f"{self.asked}: {self.repo}@{self.revision} cannot be had from the hub ({failure})",
                "; or ".join(filter(None, remedies)),
            ) from None


def find(
    name: str, value: str, revision: str = "main", subfolder: str = "", gguf: str = "", code: bool = False
) -> Source:
    """The source that an argument's value names: a folder, a GGUF file, a catalogue's model, or a hub's.

    Nothing is fetched but a model of the catalogue. Raises AssetError for what cannot be any of these.
    """
    asked, path = f"{name}={value}", Path(value).expanduser()
    if path.is_dir():
        return Source(asked, path, subfolder=subfolder, gguf=gguf, code=code)
    if path.is_file():
        if path.suffix != ".gguf":
            raise AssetError(
                f"{asked}: expected a folder, a GGUF file or a hub's name, found another kind of file",
                "name the folder that the file lies in",
            )
        return Source(asked, path.parent, gguf=path.name)
    from resit import assets

    entry = assets.catalogue().get(value)
    if entry is not None and any(file.endswith(".gguf") for file in entry.files):
        fetched = assets.fetch(value)
        return Source(asked, fetched.parent, gguf=fetched.name)
    if path.suffix == ".gguf" or not HUB_NAME.fullmatch(value) or value.startswith("."):
        raise AssetError(
            f"{asked}: there is no such file or folder", "name a folder with config.json, or a hub's org/name"
        )
    return Source(asked, None, value, revision, subfolder, gguf, code)


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty when there is no such file. Raises AssetError for anything else."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise AssetError(f"{path}: expected a JSON object ({error})", "fetch the model again") from None
    if not isinstance(value, dict):
        raise AssetError(f"{path}: expected a JSON object, found {type(value).__name__}", "fetch it again")
    return value


def weight_names(folder: Path, asked: str) -> list[str]:
    """The files that hold a checkpoint's weights, safetensors before pickles. Raises AssetError.

    A single file is named whether it is there or not: on a hub it has still to be fetched.
    """
    for single in _WEIGHTS:
        index = read_json(folder / f"{single}.index.json").get("weight_map")
        if isinstance(index, Mapping) and index:
            return sorted({str(name) for name in index.values()})
        if (folder / single).exists():
            return [single]
    if (folder / "adapter_config.json").is_file():
        raise AssetError(
            f"{asked}: {folder} holds an adapter, not a model",
            "name the model with pretrained=… and the adapter with peft=…",
        )
    return [_WEIGHTS[0]]


def read_config(folder: Path, asked: str) -> dict[str, Any]:
    """The model's config.json. Raises AssetError where there is none."""
    config = read_json(folder / "config.json")
    if not config:
        found = sorted(entry.name for entry in folder.iterdir())[:8] if folder.is_dir() else []
        if any(name.startswith("adapter_config") for name in found):
            weight_names(folder, asked)
        held = f"found {', '.join(found)}" if found else "the folder is empty or absent"
        gguf = next((name for name in found if name.endswith(".gguf")), None)
        hint = (
            f"add gguf_file={gguf}" if gguf else "name the folder of a checkpoint that transformers can load"
        )
        raise AssetError(f"{asked}: expected config.json in {folder}, {held}", hint)
    return config


def checked_weights(source: Source) -> list[Path]:
    """The weight files, each seen to be whole as far as its header tells. Raises AssetError."""
    folder = source.whole()
    if source.gguf:
        read_header(folder / source.gguf)
        return [folder / source.gguf]
    read_config(folder, source.asked)
    paths = [folder / name for name in weight_names(folder, source.asked)]
    for path in paths:
        _check_whole(path, source.asked)
    return paths


def adapter_files(source: Source) -> list[Path]:
    """An adapter's configuration and weights. Raises AssetError."""
    folder = source.folder(lambda names: [n for n in names if n == "adapter_config.json" or n in _ADAPTERS])
    config = folder / "adapter_config.json"
    if not read_json(config):
        raise AssetError(
            f"{source.asked}: expected adapter_config.json in {folder}", "name a PEFT adapter's folder"
        )
    weights = next((folder / name for name in _ADAPTERS if (folder / name).exists()), folder / _ADAPTERS[0])
    _check_whole(weights, source.asked)
    return [config, weights]


def _check_whole(path: Path, asked: str) -> None:
    hint = "fetch the model again, or name another"
    try:
        size, start = path.stat().st_size, _start(path)
    except OSError as error:
        raise AssetError(f"{asked}: {path} cannot be read ({error.strerror})", hint) from None
    if start.startswith(_LFS):
        raise AssetError(
            f"{asked}: {path} is a Git LFS pointer, not the weights", "run `git lfs pull` in its folder"
        )
    if path.suffix == ".safetensors":
        safetensors_header(path, size)


def _start(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(len(_LFS))


def safetensors_header(path: Path, size: int | None = None) -> dict[str, Any]:
    """Name to dtype, shape and offsets of the tensors in a file. Raises AssetError for a damaged one."""
    size = path.stat().st_size if size is None else size
    try:
        with path.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            if length > size - 8:
                raise ValueError(f"its header claims {length} bytes, the file has {size}")
            header = json.loads(stream.read(length))
        tensors = {name: entry for name, entry in header.items() if name != "__metadata__"}
        end = 8 + length + max((entry["data_offsets"][1] for entry in tensors.values()), default=0)
        if end != size:
            raise ValueError(f"its tensors end at byte {end}, the file at {size}")
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, struct.error) as error:
        raise AssetError(f"{path}: damaged or truncated ({error})", "fetch the model again") from None
    return tensors


def stored_dtype(source: Source) -> str:
    """The dtype that `auto` stands for: the configuration's, else that of the weights."""
    if source.gguf:
        return "float32"  # what transformers turns quantised blocks into
    folder = source.small()
    config = read_config(folder, source.asked)
    for part in (config, config.get("text_config") or {}):
        named = part.get("dtype") or part.get("torch_dtype")
        if isinstance(named, str) and named != "auto":
            return named.removeprefix("torch.")
    first = checked_weights(source)[0]
    kinds = (entry["dtype"] for entry in safetensors_header(first).values()) if first.suffix != ".bin" else ()
    return next((_DTYPES[kind] for kind in kinds if kind in _DTYPES), "float32")


def context_length(source: Source) -> int | None:
    """Tokens of context that the model was made for; None where it does not say."""
    folder = source.small()
    if source.gguf:
        return read_header(source.whole() / source.gguf).context_length
    config = read_config(folder, source.asked)
    lengths = (part.get(key) for part in (config.get("text_config") or {}, config) for key in _LENGTHS)
    return next((length for length in lengths if isinstance(length, int) and length > 0), None)


def files_digest(paths: Iterable[Path]) -> str:
    """SHA-256 over the names and digests of files, in the order of their names."""
    lines = sorted(f"{path.name}\0{file_sha256(path)}\n" for path in paths)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def weights_digest(source: Source) -> str:
    """A GGUF file's own sha256, or that over the checkpoint's weight files."""
    paths = checked_weights(source)
    return file_sha256(paths[0]) if len(paths) == 1 else files_digest(paths)


def config_digest(source: Source) -> str | None:
    """SHA-256 of what config.json and generation_config.json decide; None for a GGUF file, which holds it."""
    if source.gguf:
        return None
    folder = source.small()
    config = read_config(folder, source.asked)
    kept: dict[str, Any] = {key: value for key, value in config.items() if key not in _VOLATILE}
    kept["generation_eos"] = read_json(folder / "generation_config.json").get("eos_token_id")
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def tokenizer_digest(source: Source, model: Source) -> str | None:
    """SHA-256 over the tokenizer's files and its chat template; None where they are in the weights' file."""
    if source.gguf:
        digest = weights_digest(source)
        return None if digest == weights_digest(model) else digest
    folder = source.small()
    files = [path for path in folder.iterdir() if path.is_file() and _TOKENIZER.fullmatch(path.name)]
    if not files:
        raise AssetError(
            f"{source.asked}: {folder} holds no tokenizer", "name one with tokenizer=FOLDER or a hub's name"
        )
    return files_digest(files)


def code_digest(source: Source) -> JSON:
    """SHA-256 over the Python that comes with a model and may be run; None where none is."""
    files = list(source.small().glob("*.py")) if source.code else []
    return files_digest(files) if files else None
