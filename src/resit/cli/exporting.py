"""Plugs a run's folder, its grading and a shape of output together."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

from resit import jsonl
from resit.cli.lots import graded_task
from resit.errors import UsageError
from resit.grading.scoring import WITHOUT_FILTERS
from resit.records import ScoringRules
from resit.reports.exports.lm_eval import (
    Samples,
    file_time,
    lm_eval_results,
    lm_eval_settings,
    write_samples,
)
from resit.reports.exports.parquet import write_parquet
from resit.reports.exports.rows import write_jsonl
from resit.reports.graded import Graded
from resit.reports.results import TaskTally, build_results
from resit.reports.warnings import WarningTally
from resit.runs.folder import RunFolder

Export = Callable[[RunFolder, Mapping[str, ScoringRules], Path], list[Path]]


def export_run(folder: RunFolder, rules: Mapping[str, ScoringRules], shape: str, target: Path) -> list[Path]:
    """Write the run's tasks in a shape into a folder; the files written, in order. Raises UsageError."""
    if shape not in SHAPES:
        raise UsageError(f"--format: expected {', '.join(SHAPES)}, found {shape!r}")
    jsonl.make_folder(target)
    return SHAPES[shape](folder, rules, target)


def _lm_eval(folder: RunFolder, rules: Mapping[str, ScoringRules], target: Path) -> list[Path]:
    record = folder.record() or {}
    time, tallies, suspicions, samples = file_time(record["created"]), {}, {}, {}
    for task, task_rules in rules.items():
        tallies[task], suspicions[task] = TaskTally(), WarningTally()
        filters = _filter_names(task_rules)
        items = _counted(graded_task(folder, task, task_rules), tallies[task], suspicions[task])
        path = target / f"samples_{file_stem(task)}_{time}.jsonl"
        samples[task] = write_samples(path, items, filters, _settings(record, task))
        _tell_left_out(task, samples[task])
    results = lm_eval_results(record, build_results(record, tallies, rules, suspicions), samples)
    path = target / f"results_{time}.json"
    text = json.dumps(results, ensure_ascii=False, indent=2)
    jsonl.write_atomic(path, text.encode("utf-8", "backslashreplace"))
    return [path, *(written.path for written in samples.values())]


def file_stem(task: str) -> str:
    """The task's name as a part of a file name; what leads elsewhere becomes `__`, as lm-eval does it."""
    return re.sub(r'["<>:/|\\?*\[\]]+', "__", task)


def _counted(items: Iterable[Graded], tally: TaskTally, suspicions: WarningTally) -> Iterator[Graded]:
    for item in items:
        tally.add(item.score)
        suspicions.add(item)
        yield item


def _settings(record: Mapping[str, Any], task: str) -> dict[str, Any]:
    """How the task's texts were generated; empty where that is unknown, as for an import."""
    protocol = record["tasks"][task].get("protocol") or {}
    sampling = record["identity"]["tasks"][task].get("sampling") or protocol.get("sampling")
    return lm_eval_settings(sampling) if sampling else dict(_told(protocol.get("generated_with")))


def _told(settings: Any) -> Mapping[str, Any]:
    return settings if isinstance(settings, Mapping) else {}


def _tell_left_out(task: str, samples: Samples) -> None:
    if samples.left_out:
        typer.echo(f"{task}: {samples.left_out} questions without a measured sample are left out", err=True)


def _jsonl(folder: RunFolder, rules: Mapping[str, ScoringRules], target: Path) -> list[Path]:
    return [
        write_jsonl(target / f"{file_stem(task)}.jsonl", graded_task(folder, task, r))
        for task, r in rules.items()
    ]


def _parquet(folder: RunFolder, rules: Mapping[str, ScoringRules], target: Path) -> list[Path]:
    return [
        write_parquet(target / f"{file_stem(task)}.parquet", graded_task(folder, task, r), _verdict_names(r))
        for task, r in rules.items()
    ]


def _filter_names(rules: ScoringRules) -> list[str]:
    return [chain.name for chain in rules.filters] or [WITHOUT_FILTERS.name]


def _verdict_names(rules: ScoringRules) -> list[str]:
    return [*_filter_names(rules), *rules.named]


SHAPES: dict[str, Export] = {"lm-eval": _lm_eval, "jsonl": _jsonl, "parquet": _parquet}
