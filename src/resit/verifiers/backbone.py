"""The language model under a verifier's head, and the hidden states that it gives."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resit.errors import AssetError, UsageError
from resit.verifiers.settings import Settings
from resit.verifiers.solutions import Solution

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Encoded:
    """A solution as token ids; the head looks at the solution's tokens only."""

    question: tuple[int, ...]
    solution: tuple[int, ...]


class Backbone:
    """A causal language model of transformers, with its tokenizer."""

    def __init__(self, model: Any, tokenizer: Any, layers: int | None) -> None:
        self.model = model.eval()  # no dropout: what is random is the order of the data
        self.tokenizer = tokenizer
        self._layers = layers

    @property
    def _trunk(self) -> Any:
        """The model without its output layer, adapters included."""
        model = self.model.get_base_model() if hasattr(self.model, "get_base_model") else self.model
        return model.base_model

    @cached_property
    def _cache(self) -> str:
        """What the model calls its cache; releases of transformers differ."""
        return "cache" if "cache" in inspect.signature(self._trunk.forward).parameters else "past_key_values"

    def vocabulary_logits(self, states: torch.Tensor) -> torch.Tensor:
        """Next-token logits of last hidden states."""
        found: torch.Tensor = self.model.get_output_embeddings()(states)
        return found

    @property
    def width(self) -> int:
        """Numbers in a hidden state."""
        return int(self.model.config.get_text_config().hidden_size)

    def encode(self, solution: Solution, max_length: int) -> Encoded:
        """Question and solution as token ids, BOS where the tokenizer has one, EOS after the solution."""
        tokenizer = self.tokenizer
        bos = [] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]
        eos = [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
        question = [*bos, *tokenizer.encode(solution.question, add_special_tokens=False)]
        answer = [*tokenizer.encode(f"\n{solution.text}", add_special_tokens=False), *eos]
        question = question[: max(1, max_length - 1)]
        return Encoded(tuple(question), tuple(answer[: max_length - len(question)]))

    def features(self, encoded: Sequence[Encoded]) -> Iterator[torch.Tensor]:
        """For each solution the states of its tokens, (tokens, width), without gradients.

        Neighbours that share a question have it computed once.
        """
        for question, group in groupby(encoded, key=lambda one: one.question):
            yield from self._of_question(question, [one.solution for one in group])

    def _of_question(
        self, question: Sequence[int], solutions: list[tuple[int, ...]]
    ) -> Iterator[torch.Tensor]:
        import torch

        with torch.inference_mode():
            opened = self._forward(torch.tensor([question]), use_cache=True)
            cache = getattr(opened, self._cache)
            cache.batch_repeat_interleave(len(solutions))
            ids, mask = _padded(solutions)
            whole = torch.cat([torch.ones(len(solutions), len(question), dtype=torch.long), mask], dim=1)
            states = self._forward(ids, attention_mask=whole, use_cache=True, **{self._cache: cache})
            for row, solution in zip(self._states(states), solutions, strict=True):
                yield row[: len(solution)].clone()

    def _forward(self, ids: torch.Tensor, **options: Any) -> Any:
        return self._trunk(ids, output_hidden_states=self._layers is not None, **options)

    def _states(self, output: Any) -> torch.Tensor:
        states: torch.Tensor = (
            output.last_hidden_state if self._layers is None else output.hidden_states[self._layers]
        )
        return states

    def states(self, encoded: Sequence[Encoded]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(ids, states, mask of solution tokens) of a padded batch, (rows, tokens[, width])."""
        import torch

        ids, mask = _padded([(*one.question, *one.solution) for one in encoded])
        output = self._trunk(ids, attention_mask=mask, use_cache=False)
        starts = torch.tensor([len(one.question) for one in encoded])[:, None]
        answered = (torch.arange(ids.shape[1])[None] >= starts) & mask.bool()
        return ids, output.last_hidden_state, answered


def _padded(rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and attention mask, (rows, longest), padded on the right."""
    import torch

    longest = max(len(row) for row in rows)
    ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    return ids, mask


def load_backbone(settings: Settings) -> Backbone:
    """The model and tokenizer of `settings.base`; adapters are added in LoRA mode.

    Raises AssetError where it cannot be had, UsageError without the extra it needs or for a layer that the
    model does not have.
    """
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise UsageError(
            f"a verifier needs torch and transformers ({error})", "pip install 'resit[hf]'"
        ) from None
    torch.manual_seed(settings.seed)
    try:
        tokenizer = AutoTokenizer.from_pretrained(settings.base)
        model = AutoModelForCausalLM.from_pretrained(settings.base, dtype=torch.float32)
    except (OSError, ValueError) as error:
        where = "folder" if Path(settings.base).is_dir() else "folder or model on the hub"
        raise AssetError(f"no language model can be loaded from {where} {settings.base}: {error}") from error
    if settings.mode == "lora":
        model = _with_adapters(model, settings)
    layers = _shortened(model, settings.layer) if settings.mode == "frozen" else None
    return Backbone(model, tokenizer, layers)


def _with_adapters(model: Any, settings: Settings) -> Any:
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError:
        raise UsageError("LoRA mode needs peft", "pip install 'resit[lora]'") from None
    config = LoraConfig(r=settings.lora_rank, lora_alpha=2 * settings.lora_rank, target_modules="all-linear")
    return get_peft_model(model, config)


def _shortened(model: Any, wanted: int | None) -> int:
    """After which layer the states are read; later layers are cut off where the model has a plain list."""
    count = int(model.config.get_text_config().num_hidden_layers)
    layer = wanted or max(1, 2 * count // 3)
    if layer > count:
        raise UsageError(f"layer {layer}: the model has {count} layers")
    model.eval()
    layers = getattr(model.base_model, "layers", None)
    if layers is not None and len(layers) == count:
        model.base_model.layers = layers[: min(count, layer + 1)]
    return layer
