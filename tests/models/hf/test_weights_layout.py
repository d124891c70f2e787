"""Weights in oneDNN's layout compute what plain ones compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs `pip install 'resit[hf]'`")

import torch
from torch import nn

from resit.models.hf.packed import packed
from resit.models.hf.weights_layout import PackedLinear, pack_weights, unpack_weights

pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="needs a torch with oneDNN")


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", [1, 3, 64, 200])
def test_a_packed_layer_is_the_layer(rows: int, bias: bool) -> None:
    torch.manual_seed(rows)
    plain = nn.Linear(40, 72, bias=bias)
    inputs = torch.randn(1, rows, 80)[..., ::2]
    with torch.inference_mode():
        assert torch.allclose(PackedLinear(plain)(inputs), plain(inputs), atol=1e-5)


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
