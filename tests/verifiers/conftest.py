"""A tiny language model of the tests' own, and solutions that it can learn to judge."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from resit.verifiers.solutions import Solution

WORDS = ["<s>", "</s>", "?", "what", "is", "and", "right", "wrong", "so", "\n", *map(str, range(30))]


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Llama of two layers with a tokenizer of words, as a folder."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    folder = tmp_path_factory.mktemp("base")
    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="?"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, bos_token="<s>", eos_token="</s>", unk_token="?", pad_token="</s>"
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture
def solutions() -> Callable[..., list[Solution]]:
    """Four solutions a question; those that add up are right."""

    def write(questions: int = 60) -> list[Solution]:
        chance = random.Random(5)
        found = []
        for number in range(questions):
            a, b = chance.randrange(14), chance.randrange(14)
            for repeat in range(4):
                correct = chance.random() < 0.5
                word = "right" if correct else "wrong"
                text = f"{a} and {b} is {word} {a + b}"
                found.append(Solution(f"q{number}", f"what is {a} and {b} ?", text, float(correct), repeat))
        return found

    return write
