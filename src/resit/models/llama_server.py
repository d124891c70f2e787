"""llama.cpp's server inside this process, through xllamacpp.

The server holds the slots, batches them continuously and keeps each slot's last prompt. It is spoken
to over its loopback port, behind a key of ours: only there can a request be dropped (by closing its
connection), and only there it says which stop string ended a text.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from resit.errors import AssetError, UsageError
from resit.models.loopback import Loopback, Refused
from resit.models.protocol import Encoding
from resit.models.waiting import settle_waiting
from resit.records import Prompt

_QUIET, _VERBOSE = 0, 3


@dataclass(frozen=True, slots=True)
class Layout:
    """What the server is started with."""

    path: Path
    slots: int
    context: int
    """Tokens a slot."""
    threads: int | None = None
    gpu_layers: int | None = None
    chat_template: Path | None = None
    steady: bool = True
    """Greedy texts that do not depend on their company, where llama.cpp can do it (on a CPU)."""
    debug: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of llama.cpp's parameters, for measuring what they are worth."""


def _xllamacpp() -> Any:
    """The package, imported once OpenMP's threads are told how to wait."""
    settle_waiting()
    try:
        import xllamacpp
    except ImportError:
        raise UsageError("model 'llamacpp' needs xllamacpp", "pip install 'resit[llamacpp]'") from None
    return xllamacpp


def _parameters(xllamacpp: Any, layout: Layout, key: str, scratch: str) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = str(layout.path)
    params.n_parallel, params.n_ctx = layout.slots, layout.slots * layout.context
    params.verbosity = _VERBOSE if layout.debug else _QUIET
    params.api_keys = [key]
    params.cache_ram_mib = 0  # a shared prefix is copied to the slots by us, see `share_prefix`
    params.slot_save_path = scratch + "/"
    params.warmup = False
    if layout.threads is not None:
        params.cpuparams.n_threads = layout.threads
    if layout.gpu_layers is not None:
        params.n_gpu_layers = layout.gpu_layers
    if layout.chat_template is not None:
        params.chat_template = layout.chat_template.read_text(encoding="utf-8")
    if layout.steady and not _has_gpu(xllamacpp):
        _make_rows_independent(params, xllamacpp)
    for name, value in layout.more.items():
        setattr(params, name, value)
    return params


def _has_gpu(xllamacpp: Any) -> bool:
    kinds = (device["type"].name for device in xllamacpp.get_device_info())
    return any("GPU" in kind for kind in kinds)


def _make_rows_independent(params: Any, xllamacpp: Any) -> None:
    """Let no token's attention depend on what else is in the batch.

    On a CPU llama.cpp chooses among attention kernels by batch shape and cache length, so that a
    greedy text changes with its neighbours and with what was cached. For keys and values of different
    16-bit types only the kernel that goes row by row is left; docs/design/llamacpp.md has the figures.
    """
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    params.cache_type_k = xllamacpp.ggml_type.GGML_TYPE_F16
    params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_BF16


