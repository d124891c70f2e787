"""Weights of linear layers in the layout that a library multiplies fastest: float32 on processors.

torch's own product packs the weight anew at every call. With few rows that costs as much as multiplying: all
of SmolLM2-135M's with 16 rows took 100 ms so, 62 ms in oneDNN's layout and 53 ms in MKL's; with 64 rows 112,
110 and 88 ms. MKL's is taken where torch has it and it passes a trial, else oneDNN's. Layers that read the
same tensor (queries, keys and values; gate and up) are one product: with 64 rows those took 53 ms so, and 86
ms one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Protocol

import torch
from torch import Tensor, nn

_ROWS = 64
"""Rows for which the layout is chosen; it serves other numbers too."""


class Layout(Protocol):
    """A weight (out, in) as a library wants it."""

    def __init__(self, weight: Tensor) -> None: ...

    def times(self, inputs: Tensor, bias: Tensor | None) -> Tensor:
        """Outputs (…, out) for contiguous inputs (…, in)."""
        ...

    def plain(self) -> Tensor:
        """The weight again, bit for bit."""
        ...


class OneDNN:
    """oneDNN's layout."""

    def __init__(self, weight: Tensor) -> None:
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weight, _ROWS)

    def times(self, inputs: Tensor, bias: Tensor | None) -> Tensor:
        """As `Layout.times`."""
        out: Tensor = torch.ops.mkldnn._linear_pointwise(inputs, self._weight, bias, "none", [], "")
        return out

    def plain(self) -> Tensor:
        """As `Layout.plain`."""
        weight: Tensor = self._weight.to_dense()
        return weight


class MKL:
    """MKL's layout. It is made for a number of rows, and serves others as well.

    torch's operator also takes the plain weight, for a number of rows that it was not told; it is told each
    number, so a tensor of that shape without memory stands in.
    """

    def __init__(self, weight: Tensor) -> None:
        self._weight = torch.ops.mkl._mkl_reorder_linear_weight(weight, _ROWS)
        self._shape = torch.empty(1).expand(weight.shape)

    def times(self, inputs: Tensor, bias: Tensor | None) -> Tensor:
        """As `Layout.times`."""
        rows = inputs.numel() // inputs.shape[-1]
        out: Tensor = torch.ops.mkl._mkl_linear(inputs, self._weight, self._shape, bias, rows)
        return out

    def plain(self) -> Tensor:
        """As `Layout.plain`: each row of the identity picks a column, and nothing is rounded."""
        return self.times(torch.eye(self._shape.shape[1]), None).t().contiguous()


@cache
def fastest() -> type[Layout] | None:
    """The layout to use; None where torch has neither."""
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return None
    if hasattr(torch.ops.mkl, "_mkl_linear") and _passes(MKL):
        return MKL
    return OneDNN if hasattr(torch.ops.mkldnn, "_linear_pointwise") and _passes(OneDNN) else None


@torch.inference_mode()
def _passes(layout: type[Layout]) -> bool:
    """Whether it multiplies any number of rows rightly, and gives the weight back."""
    chance = torch.Generator().manual_seed(0)
    weight = torch.randn(72, 40, generator=chance)
    bias = torch.randn(72, generator=chance)
    try:
        made = layout(weight)
        right = torch.equal(made.plain(), weight)
        for rows in (1, 2, _ROWS - 1, _ROWS, _ROWS + 1, 300):
            inputs = torch.randn(rows, 40, generator=chance)
            expected = nn.functional.linear(inputs, weight, bias)
            right &= torch.allclose(made.times(inputs, bias), expected, atol=1e-4)
    except RuntimeError:  # an operator with other arguments, or made for another processor
        return False
    return right


class Product:
    """One product for linear layers that read the same tensor, one after the other.

    The first called computes for all. Its inputs and the others' outputs are held until they are taken.
    """

    def __init__(self, linears: Sequence[nn.Linear], layout: type[Layout]) -> None:
        self._sizes = [linear.out_features for linear in linears]
        weights = [linear.weight.detach() for linear in linears]
        self._weight: Layout = layout(weights[0] if len(weights) == 1 else torch.cat(weights))
        self._bias = _stacked_bias(linears)
        self._inputs: Tensor | None = None
        self._outputs: dict[int, Tensor] = {}

    def weights(self) -> Iterator[Tensor]:
        """The layers' weights (out, in)."""
        for weight in torch.split(self._weight.plain(), self._sizes):
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
        return self._weight.times(inputs.contiguous(), self._bias)


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
    """A linear layer whose weight exists only in a library's layout, alone in a product or with others."""

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

    `trial` runs the model once; layers that it gives the same tensor become one product. 0 where torch has no
    library with a layout of its own. The plain weights are freed until `unpack_weights`.
    """
    layout = fastest()
    if layout is None:
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
        product = Product(group, layout)
        for index, linear in enumerate(group):
            packed = PackedLinear(linear, product, index)
            for parent, name in where.pop(linear):
                setattr(parent, name, packed)
    if replaced:
        _part_from_file(model)
    return replaced


def _part_from_file(model: Any) -> None:
    """Copy the weights that are left: as pieces of the checkpoint's mapped file they would hold all of it."""
    for parameter in model.parameters():
        if parameter.device.type == "cpu":
            parameter.data = parameter.data.clone()


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
