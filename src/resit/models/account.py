"""What a run has used: requests, tokens, money."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from resit.errors import UsageError
from resit.models.replies import Usage

PER = 1_000_000
"""Prices are for so many tokens."""


class Price(BaseModel):
    """Money for a million tokens, in whatever currency the file is written in."""

    model_config = ConfigDict(extra="forbid")

    prompt: float = Field(ge=0, description="tokens that the server had to read")
    completion: float = Field(ge=0, description="tokens that it wrote, reasoning included")
    cached: float | None = Field(
        None, ge=0, description="prompt tokens that it had cached (default: as the others)"
    )


def read_price(path: Path, model: str) -> Price:
    """The price of a model in a YAML file `MODEL: {prompt: 0.15, cached: 0.075, completion: 0.6}`.

    Raises UsageError for an unreadable file or a model without a price.
    """
    import yaml

    from resit import yamls

    try:
        content = yamls.load(path.read_bytes())
        prices = TypeAdapter(dict[str, Price]).validate_python(content or {})
    except (OSError, yaml.YAMLError, ValidationError) as error:
        raise UsageError(
            f"{path}: expected prices as MODEL: {{prompt: …, completion: …}} ({error})"
        ) from None
    if model not in prices:
        raise UsageError(
            f"{path} has no price for {model!r}", f"it has {', '.join(sorted(prices)) or 'none'}"
        )
    return prices[model]


def _sum(so_far: int | None, more: int | None) -> int | None:
    return so_far if more is None else (so_far or 0) + more


@dataclass(slots=True)
class Account:
    """Sums over all answers of a run. A count that no answer gave stays None, it is not zero."""

    requests: int = 0
    """Sent, those asked again included."""
    retries: int = 0
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    uncounted: int = 0
    """Answers without usage: the sums are too low by them."""

    def add(self, usage: Usage) -> None:
        """Enter one answer."""
        if usage.prompt is None and usage.completion is None:
            self.uncounted += 1
        self.prompt_tokens = _sum(self.prompt_tokens, usage.prompt)
        self.cached_tokens = _sum(self.cached_tokens, usage.cached)
        self.completion_tokens = _sum(self.completion_tokens, usage.completion)
        self.reasoning_tokens = _sum(self.reasoning_tokens, usage.reasoning)

    def cost(self, price: Price) -> float:
        """Money for the tokens counted so far."""
        cached = self.cached_tokens or 0
        read = (self.prompt_tokens or 0) - cached
        written = self.completion_tokens or 0
        cached_price = price.prompt if price.cached is None else price.cached
        return (read * price.prompt + cached * cached_price + written * price.completion) / PER

    def bill(self, price: Price) -> str:
        """The sums and what they cost, in a sentence."""
        counts = f"{self.requests:,} requests ({self.retries:,} of them again)"
        tokens = f"{self.prompt_tokens or 0:,} prompt tokens ({self.cached_tokens or 0:,} cached)"
        written = f"{self.completion_tokens or 0:,} completion tokens"
        missing = f"; {self.uncounted:,} answers came without counts" if self.uncounted else ""
        return f"used so far: {counts}, {tokens}, {written}: {self.cost(price):.6g}{missing}"

    def as_dict(self) -> Mapping[str, int | None]:
        """The sums by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
