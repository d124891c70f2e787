"""What scoring again changed: scores before and after, and the verdicts that flipped."""

from __future__ import annotations

import contextlib
import filecmp
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from resit import jsonl
from resit.errors import UsageError
from resit.reports.results import read_results
from resit.reports.scores import FILE

_SHOWN = 5
"""Flipped samples that a line names."""

Key: TypeAlias = tuple[str, str, int]
"""A sample: task, document by content, repeat."""
Verdicts: TypeAlias = tuple[tuple[str, float], ...]
"""Rule and value of each verdict on a sample."""


@dataclass(frozen=True, slots=True)
class Before:
    """The scores that a run had: what its derived files said."""

    results: Mapping[str, Any]
    scores: Path
    """What `scores.jsonl` was."""


@dataclass(slots=True)
class Flips:
    """The verdicts of one rule that are others now."""

    to_right: int = 0
    to_wrong: int = 0
    first: list[tuple[int, int]] = field(default_factory=list)
    """(doc_id, repeat) of the first few."""

    def add(self, sample: tuple[int, int], before: float, now: float) -> None:
        """Count a verdict that may have flipped."""
        if (before > 0) == (now > 0):
            return
        self.to_right += now > 0
        self.to_wrong += before > 0
        if len(self.first) < _SHOWN:
            self.first.append(sample)


@dataclass(slots=True)
class TaskChanges:
    """What changed in one task."""

    new: int = 0
    gone: int = 0
    rules: dict[str, Flips] = field(default_factory=dict)

    def compare(self, sample: tuple[int, int], before: Mapping[str, float], now: Verdicts) -> None:
        """Count the verdicts on a sample, (doc_id, repeat), that flipped."""
        for rule, value in now:
            if rule in before:
                self.rules.setdefault(rule, Flips()).add(sample, before[rule], value)


@contextlib.contextmanager
def scores_kept(run: Path) -> Iterator[Before | None]:
    """The run's scores as its files have them now, kept for the block; None where it has none."""
    kept = run / f".{FILE}.{os.getpid()}.before"
    try:
        results = read_results(run)
        shutil.copyfile(run / FILE, kept)
    except (UsageError, OSError):
        jsonl.discard(kept)
        yield None
        return
    try:
        yield Before(results, kept)
    finally:
        jsonl.discard(kept)


def changes_since(before: Before, run: Path) -> dict[str, TaskChanges]:
    """By task that is scored now, what differs from before, sample by sample; nothing where all is the same.

    Raises UsageError where the scores before are damaged.
    """
    if filecmp.cmp(before.scores, run / FILE, shallow=False):
        return {}
    patterns: dict[Verdicts, Verdicts] = {}
    old_scores = {key: patterns.setdefault(v, v) for key, _, v in _lines(before.scores)}  # few patterns
    found: dict[str, TaskChanges] = {}
    known: Counter[str] = Counter()
    for key, doc_id, verdicts in _lines(run / FILE):
        task = found.setdefault(key[0], TaskChanges())
        old = old_scores.get(key)
        if old is None:
            task.new += 1
            continue
        known[key[0]] += 1
        if old != verdicts:
            task.compare((doc_id, key[2]), dict(old), verdicts)
    total = Counter(name for name, _, _ in old_scores)
    for name, changes in found.items():
        changes.gone = total[name] - known[name]
    return found


def _lines(scores: Path) -> Iterator[tuple[Key, int, Verdicts]]:
    """Key, doc_id and verdicts of each line of a `scores.jsonl`, without making records of them."""
    for line in jsonl.read(scores):
        value = line.value or {}
        try:
            verdicts = tuple((rule, verdict["correct"]) for rule, verdict in value["verdicts"].items())
            yield (value["task"], value["doc_hash"], value["repeat"]), value["doc_id"], verdicts
        except (KeyError, TypeError, AttributeError):
            raise UsageError(f"the scores before were damaged in line {line.number}") from None


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
        if "score" in rule and not any(k.endswith(f",{name}") for k in metrics)
    }
    return {**metrics, **beside}


def _flipped(flips: Flips) -> str:
    if not flips.first:
        return ""
    named = ", ".join(f"{doc_id}/{repeat}" for doc_id, repeat in flips.first)
    more = ", …" if flips.to_right + flips.to_wrong > len(flips.first) else ""
    return f" ({flips.to_right} verdicts turned right, {flips.to_wrong} wrong; document/repeat {named}{more})"
