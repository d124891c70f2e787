"""Attention of packed new tokens over their rows' own keys and over the keys they share.

A query's keys lie in parts: its row's own, and one part for each shared run of tokens above it. Each part
gives an output o and the logarithm l of its softmax denominator; parts merge exactly: l = log(e^l1 + e^l2),
o = o1 e^(l1 - l) + o2 e^(l2 - l). All queries below a shared run meet its keys in one product (Hydragen,
Juravsky et al. 2024).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from resit.models.hf.cache import LayerShape, RowCache, SharedStore
from resit.models.hf.layout import Group, Pass, Span, hiding, window_mask

Part: TypeAlias = tuple[Tensor, Tensor]
"""Output (queries, heads, width) and log-denominator (queries, heads) over some of the keys."""

SCORES = 2**26
"""Attention scores that are held at a time where no fused kernel gives the log-denominator."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How a layer turns products into weights."""

    scaling: float
    softcap: float | None = None
    window: int | None = None


def _fused(query: Tensor, keys: Tensor, values: Tensor, rule: Rule) -> bool:
    return query.device.type == "cpu" and rule.softcap is None and keys.shape[-1] == values.shape[-1]


def weigh(scores: Tensor, values: Tensor, rule: Rule, bias: Tensor | None) -> Part:
    """Softmax of `scores` (…, queries, keys), overwritten, times `values`; `bias` hides keys.

    The log-denominator is the greatest score less the logarithm of its share: torch's softmax takes a third
    of the time of its exponential. Only with a window may a query see nothing; it is then minus infinity.
    """
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    if rule.softcap is not None:
        scores = scores.div_(rule.softcap).tanh_().mul_(rule.softcap)
    if bias is not None:
        scores.add_(bias)
    weights = scores.softmax(-1)
    top, share = scores.amax(-1), weights.amax(-1)
    if rule.window is not None:
        weights = weights.nan_to_num_(0.0)
        share = share.nan_to_num_(1.0)
    return torch.matmul(weights.to(values.dtype), values), top.sub_(share.log_())


def attend(query: Tensor, keys: Tensor, values: Tensor, rule: Rule, mask: Tensor | str | None) -> Part:
    """Queries (tokens, heads, width) over keys and values (key heads, keys, width).

    `mask` is None, "causal", or True where a query (row) may see a key (column).
    """
    tokens, heads, width = query.shape
    sharing = heads // keys.shape[0]
    fused = _fused(query, keys, values, rule)
    if fused and mask is None:  # the heads that share keys are only more queries
        grouped = query.view(tokens, -1, sharing, width).permute(1, 0, 2, 3)
        grouped = grouped.reshape(1, -1, tokens * sharing, width)
        out, log = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            grouped, keys[None], values[None], scale=rule.scaling
        )
        out = out.view(-1, tokens, sharing, width).permute(1, 0, 2, 3).reshape(tokens, heads, width)
        return out, log.view(-1, tokens, sharing).permute(1, 0, 2).reshape(tokens, heads)
    # (sharing, key heads, tokens, width): each key head meets one of its query heads at a time
    grouped = query.view(tokens, -1, sharing, width).permute(2, 1, 0, 3)
    if fused:
        bias = None if isinstance(mask, str) or mask is None else hiding(~mask)
        out, log = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            grouped,
            keys.expand(sharing, *keys.shape),
            values.expand(sharing, *values.shape),
            is_causal=isinstance(mask, str),
            attn_mask=None if bias is None else bias.to(query.dtype),
            scale=rule.scaling,
        )
        if isinstance(mask, Tensor):  # the kernel calls the denominator of a query that sees nothing 1
            log = log.masked_fill(~mask.any(-1), -torch.inf)
    else:
        out, log = _in_chunks(grouped, keys, values, rule, mask)
    out = out.permute(2, 1, 0, 3).reshape(tokens, heads, -1)
    return out, log.permute(2, 1, 0).reshape(tokens, heads)


