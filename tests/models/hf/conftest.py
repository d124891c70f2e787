"""Small models of many kinds, built at random, and a tokenizer trained on a few words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

WORDS = "one two three four five six seven eight nine ten eleven twelve apples pears and or the a sum is"
VOCABULARY = 320


@pytest.fixture(scope="session")
def torch() -> Any:
    """torch on one thread: these models are too small for two."""
    found = pytest.importorskip("torch", reason="needs `pip install 'resit[hf]'`")
    pytest.importorskip("transformers", reason="needs `pip install 'resit[hf]'`")
    found.set_num_threads(1)
    return found


@pytest.fixture(scope="session")
def tokenizer(torch: Any) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<end>", "<turn>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator([WORDS] * 4, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<end>", pad_token="<end>")


def _configuration(kind: str) -> Any:
    import transformers as t

    sizes: dict[str, Any] = {
        "vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 512,
        "bos_token_id": None, "eos_token_id": 0, "pad_token_id": 0,
    }  # fmt: skip
    few = {name: value for name, value in sizes.items() if name != "num_key_value_heads"}
    made: dict[str, Callable[[], Any]] = {
        "llama": lambda: t.LlamaConfig(**sizes),
        "qwen2": lambda: t.Qwen2Config(**sizes),
        "gemma2": lambda: t.Gemma2Config(**sizes, head_dim=8, sliding_window=24, final_logit_softcapping=5.0),
        "gpt_neox": lambda: t.GPTNeoXConfig(**few),
        "gpt2": lambda: t.GPT2Config(
            vocab_size=VOCABULARY,
            n_embd=32,
            n_layer=2,
            n_head=4,
            n_positions=512,
            bos_token_id=0,
            eos_token_id=0,
        ),
        "mistral": lambda: t.MistralConfig(**sizes, sliding_window=24),
        "bloom": lambda: t.BloomConfig(
            vocab_size=VOCABULARY, hidden_size=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0
        ),
        "recurrent_gemma": lambda: t.RecurrentGemmaConfig(**few, attention_window_size=64),
        "lfm2": lambda: t.Lfm2Config(**sizes, layer_types=["conv", "full_attention", "conv"]),
    }
    return made[kind]()


@pytest.fixture(scope="session")
def small_model(torch: Any) -> Callable[[str], Any]:
    """A model of a kind in float64, so that no two logits are equal but for rounding; made once."""
    made: dict[str, Any] = {}

    def model(kind: str) -> Any:
        from transformers import AutoModelForCausalLM

        if kind not in made:
            torch.manual_seed(0)
            built = AutoModelForCausalLM.from_config(_configuration(kind)).double().eval()
            with torch.no_grad():
                for parameter in built.parameters():
                    if parameter.ndim > 1:
                        parameter.normal_(0, 0.2)
            made[kind] = built
        return made[kind]

    return model