class LlamaServer:
    """A running server with its weights loaded. Raises AssetError when llama.cpp refuses the file."""

    def __init__(self, layout: Layout) -> None:
        xllamacpp = _xllamacpp()
        self._layout = layout
        self._scratch = tempfile.TemporaryDirectory(prefix="resit-slots-")
        self.key = key = secrets.token_hex(16)
        try:
            self._server = xllamacpp.Server(_parameters(xllamacpp, layout, key, self._scratch.name))
        except RuntimeError as error:
            self._scratch.cleanup()
            raise AssetError(
                f"llama.cpp cannot start with {layout.path} ({layout.slots} slots of {layout.context} "
                f"tokens): the file is damaged or of an unknown kind, or memory is short ({error})",
                "run again with --debug to see llama.cpp's own log",
            ) from None
        self.address: str = self._server.listening_address
        self._loopback = Loopback(self.address, key)
        self._bos = self._added_bos()

    def _added_bos(self) -> str | None:
        """The beginning-of-sequence text, if the server puts that token before every prompt."""
        tokens, _ = self._tokens("a", add_special=True)
        text: str = self._loopback.ask("GET", "/props").get("bos_token") or ""
        own, _ = self._tokens(text, add_special=False)
        return text if text and len(own) == 1 and tokens[:1] == own else None

    def _tokens(self, text: str, add_special: bool) -> tuple[tuple[int, ...], tuple[str, ...]]:
        body = {"content": text, "add_special": add_special, "parse_special": True, "with_pieces": True}
        tokens = self._loopback.ask("POST", "/tokenize", body)["tokens"]
        pieces = (piece if isinstance(piece, str) else bytes(piece).decode("latin-1") for piece in
                  (token["piece"] for token in tokens))  # fmt: skip
        return tuple(token["id"] for token in tokens), tuple(pieces)

    def tokens(self, text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Token ids of a prompt as `complete` evaluates it, and how many bytes of text each stands for."""
        body = {"content": self.text(text), "add_special": True, "parse_special": True, "with_pieces": True}
        tokens = self._loopback.ask("POST", "/tokenize", body)["tokens"]
        pieces = (token["piece"] for token in tokens)
        sizes = (len(p.encode("utf-8", "replace")) if isinstance(p, str) else len(p) for p in pieces)
        return tuple(token["id"] for token in tokens), tuple(sizes)

    def plain_tokens(self, text: str) -> tuple[int, ...]:
        """Token ids of a text in which no special token is looked for."""
        body = {"content": text, "add_special": False, "parse_special": False}
        return tuple(self._loopback.ask("POST", "/tokenize", body)["tokens"])

    def opening(self) -> int | None:
        """The token that stands before a text: BOS, EOS where there is none; None: the model has neither."""
        props = self._loopback.ask("GET", "/props")
        for name in ("bos_token", "eos_token"):
            ids, _ = self._tokens(props.get(name) or "", add_special=False)
            if len(ids) == 1:
                return ids[0]
        return None

    def text(self, prompt: Prompt) -> str:
        """The prompt as text: chat turns through the model's template, a last assistant turn left open.

        A beginning-of-sequence token that the server adds itself is not in the text, so there are never two.
        Raises UsageError when the template refuses the turns.
        """
        if isinstance(prompt, str):
            text = prompt
        else:
            turns = [{"role": turn.role, "content": turn.content} for turn in prompt]
            try:
                text = self._loopback.ask("POST", "/apply-template", {"messages": turns})["prompt"]
            except Refused as error:
                roles = ", ".join(turn.role for turn in prompt)
                raise UsageError(
                    f"the model's chat template refuses the turns {roles}: {error}",
                    "leave out the system instruction, or give another chat_template",
                ) from None
        return text.removeprefix(self._bos) if self._bos else text

    def encode(self, prompt: Prompt) -> Encoding:
        """Text and tokens exactly as `complete` will evaluate them."""
        text = self.text(prompt)
        ids, pieces = self._tokens(text, add_special=True)
        return Encoding(text, ids, pieces, bos=self._bos is not None or None)

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """llama.cpp's answer to one `/completion`. Raises Refused, or OSError when dropped."""
        return self._loopback.ask("POST", "/completion", body)

    def share_prefix(self, text: str) -> None:
        """Evaluate a text once and copy its keys and values to every slot. Nothing may be in flight."""
        self.evaluate(0, text)
        self.save(0, "prefix")
        for slot in range(1, self._layout.slots):
            self.restore(slot, "prefix")

    def evaluate(self, slot: int, text: str) -> None:
        """Bring a text's keys and values into a slot."""
        self.complete({"prompt": text, "n_predict": 0, "id_slot": slot, "cache_prompt": True})

    def save(self, slot: int, name: str) -> None:
        """Write what an idle slot holds to a file of the server's."""
        self._loopback.ask("POST", f"/slots/{slot}?action=save", {"filename": name})

    def restore(self, slot: int, name: str) -> None:
        """Read what was saved into an idle slot. Raises Refused when the file is gone."""
        self._loopback.ask("POST", f"/slots/{slot}?action=restore", {"filename": name})

    def forget(self, name: str) -> None:
        """Remove a file of saved keys and values."""
        Path(self._scratch.name, name).unlink(missing_ok=True)

    def drop(self) -> None:
        """Give up everything in flight."""
        self._loopback.drop()

    def close(self) -> None:
        """Stop the server and give its memory back."""
        self.drop()
        del self._server
        self._scratch.cleanup()
