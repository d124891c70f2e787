"""A transformers model that computes packed tokens of many rows, through its own code and our attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import torch
from torch import Tensor

from resit.models.hf.attention import PackedAttention
from resit.models.hf.cache import RowCache, SharedStore
from resit.models.hf.layout import Group, Pass, Span
from resit.models.hf.weights_layout import pack_weights, unpack_weights

_NAMES = count()

_TOKENS = 48
"""Length of the probe: long enough that a bias by distance or a recurrent state shows."""

_ROUNDING = 3.0
"""How many times the deviation of a plain text, which only rounding causes, packed rows may deviate."""

_LEAST = {torch.bfloat16: 0.03, torch.float16: 0.01}
_LEAST_EXACT, _MOST = 1e-3, 0.1
"""Between which shares of the logits' spread the allowed deviation (root mean square) lies."""


class Unsupported(Exception):
    """Why a model cannot be computed this way."""


def _base(model: Any) -> Any:
    """The transformers model inside an adapter's wrapper."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


class PackedModel:
    """Logits of packed tokens. Holds the model's attention until `close`."""

    def __init__(self, model: Any) -> None:
        from transformers import AttentionInterface

        self.model = model
        self.attention = PackedAttention()
        self.keeps = True
        """Whether the model computes logits only where they are wanted."""
        self._own = _base(model).config._attn_implementation
        self._ours = False
        self._name = f"resit_{next(_NAMES)}"
        AttentionInterface.register(self._name, self.attention)
        self.device = model.get_input_embeddings().weight.device
        spread = len(set(getattr(model, "hf_device_map", {}).values())) > 1
        self._index_device = torch.device("cpu") if spread else self.device
        self.bytes = sum(parameter.nbytes for parameter in model.parameters())
        """What the weights take."""

    def use(self, ours: bool) -> None:
        """Switch between our attention and the model's own."""
        if ours != self._ours:
            _base(self.model).set_attn_implementation(self._name if ours else self._own)
            self._ours = ours

    @torch.no_grad()  # not inference mode: weights that are made here may be used outside of it
    def quicken(self) -> None:
        """Repack the weights, where that helps and the model still computes the same."""
        text = torch.arange(3, 11, device=self.device)
        self.use(True)
        try:
            before = self.plain(text)
            for together in (True, False):
                pack_weights(self.model, (lambda: self.plain(text)) if together else None)
                if _agrees(self.plain, text, before):
                    return
                unpack_weights(self.model)
        finally:
            self.use(False)

    def close(self) -> None:
        """Put the model's own attention back."""
        from transformers import AttentionInterface

        self.use(False)
        AttentionInterface._global_mapping.pop(self._name, None)

    def logits(self, pass_: Pass, keep: Sequence[int]) -> Tensor:
        """Logits (kept, vocabulary) behind the tokens that stand at `keep` in the pass."""
        self.attention.pass_ = pass_
        return self._forward(pass_.on(self.device, "token_ids"), pass_.on(self.device, "positions"), keep)

    def plain(self, token_ids: Tensor) -> Tensor:
        """Logits (tokens, vocabulary) of one text computed at once."""
        self.attention.pass_ = None
        positions = torch.arange(len(token_ids), device=self.device)
        return self._forward(token_ids, positions, range(len(token_ids)))

    def _forward(self, token_ids: Tensor, positions: Tensor, keep: Sequence[int]) -> Tensor:
        asked: dict[str, Any] = {}
        if self.keeps:
            asked["logits_to_keep"] = torch.tensor(list(keep), dtype=torch.long, device=self._index_device)
        out = self.model(
            input_ids=token_ids[None],
            position_ids=positions[None],
            use_cache=False,
            return_dict=True,
            **asked,
        )
        logits: Tensor = out.logits[0]
        if len(logits) != len(keep):
            logits = logits[torch.tensor(list(keep), dtype=torch.long, device=logits.device)]
        return logits


def packed(model: Any, context: int) -> PackedModel:
    """The model, once a probe has shown that it computes so what it computes by itself.

    Raises Unsupported with the reason otherwise, and leaves the model as it was.
    """
    config = _base(model).config
    if getattr(config, "is_encoder_decoder", False):
        raise Unsupported("it has an encoder")
    stretching = _stretches(config, context)
    if stretching:
        raise Unsupported(f"its {stretching} position encoding depends on the longest row of a batch")
    tried = PackedModel(model)
    try:
        _probe(tried, context)
    except Unsupported:
        tried.close()
        raise
    except Exception as error:  # whatever unknown code raises, it cannot be run like this
        tried.close()
        raise Unsupported(f"a trial ended with {type(error).__name__}: {error}") from error
    return tried


