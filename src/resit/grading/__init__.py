"""Text to verdicts: lm-eval's filters and metrics, and the named rules. Needs no model and no network."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from resit.grading.differences import count_kinds, disagreements
    from resit.grading.rules import RULES, Policy, find_rule, grade, grade_many, make_policy
    from resit.grading.scoring import score_question, score_task, scorer

__all__ = [
    "RULES",
    "Policy",
    "count_kinds",
    "disagreements",
    "find_rule",
    "grade",
    "grade_many",
    "make_policy",
    "score_question",
    "score_task",
    "scorer",
]

_HOMES = dict.fromkeys(__all__, "rules") | {
    "count_kinds": "differences",
    "disagreements": "differences",
    "score_question": "scoring",
    "score_task": "scoring",
    "scorer": "scoring",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
