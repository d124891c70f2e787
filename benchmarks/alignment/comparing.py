"""What two programs made of the same questions, sample by sample."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from resit.stats import paired_difference, wilson_interval
from resit.tasks.aligned import verdict_of

NOTHING = "[invalid]"
"""What lm-eval writes where no answer was found."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One question as a program asked, heard and judged it."""

    prompt: str
    """sha256 of the prompt."""
    target: str
    text: str
    verdicts: Mapping[str, tuple[str, float]]
    """By rule: the extracted answer and whether it is right."""


Side = Mapping[int, Sample]
"""A program's samples by document."""


def digest(text: str) -> str:
    """The sha256 of a prompt."""
    return hashlib.sha256(text.encode()).hexdigest()


def compare(ours: Side, theirs: Side) -> dict[str, Any]:
    """Counts of what agrees and each rule's scores, as a record has them. ValueError for other questions."""
    if not ours or ours.keys() != theirs.keys():
        raise ValueError(f"the sides hold {len(ours)} and {len(theirs)} questions, which are not the same")
    pairs = [(ours[doc], theirs[doc]) for doc in sorted(ours)]
    rules = {name: _rule(name, pairs) for name in pairs[0][1].verdicts}
    found: dict[str, Any] = {
        "n": len(pairs),
        "same_prompts": sum(a.prompt == b.prompt for a, b in pairs),
        "same_references": sum(a.target == b.target for a, b in pairs),
        "same_texts": sum(a.text == b.text for a, b in pairs),
        "rules": rules,
    }
    return {**found, "verdict": verdict_of(found)}


def _rule(name: str, pairs: list[tuple[Sample, Sample]]) -> dict[str, Any]:
    said = [(a.verdicts[name], b.verdicts[name]) for a, b in pairs]
    right = [(ours[1], theirs[1]) for ours, theirs in said]
    ours, theirs = (sum(side) for side in zip(*right, strict=True))
    gap = paired_difference([a for a, _ in right], [b for _, b in right]).interval
    return {
        "ours": _rounded(ours / len(pairs)),
        "theirs": _rounded(theirs / len(pairs)),
        "interval": [_rounded(limit) for limit in wilson_interval(ours, len(pairs))],
        "difference_interval": [_rounded(limit) for limit in gap],
        "same_verdicts": sum(a == b for a, b in right),
        "same_answers": sum(a[0] == b[0] for a, b in said),
    }


def _rounded(value: float) -> float:
    return round(float(value), 6) + 0.0
