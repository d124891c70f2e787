"""Weights of linear layers in the layout that oneDNN multiplies fastest: float32 on processors.

torch's own product packs the weight anew at every call. With few rows that costs as much as multiplying: a
vocabulary of 49,152 x 576 with 32 rows took 34 ms so and 18 ms packed beforehand.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

_ROWS = 64
"""Rows for which the layout is chosen; it serves other numbers too."""


class PackedLinear(nn.Module):
    """A linear layer whose weight exists only in oneDNN's layout."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features = linear.in_features
        self.out_features = linear.out_features
        self.bias = linear.bias
        self._weight = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), _ROWS)

    def plain(self) -> nn.Linear:
        """The layer that it replaced."""
        linear = nn.Linear(self.in_features, self.out_features, bias=False, device="meta")
        linear.weight = nn.Parameter(self._weight.to_dense().clone(), requires_grad=False)
        linear.bias = self.bias
        return linear

    def forward(self, inputs: Tensor) -> Tensor:
        """As `nn.Linear`."""
        out: Tensor = torch.ops.mkldnn._linear_pointwise(
            inputs.contiguous(), self._weight, self.bias, "none", [], ""
        )
        return out


def _packable(module: nn.Module) -> bool:
    return (
        type(module) is nn.Linear
        and module.weight.device.type == "cpu"
        and module.weight.dtype == torch.float32
        and not module._forward_hooks
        and not module._forward_pre_hooks
        and not hasattr(module, "_hf_hook")
    )


def pack_weights(model: Any) -> int:
    """How many linear layers were replaced; each keeps its name and its result, but for rounding.

    0 where oneDNN's operators are missing. The plain weights are freed until `unpack_weights`.
    """
    there = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if not there or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return 0
    found = [
        (parent, name, child)
        for parent in model.modules()
        for name, child in parent.named_children()
        if _packable(child)
    ]
    for parent, name, child in found:
        setattr(parent, name, PackedLinear(child))
    return len(found)


def unpack_weights(model: Any) -> None:
    """Give every replaced layer its plain weight back."""
    found = [
        (parent, name, child)
        for parent in model.modules()
        for name, child in parent.named_children()
        if isinstance(child, PackedLinear)
    ]
    for parent, name, child in found:
        setattr(parent, name, child.plain())
