"""What scoring again changed: scores before and after, and the verdicts that flipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from resit.errors import UsageError
from resit.records import SampleScore
from resit.reports.results import read_results
from resit.reports.scores import read_scores

_SHOWN = 5
"""Flipped samples that a line names."""

Verdicts: TypeAlias = tuple[tuple[str, float], ...]
"""Rule and value of each verdict on a sample."""


@dataclass(frozen=True, slots=True)
class Before:
    """The scores that a run had: what its derived files said."""

    results: Mapping[str, Any]
    samples: Mapping[tuple[str, str, int], Verdicts]
    """By task, document and repeat."""


@dataclass(slots=True)
class Flips:
    """The verdicts of one rule that are others now."""

    to_right: int = 0
    to_wrong: int = 0
    first: list[tuple[int, int]] = field(default_factory=list)
    """(doc_id, repeat) of the first few."""

    def add(self, sample: SampleScore, before: float, now: float) -> None:
        """Count a verdict that may have flipped."""
        if (before > 0) == (now > 0):
            return
        self.to_right += now > 0
        self.to_wrong += before > 0
        if len(self.first) < _SHOWN:
            self.first.append((sample.doc_id, sample.repeat))


@dataclass(slots=True)
class TaskChanges:
    """What changed in one task."""

    new: int = 0
    gone: int = 0
    rules: dict[str, Flips] = field(default_factory=dict)


def scores_before(run: Path) -> Before | None:
    """The run's scores as its files have them now; None where there are none, or none that can be read."""
    patterns: dict[Verdicts, Verdicts] = {}
    try:
        results = read_results(run)
        samples = {}
        for sample in read_scores(run):
            verdicts = tuple((rule, verdict.correct) for rule, verdict in sample.verdicts.items())
            # few patterns, many samples: each pattern is kept once
            key = (sample.task, sample.doc_hash, sample.repeat)
            samples[key] = patterns.setdefault(verdicts, verdicts)
    except UsageError:
        return None
    return Before(results, samples)


def changes_since(before: Before, run: Path) -> dict[str, TaskChanges]:
    """By task that is scored now, what differs from before, sample by sample."""
    found: dict[str, TaskChanges] = {}
    known: dict[str, int] = {}
    for sample in read_scores(run):
        task = found.setdefault(sample.task, TaskChanges())
        verdicts = before.samples.get((sample.task, sample.doc_hash, sample.repeat))
        if verdicts is None:
            task.new += 1
            continue
        known[sample.task] = known.get(sample.task, 0) + 1
        for rule, value in verdicts:
            if rule in sample.verdicts:
                task.rules.setdefault(rule, Flips()).add(sample, value, sample.verdicts[rule].correct)
    for name, _, _ in before.samples:
        if name in found:
            found[name].gone += 1
    for name, task_changes in found.items():
        task_changes.gone -= known.get(name, 0)
    return found


def change_lines(
    before: Before, results: Mapping[str, Any], found: Mapping[str, TaskChanges]
) -> Iterator[str]:
    """The changes in sentences: samples that are new or gone, then each score that is another now."""
    lines = [line for task, changes in found.items() for line in _task_lines(task, before, results, changes)]
    yield from lines or ["nothing changed against the scores before"]


def _task_lines(task: str, before: Before, results: Mapping[str, Any], changes: TaskChanges) -> Iterator[str]:
    for count, what in ((changes.new, "new"), (changes.gone, "gone")):
        if count:
            yield f"{task}: {count} samples are {what}"
    old, new = _scores(before.results, task), _scores(results, task)
    for rule in [*new, *(rule for rule in old if rule not in new)]:
        flips = changes.rules.get(rule.removeprefix("exact_match,"), Flips())
        if rule not in old or rule not in new:
            yield f"{task}, {rule}: {'new' if rule in new else 'no longer scored'}"
        elif old[rule] != new[rule] or flips.first:
            yield f"{task}, {rule}: {old[rule]:.4f} -> {new[rule]:.4f}{_flipped(flips)}"


def _scores(results: Mapping[str, Any], task: str) -> dict[str, float]:
    """Every score of a task: of its metrics, and of the rules beside them."""
    metrics = {
        key: value
        for key, value in results.get("results", {}).get(task, {}).items()
        if "," in key and "_stderr," not in key and isinstance(value, int | float)
    }
    rules = results.get("resit", {}).get("tasks", {}).get(task, {}).get("rules", {})
    beside = {
        name: rule["score"]
        for name, rule in rules.items()
        if not any(k.endswith(f",{name}") for k in metrics)
    }
    return {**metrics, **beside}


def _flipped(flips: Flips) -> str:
    if not flips.first:
        return ""
    named = ", ".join(f"{doc_id}/{repeat}" for doc_id, repeat in flips.first)
    more = ", …" if flips.to_right + flips.to_wrong > len(flips.first) else ""
    return f" ({flips.to_right} verdicts turned right, {flips.to_wrong} wrong; document/repeat {named}{more})"
