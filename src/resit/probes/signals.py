"""What log-probabilities say about whether a text was seen: each signal rises with how familiar it is."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from resit.records import TokenLikelihoods

LOWEST = 0.2
"""Share of the tokens that Min-k% looks at."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A text and what models say of it."""

    text: str
    found: TokenLikelihoods
    reference: TokenLikelihoods | None = None
    """The same text under a model that has not seen it."""


Signal: TypeAlias = Callable[[Reading], float | None]
"""From a reading to a number, None where it cannot be computed."""


def per_character(reading: Reading) -> float | None:
    """Log-probability per character of the text (Zhang et al. 2024, arXiv 2405.00332, section 5)."""
    return reading.found.total / len(reading.text) if reading.text and reading.found.logprobs else None


def per_token(reading: Reading) -> float | None:
    """Mean log-probability of a token: minus the log of the perplexity."""
    return float(np.mean(reading.found.logprobs)) if reading.found.logprobs else None


def min_k(reading: Reading) -> float | None:
    """Mean log-probability of the least likely fifth of the tokens.

    Min-k% Prob, Shi et al. 2024, arXiv 2310.16789.
    """
    return _lowest(reading.found.logprobs)


def min_k_plus_plus(reading: Reading) -> float | None:
    """Mean of the lowest fifth of (log p - mu) / sigma, over the vocabulary in each token's place.

    Min-k%++, Zhang et al. 2024, arXiv 2404.02936. None where the backend does not know mu and sigma.
    """
    found = reading.found
    if found.mean is None or found.deviation is None:
        return None
    rows = zip(found.logprobs, found.mean, found.deviation, strict=True)
    return _lowest([(logprob - mean) / deviation for logprob, mean, deviation in rows if deviation > 0])


def zlib_ratio(reading: Reading) -> float | None:
    """Log-probability per byte of the text compressed by zlib (Carlini et al. 2021, arXiv 2012.07805)."""
    packed = len(zlib.compress(reading.text.encode("utf-8", "surrogatepass")))
    return reading.found.total / packed if reading.found.logprobs else None


def reference_ratio(reading: Reading) -> float | None:
    """Log-probability per character above that of the reference model (Carlini et al. 2021)."""
    reference, found = reading.reference, reading.found
    if reference is None or not reference.logprobs or not found.logprobs or not reading.text:
        return None
    return (found.total - reference.total) / len(reading.text)


SIGNALS: Mapping[str, Signal] = {
    "per_character": per_character,
    "per_token": per_token,
    "min_k": min_k,
    "min_k_plus_plus": min_k_plus_plus,
    "zlib_ratio": zlib_ratio,
    "reference_ratio": reference_ratio,
}


def _lowest(values: Sequence[float]) -> float | None:
    """Mean of the lowest fifth, of one value at least."""
    if not values:
        return None
    count = max(1, int(len(values) * LOWEST))
    return float(np.mean(np.partition(np.asarray(values, dtype=np.float64), count - 1)[:count]))
