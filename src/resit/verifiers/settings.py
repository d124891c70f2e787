"""What a verifier is trained with."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Settings(BaseModel):
    """Everything that decides a verifier's weights, besides its data."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base: str = Field(description="a causal language model: a folder or a name on the hub")
    mode: Literal["frozen", "lora", "full"] = Field(
        "frozen", description="train the head alone, low-rank adapters with it, or everything"
    )
    layer: int | None = Field(
        None, gt=0, description="frozen: the head reads the states after so many layers (default: two thirds)"
    )
    epochs: int = Field(20, gt=0, description="most passes over the training solutions")
    patience: int = Field(5, gt=0, description="stop after so many passes without a better validation loss")
    learning_rate: float = Field(1e-3, gt=0, description="Adam's at first; it falls to nothing")
    weight_decay: float = Field(0.01, ge=0, description="Adam's, not in frozen mode")
    penalty: float = Field(0.3, ge=0, description="frozen: weight of the squared head in the loss")
    batch_size: int = Field(32, gt=0, description="solutions a step, a question's together where they fit")
    pair_loss: float = Field(
        0.5,
        ge=0,
        description="weight of the loss that puts a question's right solutions above its wrong ones",
    )
    language_loss: float = Field(
        0.0, ge=0, description="weight of the language-model loss beside the verifier's (not in frozen mode)"
    )
    lora_rank: int = Field(8, gt=0, description="rank of the adapters")
    max_length: int = Field(1024, gt=0, description="tokens of question and solution; longer ones are cut")
    seed: int = Field(1234, description="of the division by question, the head and the order of the data")
    checkpoint_steps: int = Field(50, gt=0, description="steps between checkpoints")
