"""Results of a run that is not scored yet, or not to its end: what the index has counted so far."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from resit.reports.results import score_interval
from resit.reports.viewer.index import Array
from resit.reports.viewer.sides import RuleSides, Sides
from resit.stats import standard_error

PREFERRED = "robust"


def provisional_results(sides: Sides, record: Mapping[str, Any]) -> dict[str, Any]:
    """The part of `results.json` that the page shows, over the samples that are on file.

    Each rule's score is the mean over questions; what the task's filters make of several samples together is
    for `resit score`.
    """
    names = dict.fromkeys([*_mapping(record.get("tasks")), *sides.snapshot.tasks])
    model = _mapping(record.get("model"))
    return {
        "results": {name: {} for name in names},
        "config": {"model_name": model.get("name")},
        "resit": {
            "version": record.get("resit"),
            "digest": record.get("digest"),
            "tasks": {name: _task(name, sides, record) for name in names},
        },
    }


def _task(name: str, sides: Sides, record: Mapping[str, Any]) -> dict[str, Any]:
    taken = sides.snapshot
    of_task = np.array([task == name for task in taken.tasks], bool)
    samples, errored = int(sides.samples[of_task].sum()), int(sides.errored[of_task].sum())
    questions = int((sides.samples[of_task] > 0).sum())
    plan = _mapping(_mapping(record.get("plan")).get(name))
    asked = _whole(plan.get("questions"), questions)
    planned = asked * _whole(plan.get("repeats"), 1) if plan else samples + errored
    rules = {rule: _rule(sides.rule(rule), of_task) for rule in taken.rules.get(name, ())}
    return {
        "headline": _headline(_mapping(record.get("tasks")).get(name), rules),
        "protocol": _mapping(_mapping(record.get("tasks")).get(name)).get("protocol"),
        "questions": {"planned": asked, "scored": questions},
        "samples": {
            "planned": planned,
            "scored": samples,
            "errored": errored,
            "missing": max(0, planned - samples - errored),
            "truncated": int(sides.truncated[of_task].sum()),
        },
        "rules": rules,
        "warnings": [],
    }


def _headline(about: Any, rules: Mapping[str, Any]) -> str:
    """What the task is quoted by, unless that is a vote, of which single samples say nothing yet."""
    recorded = _mapping(_mapping(about).get("rules"))
    headline = recorded.get("headline")
    rule = headline.partition(",")[2] if isinstance(headline, str) else ""
    voted = "majority_vote" in str(recorded.get("filters"))
    return str(headline) if rule in rules and not voted else f"exact_match,{preferred(rules)}"


def preferred(rules: Mapping[str, Any]) -> str:
    """The rule that is shown first where a task does not say."""
    return PREFERRED if PREFERRED in rules else next(iter(rules), "none")


def _rule(rule: RuleSides, of_task: Array) -> dict[str, Any]:
    judged = of_task & (rule.judged > 0)
    counts, right = rule.judged[judged], rule.right[judged]
    unread = int(rule.unread[judged].sum())
    if not len(counts):
        return {"questions": 0, "samples": 0, "unextracted": 0}
    means = (right / counts).tolist()
    return {
        "score": math.fsum(means) / len(means),
        "standard_error": standard_error(means) if len(means) > 1 else None,
        "questions": len(means),
        "samples": int(counts.sum()),
        "unextracted": unread,
        **score_interval(means, bool((counts == 1).all())),
    }


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _whole(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default
