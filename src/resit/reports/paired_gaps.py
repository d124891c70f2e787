"""The gap between originals and their variants, paired by what they descend from."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import replace
from pathlib import Path

from resit import jsonl
from resit.errors import UsageError
from resit.reports.claims import TaskScores, read_task
from resit.reports.gaps import Gap, checked, gap_of_scores
from resit.stats import Difference, Equivalence, normal_quantile, paired_difference, tost

FILE = "prompts.jsonl"


def paired_gap_of_runs(
    seen: Path,
    fresh: Path,
    by: str,
    seen_task: str | None = None,
    fresh_task: str | None = None,
    *,
    rule: str = "robust",
    confidence: float = 0.95,
    margin: float | None = None,
    across_protocols: bool = False,
) -> Gap:
    """The gap over groups of questions that share a field of their documents, such as `template`.

    A group's score on a side is the mean over its questions; the groups are the pairs. Raises as
    `gap_of_runs`, and UsageError where no question has the field or no group is on both sides.
    """
    one, two = read_task(seen, seen_task, rule), read_task(fresh, fresh_task, rule)
    plain = gap_of_scores(one, two, confidence=confidence, across_protocols=across_protocols)
    first, second = _group_means(one, seen, by), _group_means(two, fresh, by)
    shared = [group for group in first if group in second]
    if len(shared) < 2:
        raise UsageError(
            f"{one.task} of {seen} and {two.task} of {fresh} share {len(shared)} values of {by!r}; "
            "a paired gap needs at least two",
            "both runs must ask the same templates, as gsm_template_originals and gsm_template_variants do",
        )
    a, b = [first[group] for group in shared], [second[group] for group in shared]
    result = checked(lambda: paired_difference(a, b, confidence))
    return replace(
        plain,
        seen_score=math.fsum(a) / len(a),
        fresh_score=math.fsum(b) / len(b),
        result=result,
        equivalence=_equivalence(result, margin) if margin is not None else None,
        paired_by=by,
        unpaired_groups=len(first.keys() ^ second.keys()),
    )


def _equivalence(result: Difference, margin: float) -> Equivalence:
    """Two one-sided t tests on the pairs; where all pairs differ alike, on the error behind the interval."""
    error = result.standard_error or (result.ci_high - result.ci_low) / (
        2 * normal_quantile(result.confidence)
    )
    return checked(lambda: tost(result.difference, error, margin, degrees=result.n_first - 1))


def _group_means(scores: TaskScores, run: Path, by: str) -> Mapping[Hashable, float]:
    """By the field's value, the mean over its questions of their mean scores."""
    values = _field(run, scores.task, by)
    groups: dict[Hashable, list[float]] = defaultdict(list)
    for doc_hash, question in scores.questions.items():
        if doc_hash in values:
            groups[values[doc_hash]].append(question.mean)
    if not groups:
        raise UsageError(f"no question of {scores.task} in {run} has a field {by!r}")
    return {group: math.fsum(means) / len(means) for group, means in groups.items()}


def _field(run: Path, task: str, name: str) -> Mapping[str, Hashable]:
    """By document hash, a field of the task's documents, as `prompts.jsonl` keeps them."""
    path = run / FILE
    if not path.exists():
        raise UsageError(f"{run} has no {FILE}, which keeps the fields", "run it, or import it again")
    found: dict[str, Hashable] = {}
    for line in jsonl.read(path):
        value = line.value or {}
        fields = value.get("doc")
        if value.get("task") == task and isinstance(fields, dict) and name in fields:
            found[str(value.get("doc_hash"))] = str(fields[name])
    return found
