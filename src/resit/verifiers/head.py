"""The scalar head: at every token of a solution, the logit that the solution is right."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Head(nn.Module):
    """A linear map of standardised hidden states to one logit a token."""

    mean: Tensor
    scale: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("scale", torch.ones(width))
        self.linear = nn.Linear(width, 1)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def standardise(self, states: Tensor) -> None:
        """Take mean and spread from states (tokens, width) of the training solutions."""
        self.mean.copy_(states.mean(0))
        self.scale.copy_(states.std(0).clamp_min(1e-6))

    def forward(self, states: Tensor) -> Tensor:
        """Logits (…,) of states (…, width)."""
        found: Tensor = self.linear((states - self.mean) / self.scale).squeeze(-1)
        return found


def token_loss(logits: Tensor, mask: Tensor, labels: Tensor) -> Tensor:
    """Binary cross-entropy, mean over a solution's tokens, then over solutions.

    Every token carries the solution's label (Cobbe et al. 2021, section 4.2), so that the head learns to
    judge from any place. `logits`, `mask` (rows, tokens), `labels` (rows,).
    """
    each = nn.functional.binary_cross_entropy_with_logits(
        logits, labels[:, None].expand_as(logits), reduction="none"
    )
    return ((each * mask).sum(1) / mask.sum(1)).mean()


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