def _in_chunks(query: Tensor, keys: Tensor, values: Tensor, rule: Rule, mask: Tensor | str | None) -> Part:
    """`attend` by plain products, so many queries at a time that the scores stay small."""
    tokens, count = query.shape[2], keys.shape[1]
    if isinstance(mask, str):
        mask = torch.ones(tokens, count, dtype=torch.bool, device=query.device).tril()
    step = max(1, SCORES // (query.shape[0] * query.shape[1] * count))
    parts = []
    for first in range(0, tokens, step):
        some = query[:, :, first : first + step] * rule.scaling
        bias = None if mask is None else hiding(~mask[first : first + step])
        parts.append(weigh(torch.matmul(some, keys.transpose(-1, -2)), values, rule, bias))
    return torch.cat([out for out, _ in parts], 2), torch.cat([log for _, log in parts], 2)


class PackedAttention:
    """The attention function of one model: stores the new keys of the pass, and attends over all parts."""

    def __init__(self) -> None:
        self.layers: dict[nn.Module, int] = {}
        self.shapes: list[LayerShape] = []
        self.windows: set[int | None] = set()
        """Window of each layer that was called, in tokens; None: a layer sees everything."""
        self.biased = False
        """Whether a layer came with more than a causal mask."""
        self.cache: RowCache | None = None
        self.pass_: Pass | None = None
        """What is computed now; None: a plain causal text, whose layers are being learnt."""

    def __call__(
        self,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        scaling: float | None = None,
        softcap: float | None = None,
        sliding_window: int | None = None,
        s_aux: Tensor | None = None,
        position_bias: Tensor | None = None,
        **_: Any,
    ) -> tuple[Tensor, None]:
        """Output (1, tokens, heads, width) for queries, keys and values (1, heads, tokens, width)."""
        rule = Rule(query.shape[-1] ** -0.5 if scaling is None else scaling, softcap, sliding_window)
        packed, keys, values = query[0].transpose(0, 1), key[0], value[0]
        if self.pass_ is None:
            self._learn(module, keys, values, rule)
            self.biased |= position_bias is not None or not _only_causal(attention_mask)
            causal = window_mask(torch.arange(len(packed), device=packed.device), 0, len(packed), rule.window)
            out, log = attend(packed.contiguous(), keys.contiguous(), values.contiguous(), rule, causal)
        else:
            out, log = self._attend_parts(self.layers[module], packed, keys, values, rule, self.pass_)
        if s_aux is not None:  # a sink: a key without value
            out = out * torch.sigmoid(log - s_aux.to(log.dtype))[..., None]
        return out[None].to(query.dtype), None

    def _learn(self, module: nn.Module, keys: Tensor, values: Tensor, rule: Rule) -> None:
        self.windows.add(rule.window)
        if module not in self.layers:
            self.layers[module] = len(self.shapes)
            shape = LayerShape(keys.shape[0], keys.shape[-1], values.shape[-1], keys.dtype, keys.device)
            self.shapes.append(shape)

    def _attend_parts(
        self, layer: int, query: Tensor, keys: Tensor, values: Tensor, rule: Rule, pass_: Pass
    ) -> Part:
        decoding = len(pass_.places)
        wide = torch.promote_types(query.dtype, torch.float32)
        out = torch.empty(*query.shape[:2], values.shape[-1], dtype=wide, device=query.device)
        log = torch.empty(query.shape[:2], dtype=wide, device=query.device)
        if decoding:
            assert self.cache is not None
            rows_k, rows_v = self.cache.keys[layer], self.cache.values[layer]
            places, last = pass_.on(query.device, "places"), pass_.on(query.device, "last")
            rows_k[places, :, last] = keys[:, :decoding].transpose(0, 1)
            rows_v[places, :, last] = values[:, :decoding].transpose(0, 1)
            _over_rows(out[:decoding], log[:decoding], query[:decoding], rows_k, rows_v, rule, pass_)
        for span in pass_.spans:
            new = slice(span.begin, span.end)
            own_k, own_v = self._own(span, layer)
            own_k[:, span.offset : span.offset + span.count] = keys[:, new]
            own_v[:, span.offset : span.offset + span.count] = values[:, new]
            out[new], log[new] = _over_span(query[new], own_k, own_v, rule, span)
        for group in pass_.groups:
            _merge_shared(out, log, query, group, layer, rule, pass_)
        return out, log

    def _own(self, span: Span, layer: int) -> tuple[Tensor, Tensor]:
        if span.store is not None:
            return span.store.keys[layer], span.store.values[layer]
        assert self.cache is not None
        return self.cache.keys[layer][span.place], self.cache.values[layer][span.place]


def _only_causal(mask: Tensor | None) -> bool:
    """Whether a mask (…, queries, keys), True or 0 where seen, hides at most what comes later."""
    if mask is None:
        return True
    seen = mask if mask.dtype == torch.bool else mask == 0
    return bool(seen[..., torch.ones(seen.shape[-2:], dtype=torch.bool, device=seen.device).tril()].all())


def _over_rows(
    out: Tensor, log: Tensor, query: Tensor, keys: Tensor, values: Tensor, rule: Rule, pass_: Pass
) -> None:
    """Write what one new token a row finds in the row's own keys, band by band of places."""
    heads, width = query.shape[1:]
    key_heads, dense = keys.shape[1], pass_.dense
    places = pass_.on(query.device, "places")
    query = query * rule.scaling
    if not dense:  # places that do not decode get a query of nothing
        query = query.new_zeros(pass_.bands[-1].last, heads, width).index_copy_(0, places, query)
    for band in pass_.bands:
        rows, upto = band.last - band.first, band.length
        own_k = keys[band.first : band.last, :, :upto].reshape(rows * key_heads, upto, -1)
        own_v = values[band.first : band.last, :, :upto].reshape(rows * key_heads, upto, -1)
        grouped = query[band.first : band.last].reshape(rows * key_heads, heads // key_heads, width)
        bias = pass_.bias(band, rule.window, query.device, key_heads)
        part, part_log = weigh(torch.bmm(grouped, own_k.transpose(1, 2)), own_v, rule, bias)
        part, part_log = part.view(rows, heads, -1), part_log.view(rows, heads)
        if dense:
            out[band.first : band.last], log[band.first : band.last] = part, part_log
        else:
            out[band.queries], log[band.queries] = part[band.rows(places)], part_log[band.rows(places)]


def _over_span(query: Tensor, keys: Tensor, values: Tensor, rule: Rule, span: Span) -> Part:
    """A run of new tokens over itself and what its row or node has before it."""
    query, before, upto = query.contiguous(), span.offset, span.offset + span.count
    if rule.window is not None and rule.window < upto:
        positions = torch.arange(before, upto, device=query.device)
        return attend(
            query, keys[:, :upto], values[:, :upto], rule, window_mask(positions, 0, upto, rule.window)
        )
    out, log = attend(query, keys[:, before:upto], values[:, before:upto], rule, "causal")
    if before:
        wide = torch.promote_types(out.dtype, torch.float32)
        out, log = out.to(wide), log.to(wide)
        _merge(out, log, attend(query, keys[:, :before], values[:, :before], rule, None))
    return out, log


def _merge_shared(
    out: Tensor, log: Tensor, query: Tensor, group: Group, layer: int, rule: Rule, pass_: Pass
) -> None:
    """Bring a shared run of tokens into the outputs of all queries below it."""
    which = group.on(query.device)
    store: SharedStore = group.store
    mask = pass_.shared_mask(group, rule.window, query.device)
    part = attend(query[which].contiguous(), store.keys[layer], store.values[layer], rule, mask)
    some, some_log = out[which], log[which]
    _merge(some, some_log, part)
    if isinstance(which, Tensor):  # a slice is a view, and has been written
        out[which], log[which] = some, some_log


def _merge(out: Tensor, log: Tensor, part: Part) -> None:
    """Bring more keys into outputs over others, in place."""
    part_out, part_log = part
    total = torch.logaddexp(log, part_log.to(log.dtype))
    out.mul_(log.sub_(total).exp_()[..., None])
    out.addcmul_(part_out.to(out.dtype), part_log.sub(total).exp_()[..., None])
    log.copy_(total)
