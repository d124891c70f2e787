"""Weights of linear layers in the layout that oneDNN multiplies fastest: float32 on processors.

torch's own product packs the weight anew at every call. With few rows that costs as much as multiplying: a
vocabulary of 49,152 x 576 with 32 rows took 34 ms so and 18 ms packed beforehand. Layers that read the same
tensor (queries, keys and values; gate and up) are one product: with 64 rows those of SmolLM2-135M took 53 ms
so, and 86 ms one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

_ROWS = 64
"""Rows for which the layout is chosen; it serves other numbers too."""


class Product:
    """One product for linear layers that read the same tensor, one after the other.

    The first called computes for all. Its inputs and the others' outputs are held until they are taken.
    """

    def __init__(self, linears: Sequence[nn.Linear]) -> None:
        self._sizes = [linear.out_features for linear in linears]
        weights = [linear.weight.detach() for linear in linears]
        whole = weights[0] if len(weights) == 1 else torch.cat(weights)
        self._weight = torch.ops.mkldnn._reorder_linear_weight(whole, _ROWS)
        self._bias = _stacked_bias(linears)
        self._inputs: Tensor | None = None
        self._outputs: dict[int, Tensor] = {}

    def weights(self) -> Iterator[Tensor]:
        """The layers' weights (out, in)."""
        for weight in torch.split(self._weight.to_dense(), self._sizes):
            yield weight.clone()

    def take(self, index: int, inputs: Tensor) -> Tensor:
        """Output of one of the layers; each may take it once for the same inputs without a new product."""
        if len(self._sizes) == 1:
            return self._multiplied(inputs)
        if inputs is not self._inputs or index not in self._outputs:
            self._inputs = inputs
            self._outputs = dict(enumerate(torch.split(self._multiplied(inputs), self._sizes, -1)))
        out = self._outputs.pop(index)
        if not self._outputs:
            self._inputs = None
        return out

    def _multiplied(self, inputs: Tensor) -> Tensor:
        out: Tensor = torch.ops.mkldnn._linear_pointwise(
            inputs.contiguous(), self._weight, self._bias, "none", [], ""
        )
        return out


def _stacked_bias(linears: Sequence[nn.Linear]) -> Tensor | None:
    if all(linear.bias is None for linear in linears):
        return None
    return torch.cat(
        [
            linear.weight.new_zeros(linear.out_features) if linear.bias is None else linear.bias.detach()
            for linear in linears
        ]
    )


class PackedLinear(nn.Module):
    """A linear layer whose weight exists only in oneDNN's layout, in a product of its own or with others."""

    def __init__(self, linear: nn.Linear, product: Product, index: int) -> None:
        super().__init__()
        self.in_features = linear.in_features
        self.out_features = linear.out_features
        self.bias = linear.bias
        self.product = product
        self.index = index

    def plain(self, weight: Tensor) -> nn.Linear:
        """The layer that it replaced."""
        linear = nn.Linear(self.in_features, self.out_features, bias=False, device="meta")
        linear.weight = nn.Parameter(weight, requires_grad=False)
        linear.bias = self.bias
        return linear

    def forward(self, inputs: Tensor) -> Tensor:
        """As `nn.Linear`."""
        return self.product.take(self.index, inputs)


def _packable(module: nn.Module) -> bool:
    return (
        type(module) is nn.Linear
        and module.weight.device.type == "cpu"
        and module.weight.dtype == torch.float32
        and not module._forward_hooks
        and not module._forward_pre_hooks
        and not hasattr(module, "_hf_hook")
    )


def _found(model: Any, wanted: Callable[[nn.Module], bool]) -> list[tuple[Any, str, Any]]:
    """Parent, name and module of each that is wanted."""
    return [
        (parent, name, child)
        for parent in model.modules()
        for name, child in parent._modules.items()  # named_children leaves out a second name
        if child is not None and wanted(child)
    ]


def _siblings(linears: Sequence[nn.Linear], trial: Callable[[], object]) -> Iterator[list[nn.Linear]]:
    """The layers, those together that were given the very same tensor in a trial, once each."""
    calls: list[tuple[nn.Linear, Tensor]] = []
    hooks = [
        linear.register_forward_pre_hook(lambda module, inputs: calls.extend((module, one) for one in inputs))
        for linear in linears
    ]
    try:
        trial()
    finally:
        for hook in hooks:
            hook.remove()
    times = Counter(linear for linear, _ in calls)
    together: dict[int, list[nn.Linear]] = {}
    for linear, inputs in calls:  # that `calls` holds the tensors keeps their ids apart
        if times[linear] == 1:
            together.setdefault(id(inputs), []).append(linear)
    yield from together.values()
    grouped = {linear for group in together.values() for linear in group}
    yield from ([linear] for linear in dict.fromkeys(linears) if linear not in grouped)


def pack_weights(model: Any, trial: Callable[[], object] | None = None) -> int:
    """How many linear layers were replaced; each keeps its name and its result, but for rounding.

    `trial` runs the model once; layers that it gives the same tensor become one product. 0 where oneDNN's
    operators are missing. The plain weights are freed until `unpack_weights`.
    """
    there = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if not there or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return 0
    found = _found(model, _packable)
    linears = list(dict.fromkeys(child for _, _, child in found))
    groups = [[linear] for linear in linears] if trial is None else list(_siblings(linears, trial))
    where: dict[nn.Linear, list[tuple[Any, str]]] = {}
    for parent, name, child in found:
        where.setdefault(child, []).append((parent, name))
    replaced = len(linears)
    del found, linears
    while groups:
        group = groups.pop()
        product = Product(group)
        for index, linear in enumerate(group):
            packed = PackedLinear(linear, product, index)
            for parent, name in where.pop(linear):
                setattr(parent, name, packed)
    return replaced


def unpack_weights(model: Any) -> None:
    """Give every replaced layer its plain weight back."""
    found = _found(model, lambda module: isinstance(module, PackedLinear))
    products = dict.fromkeys(child.product for _, _, child in found)
    weights = {product: list(product.weights()) for product in products}
    plain: dict[PackedLinear, nn.Linear] = {}
    for parent, name, child in found:
        if child not in plain:
            plain[child] = child.plain(weights[child.product][child.index])
        setattr(parent, name, plain[child])
