"""The scalar head: at every token of a solution, the logit that the solution is right."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Head(nn.Module):
    """A linear map of standardised hidden states to a logit a token, and one of how far they spread.

    The second adds the same at every token of a solution: the spread of each number over its tokens
    (statistics pooling, Snyder et al. 2017) tells solutions of one question apart that the mean does not.
    """

    mean: Tensor
    scale: Tensor
    spread_mean: Tensor
    spread_scale: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        for name in ("mean", "spread_mean"):
            self.register_buffer(name, torch.zeros(width))
        for name in ("scale", "spread_scale"):
            self.register_buffer(name, torch.ones(width))
        self.linear = nn.Linear(width, 1)
        self.spread = nn.Linear(width, 1, bias=False)
        for parameter in self.parameters():
            nn.init.zeros_(parameter)

    def standardise(self, states: Sequence[Tensor]) -> None:
        """Take from states (tokens, width) of training solutions how far solutions differ in each number."""
        means = torch.stack([one.mean(0) for one in states])
        spreads = torch.stack([_spread(one, None) for one in states])
        for found, mean, scale in (
            (means, self.mean, self.scale),
            (spreads, self.spread_mean, self.spread_scale),
        ):
            mean.copy_(found.mean(0))
            if len(found) > 1:
                scale.copy_(found.std(0).clamp_min(1e-6))

    def forward(self, states: Tensor, mask: Tensor | None = None) -> Tensor:
        """Logits (…, tokens) of states (…, tokens, width); `mask` says which tokens are a solution's."""
        spread = (_spread(states, mask) - self.spread_mean) / self.spread_scale
        found: Tensor = self.linear((states - self.mean) / self.scale).squeeze(-1) + self.spread(spread)
        return found

    def squared(self) -> Tensor:
        """Sum of the squared weights: what a ridge penalty is taken of."""
        return self.linear.weight.square().sum() + self.spread.weight.square().sum()


def _spread(states: Tensor, mask: Tensor | None) -> Tensor:
    """Standard deviation over the tokens of a solution, (…, width)."""
    weight = torch.ones_like(states[..., :1]) if mask is None else mask[..., None].to(states.dtype)
    count = weight.sum(-2, keepdim=True)
    off = (states - (states * weight).sum(-2, keepdim=True) / count) * weight
    return (off.square().sum(-2) / count[..., 0, :] + 1e-6).sqrt()  # the slope at 0 would be infinite


def token_loss(logits: Tensor, mask: Tensor, labels: Tensor) -> Tensor:
    """Binary cross-entropy, mean over a solution's tokens, then over solutions.

    Every token carries the solution's label (Cobbe et al. 2021, section 4.2), so that the head learns to
    judge from any place. `logits`, `mask` (rows, tokens), `labels` (rows,).
    """
    each = nn.functional.binary_cross_entropy_with_logits(
        logits, labels[:, None].expand_as(logits), reduction="none"
    )
    return ((each * mask).sum(1) / mask.sum(1)).mean()


def solution_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Binary cross-entropy of solutions' logits, mean; `logits`, `labels` (rows,)."""
    return nn.functional.binary_cross_entropy_with_logits(logits, labels)


def pair_loss(logits: Tensor, labels: Tensor, questions: Tensor) -> Tensor:
    """Mean of -log sigma(l_right - l_wrong) over the pairs of a right and a wrong solution of one question.

    The loss of reward models (Bradley and Terry 1952; Ouyang et al. 2022, equation 1). Cross-entropy alone
    learns first which questions are hard, which says nothing about whom to choose. `logits`, `labels` and
    `questions` (rows,), one a solution; 0 where no question has both kinds.
    """
    above = (questions[:, None] == questions[None]) & (labels[:, None] > labels[None])
    if not above.any():
        return logits.new_zeros(())
    return nn.functional.softplus(logits[None] - logits[:, None])[above].mean()


def solution_logits(logits: Tensor, mask: Tensor) -> Tensor:
    """One logit a solution, (rows,): the mean over its tokens."""
    return (logits * mask).sum(1) / mask.sum(1)
