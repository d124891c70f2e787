"""The next token of each row: transformers' chain of processors, with one number drawn from the row's seed.

A token is found where the row's number falls in the cumulated probabilities, so it depends on the row's own
logits and seed and on nothing else in flight.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from resit.records import Sampling

_WIDTHS = (128, 2048)
"""Candidates that top-p looks at before it sorts the whole vocabulary."""

_BLOCK = 256
"""Tokens whose probabilities are summed before a block is chosen."""


@dataclass(slots=True)
class Draw:
    """How one row chooses: its settings, its own random numbers, and the tokens that it has seen."""

    sampling: Sampling
    seed: int
    numbers: random.Random = field(init=False)
    seen: Tensor | None = None
    """True (vocabulary) for tokens of prompt and answer; only kept where repetition costs something."""

    def __post_init__(self) -> None:
        self.numbers = random.Random(self.seed)
        if self.sampling.temperature <= 0:  # what only shapes a draw must not divide greedy rows into groups
            penalty = self.sampling.repetition_penalty
            self.sampling = Sampling(temperature=0.0, repetition_penalty=None if penalty == 1 else penalty)
        else:
            self.sampling = replace(self.sampling, max_tokens=0, stop=(), extra={})

    @property
    def penalised(self) -> bool:
        """Whether repetition costs something."""
        return (self.sampling.repetition_penalty or 1.0) != 1.0

    def see(self, token_ids: Sequence[int], vocabulary: int, device: torch.device) -> None:
        """Note tokens of the prompt or the answer."""
        if self.seen is None:
            self.seen = torch.zeros(vocabulary, dtype=torch.bool, device=device)
        self.seen[torch.tensor(token_ids, device=device, dtype=torch.long)] = True


def choose(logits: Tensor, draws: Sequence[Draw]) -> list[int]:
    """One token a row of `logits` (rows, vocabulary)."""
    alike: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for index, draw in enumerate(draws):
        s = draw.sampling
        alike[s.temperature, s.top_p, s.top_k, s.min_p, s.repetition_penalty].append(index)
    if len(alike) == 1:
        return _choose_alike(logits, draws)
    tokens = [0] * len(draws)
    for indices in alike.values():
        some = _choose_alike(logits[indices], [draws[index] for index in indices])
        for index, token in zip(indices, some, strict=True):
            tokens[index] = token
    return tokens


def _choose_alike(logits: Tensor, draws: Sequence[Draw]) -> list[int]:
    sampling = draws[0].sampling
    penalty = sampling.repetition_penalty or 1.0
    if penalty != 1.0:
        logits = _penalised(logits.float(), draws, penalty)
    if sampling.temperature <= 0:
        found: list[int] = logits.argmax(-1).tolist()
        return found
    numbers = torch.tensor(
        [draw.numbers.random() for draw in draws], dtype=_exact(logits), device=logits.device
    )
    logits = logits.float() / sampling.temperature
    if not sampling.top_k and (sampling.top_p is None or sampling.top_p >= 1.0):
        return _drawn(_without_unlikely(logits, sampling.min_p), numbers)
    return _drawn_from_likeliest(logits, sampling, numbers)


def _penalised(logits: Tensor, draws: Sequence[Draw], penalty: float) -> Tensor:
    """Logits of seen tokens moved away from being chosen (Keskar et al. 2019)."""
    seen = torch.stack([draw.seen for draw in draws if draw.seen is not None])
    return torch.where(seen, torch.where(logits < 0, logits * penalty, logits / penalty), logits)


def _without_unlikely(logits: Tensor, min_p: float | None) -> Tensor:
    """Logits without tokens less likely than `min_p` times the likeliest."""
    if not min_p:
        return logits
    return logits.masked_fill(logits < logits.amax(-1, keepdim=True) + torch.tensor(min_p).log(), -torch.inf)


def _drawn(logits: Tensor, numbers: Tensor) -> list[int]:
    """The token in whose share of the probability each number falls, tokens in their own order."""
    rows, vocabulary = logits.shape
    weights = logits.softmax(-1)
    if vocabulary % _BLOCK:
        weights = torch.nn.functional.pad(weights, (0, -vocabulary % _BLOCK))
    padded = weights.view(rows, -1, _BLOCK)
    blocks = padded.sum(-1, dtype=numbers.dtype).cumsum(-1)
    block = _place(blocks, numbers * blocks[:, -1])
    before = blocks.gather(1, (block - 1).clamp(min=0)).where(block > 0, 0.0)
    inside = padded[torch.arange(rows, device=logits.device), block[:, 0]].to(numbers.dtype).cumsum(-1)
    place = _place(inside, numbers * blocks[:, -1] - before[:, 0])
    found: list[int] = (block * _BLOCK + place)[:, 0].tolist()
    return found


def _place(cumulated: Tensor, target: Tensor) -> Tensor:
    """Index (rows, 1) of the share in which each target falls; rounding never leads behind the last share."""
    place = torch.searchsorted(cumulated, target[:, None], right=True)
    return torch.minimum(place, (cumulated < cumulated[:, -1:]).sum(-1, keepdim=True))


def _exact(logits: Tensor) -> torch.dtype:
    return torch.float32 if logits.device.type == "mps" else torch.float64  # which has no doubles


def _drawn_from_likeliest(logits: Tensor, sampling: Sampling, numbers: Tensor) -> list[int]:
    """As `_drawn` among the tokens that top-k, top-p and min-p leave, likeliest first."""
    vocabulary = logits.shape[-1]
    top_k = min(sampling.top_k or vocabulary, vocabulary)
    top_p = 1.0 if sampling.top_p is None else sampling.top_p
    tokens = torch.empty(len(logits), dtype=torch.long, device=logits.device)
    left = torch.arange(len(logits), device=logits.device)
    for width in (top_k,) if sampling.top_k else (*(w for w in _WIDTHS if w < vocabulary), vocabulary):
        some = logits[left]
        values, ids = some.topk(width, -1)
        within = values if sampling.top_k else some  # top-k comes first: what it removes has no probability
        exact = numbers.dtype
        shares = (values - within.logsumexp(-1, keepdim=True)).to(exact).exp_()
        cumulated = shares.cumsum(-1)
        enough = torch.full_like(left, width == vocabulary or bool(sampling.top_k), dtype=torch.bool)
        enough |= cumulated[:, -1] >= top_p
        kept = shares.where(cumulated - shares < top_p, 0.0)  # the token that crosses top_p stays
        kept[:, 0] = shares[:, 0]
        if sampling.min_p:
            kept = kept.where(shares >= sampling.min_p * shares[:, :1], 0.0)
        upto = kept.cumsum(-1)
        place = _place(upto, numbers[left] * upto[:, -1])
        tokens[left[enough]] = ids.gather(1, place)[:, 0][enough]
        left = left[~enough]
        if not len(left):
            break
    found: list[int] = tokens.tolist()
    return found