def _stretches(config: Any, context: int) -> str | None:
    """The kind of rotary encoding that changes with the length of the batch, where rows may get so long."""
    parameters = getattr(config, "rope_parameters", None) or {}
    for rope in (parameters, *(value for value in parameters.values() if isinstance(value, dict))):
        longest = getattr(config, "max_position_embeddings", context)
        made_for: int = rope.get("original_max_position_embeddings") or longest
        if rope.get("rope_type") in ("dynamic", "longrope") and context > made_for:
            return str(rope["rope_type"])
    return None


def _agrees(compute: Callable[[Tensor], Tensor], text: Tensor, expected: Tensor) -> bool:
    """Whether a computation works, and gives what is expected but for rounding."""
    try:
        found = compute(text)
    except Exception:  # code that reads a layer's weight itself, or a oneDNN without the layout
        return False
    return bool((found - expected).abs().max() <= 1e-3 * expected.std())


@torch.inference_mode()
def _probe(tried: PackedModel, context: int) -> None:
    """Compare a text computed in parts, beside another text, with the model's own plain computation."""
    vocabulary = tried.model.get_input_embeddings().num_embeddings
    generator = torch.Generator().manual_seed(0)
    texts = torch.randint(vocabulary // 2, (2, _TOKENS), generator=generator)
    texts[1, : _TOKENS // 2] = texts[0, : _TOKENS // 2]
    texts = texts.to(tried.device)
    expected = [tried.model(input_ids=text[None], use_cache=False).logits[0].float() for text in texts]
    tried.use(True)
    try:
        plain = tried.plain(texts[0])
    except TypeError:
        tried.keeps = False
        plain = tried.plain(texts[0])
    if not tried.attention.shapes:
        raise Unsupported("its attention does not go through transformers' attention interface")
    if tried.attention.biased:
        raise Unsupported("it gives its attention a mask or bias of its own")
    _check_windows(tried, context)
    found = torch.stack(_in_parts(tried, texts)).float()
    scale = torch.stack(expected).std()
    rounding = (plain.float() - expected[0]).square().mean().sqrt() / scale
    off = (found - torch.stack(expected)[:, -2:]).square().mean().sqrt() / scale
    least = _LEAST.get(tried.model.dtype, _LEAST_EXACT)
    if not off <= (_ROUNDING * rounding).clamp(least, _MOST):
        raise Unsupported(f"packed rows give other logits than the model (off by {off:.1g} of their spread)")


def _check_windows(tried: PackedModel, context: int) -> None:
    """Layers whose window is only in a mask would see too much. Raises Unsupported."""
    config = _base(tried.model).config.get_text_config()
    for name in ("sliding_window", "attention_chunk_size"):
        window = getattr(config, name, None)
        told = name == "sliding_window" and window in tried.attention.windows
        if window and window < context and not told and getattr(config, "use_sliding_window", True):
            raise Unsupported(f"its layers are not told their {name} of {window} tokens")


def _in_parts(tried: PackedModel, texts: Tensor) -> list[Tensor]:
    """Logits of each text's last two tokens: the common half once, then the rest, then one token a row."""
    half, upto = _TOKENS // 2, _TOKENS - 1
    shapes = tried.attention.shapes
    store, cache = SharedStore.empty(shapes, half), RowCache(shapes)
    cache.reserve(2, half)
    tried.attention.cache = cache
    rest = upto - half
    first = Pass(token_ids=texts[0, :half].tolist(), positions=list(range(half)))
    first.spans.append(Span(0, half, 0, store))
    for row in range(2):
        begin = half + row * rest
        first.token_ids += texts[row, half:upto].tolist()
        first.positions += range(half, upto)
        first.spans.append(Span(begin, begin + rest, 0, place=row))
    first.groups.append(Group(store, 0, half, [(half, half + 2 * rest)]))
    before = tried.logits(first, [half + rest - 1, half + 2 * rest - 1])
    second = Pass(texts[:, -1].tolist(), [upto] * 2, [0, 1], [rest + 1] * 2)
    second.groups.append(Group(store, 0, half, [(0, 2)]))
    second.finish()
    after = tried.logits(second, [0, 1])
    tried.attention.cache = None
    return [torch.stack([before[row], after[row]]) for row in range(2)]
