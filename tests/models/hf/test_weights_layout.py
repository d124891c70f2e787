"""Weights in a library's layout compute what plain ones compute."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs `pip install 'resit[hf]'`")

import torch
from torch import nn

from resit.models.hf.packed import packed
from resit.models.hf.weights_layout import (
    MKL,
    Layout,
    OneDNN,
    PackedLinear,
    Product,
    fastest,
    pack_weights,
    unpack_weights,
)

pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="needs a torch with oneDNN")
needs_mkl = pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="needs a torch with MKL")


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", [1, 3, 64, 200])
@pytest.mark.parametrize("layout", [OneDNN, pytest.param(MKL, marks=needs_mkl)])
def test_a_packed_layer_is_the_layer(layout: type[Layout], rows: int, bias: bool) -> None:
    torch.manual_seed(rows)
    plain = nn.Linear(40, 72, bias=bias)
    inputs = torch.randn(1, rows, 80)[..., ::2]
    with torch.inference_mode():
        assert torch.allclose(Product([plain], layout).take(0, inputs), plain(inputs), atol=1e-5)
        (weight,) = Product([plain], layout).weights()
        assert torch.equal(weight, plain.weight)


def test_a_layout_that_fails_its_trial_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MKL, "times", lambda self, inputs, bias: inputs.new_zeros(*inputs.shape[:-1], 72))
    fastest.cache_clear()
    try:
        assert fastest() is OneDNN
        monkeypatch.setattr(OneDNN, "plain", lambda self: torch.zeros(72, 40))
        fastest.cache_clear()
        assert fastest() is None
        assert pack_weights(nn.Sequential(nn.Linear(4, 4))) == 0
    finally:
        fastest.cache_clear()


def test_a_model_keeps_its_logits_and_its_embedding(small_model: Callable[[str], Any]) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_config(small_model("llama").config).eval()
    ids = torch.arange(20)[None]
    with torch.inference_mode():
        before = model(ids).logits
        layers = pack_weights(model)
        assert layers == 3 * 7 + 1
        assert torch.allclose(model(ids).logits, before, atol=1e-5)
        assert pack_weights(model) == 0
        assert not any(type(module) is nn.Linear for module in model.modules())
        unpack_weights(model)
        assert torch.equal(model(ids).logits, before)


def test_a_packed_model_lets_go_of_its_file(small_model: Callable[[str], Any], tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    AutoModelForCausalLM.from_config(deepcopy(small_model("llama").config)).save_pretrained(tmp_path)
    model = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32).eval()
    assert pack_weights(model) > 0
    left = [*model.parameters()]
    assert left
    assert all(one.untyped_storage().nbytes() == one.nbytes for one in left)


class Branches(nn.Module):
    """Three layers that read one tensor, and a fourth that reads what they say."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 3)
        self.second = nn.Linear(8, 5, bias=False)
        self.third = nn.Linear(8, 2)
        self.last = nn.Linear(10, 4)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        together = [self.first(inputs), self.second(inputs), self.third(inputs)]
        out: torch.Tensor = self.last(torch.cat(together, -1))
        return out


@torch.inference_mode()
def test_layers_that_read_the_same_tensor_are_one_product() -> None:
    torch.manual_seed(0)
    model = Branches()
    inputs = torch.randn(7, 8)
    before = model(inputs)
    assert pack_weights(model, lambda: model(inputs)) == 4
    assert model.first.product is model.second.product is model.third.product is not model.last.product
    assert torch.allclose(model(inputs), before, atol=1e-6)
    assert model.first.product._inputs is None, "what was taken by all is held no longer"
    for layer, wide in ((model.third, 2), (model.first, 3), (model.first, 3)):  # in no order, and again
        assert layer(inputs).shape == (7, wide)
    other = torch.randn(2, 8)
    assert torch.equal(model.second(other), model.second(other)), "the other tensor's outputs are not taken"
    unpack_weights(model)
    assert torch.equal(model(inputs), before)
    assert [child.bias is None for child in model.children()] == [False, True, False, False]


@torch.inference_mode()
def test_a_layer_that_is_called_twice_is_a_product_of_its_own() -> None:
    model = Branches()
    model.second = model.third = model.first
    model.last = nn.Linear(9, 4)
    inputs = torch.randn(3, 8)
    before = model(inputs)
    assert pack_weights(model, lambda: model(inputs)) == 2
    assert model.first is model.second is model.third
    assert torch.allclose(model(inputs), before, atol=1e-6)
    unpack_weights(model)
    assert model.first is model.second, "a shared layer stays shared"


def test_a_layer_that_is_called_by_keyword_keeps_its_weight(small_model: Callable[[str], Any]) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_config(small_model("llama").config).eval()
    layer = model.model.layers[1].mlp
    layer.forward = lambda inputs: layer.down_proj(layer.up_proj(input=inputs))
    made = packed(model, 512)
    made.quicken()
    assert type(layer.up_proj) is nn.Linear
    made.close()


def test_a_model_that_cannot_take_pieces_of_a_product_has_products_apart(
    small_model: Callable[[str], Any],
) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_config(small_model("llama").config).eval()
    layer = model.model.layers[1].mlp

    class Whole(nn.Module):
        def forward(self, gate: torch.Tensor) -> torch.Tensor:
            return nn.functional.silu(gate.view(-1)).view(gate.shape)

    layer.act_fn = Whole()
    made = packed(model, 512)
    made.quicken()
    assert layer.up_proj.product is not layer.gate_proj.product
    made.close()


def test_a_model_that_reads_a_weight_itself_keeps_it(small_model: Callable[[str], Any]) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_config(small_model("llama").config).eval()
    layer = model.model.layers[1].mlp
    plain = layer.forward
    layer.forward = lambda inputs: plain(inputs) + layer.up_proj.weight.sum() * 0
    made = packed(model, 512)
    made.quicken()
    assert type(layer.up_proj) is nn.Linear
    layer.forward = plain
    made.quicken()
    assert type(layer.up_proj) is PackedLinear
    made.close()


def test_only_plain_float32_layers_are_packed() -> None:
    class Own(nn.Linear):
        """A layer that may do something else."""

    model = nn.ModuleDict(
        {"wide": nn.Linear(4, 4).double(), "narrow": nn.Linear(4, 4).bfloat16(), "own": Own(4, 4)}
    )
    model["hooked"] = nn.Linear(4, 4)
    model["hooked"].register_forward_hook(lambda *_: None)
    assert pack_weights(model) == 0
