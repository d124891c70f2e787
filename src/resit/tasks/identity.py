"""What a task asks, as plain JSON: for the run's identity, and for what the halves of a pair must share."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from resit.differences import differences
from resit.errors import UsageError
from resit.tasks.documents import rows_sha256
from resit.tasks.functions import Function

if TYPE_CHECKING:
    from resit.tasks.task import Task

RENDERING = (
    "doc_to_text",
    "doc_to_target",
    "doc_to_choice",
    "gen_prefix",
    "fewshot_delimiter",
    "target_delimiter",
)


def task_identity(task: Task) -> dict[str, Any]:
    """The task's content by field: data set, frame, exemplars, generation settings, repeats."""
    return {"dataset": _dataset(task), **_asked(task)}


def _dataset(task: Task) -> dict[str, Any]:
    config = task.config
    rows = [document.fields for document in task.documents()]
    return {
        "dataset_path": config.dataset_path,
        "dataset_name": config.dataset_name,
        "dataset_kwargs": config.dataset_kwargs,
        "split": config.asked_split,
        "process_docs": _plain(config.process_docs),
        "rows": len(rows),
        "sha256": rows_sha256(rows),
    }


def _asked(task: Task) -> dict[str, Any]:
    config = task.config
    return {
        "description": _plain(config.description),
        **{key: _plain(getattr(config, key)) for key in RENDERING},
        "chat": config.resit.chat,
        "num_fewshot": config.num_fewshot,
        "exemplars": _exemplars(task) if config.num_fewshot else None,
        "generation_kwargs": config.generation_kwargs,
        "repeats": config.repeats,
    }


def _exemplars(task: Task) -> dict[str, Any]:
    pool, keys = task.exemplars, task.config.fewshot_config
    overrides = {key: getattr(keys, key) for key in RENDERING if getattr(keys, key) is not None}
    return {
        "source": dict(pool.source),
        "sampler": _plain(keys.sampler),
        "document_kept_out": pool.holds_documents,
        "sha256": pool.sha256,
        **{key: _plain(value) for key, value in overrides.items()},
    }


def _plain(value: Any) -> Any:
    return f"!function {value.name} sha256:{value.sha256}" if isinstance(value, Function) else value


def protocol(task: Task) -> dict[str, Any]:
    """What the two halves of a pair must share: frame, exemplars, settings, rules and headline metric."""
    rules = task.rules
    return {
        **_asked(task),
        **({"calculator": True} if task.config.resit.calculator else {}),
        "filters": {
            chain.name: [[s.function, dict(s.kwargs)] for s in chain.steps] for chain in rules.filters
        },
        "metrics": {metric.name: [dict(metric.kwargs), metric.aggregation] for metric in rules.metrics},
        "headline": rules.headline,
        "rules": list(rules.named),
        "options": dict(task.config.resit.options),
    }


def protocol_digest(task: Task) -> str:
    """sha256 of the task's protocol; equal for the two halves of a pair."""
    text = json.dumps(protocol(task), sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def check_pair(first: Task, second: Task) -> str:
    """The protocol digest that both tasks share. Raises UsageError naming every field that differs."""
    found = list(differences(protocol(first), protocol(second)))
    if found:
        listed = "; ".join(f"{path}: {ours} against {theirs}" for path, ours, theirs in found)
        raise UsageError(
            f"{first.name} and {second.name} are no pair: they differ in more than their questions. {listed}",
            "the pairs that differ in nothing else are listed by `resit tasks list`",
        )
    return protocol_digest(first)
