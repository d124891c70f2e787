"""`run.json`: what a run is, and what describes it."""

from __future__ import annotations

import contextlib
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

import resit
from resit.runs.identity import digest
from resit.runs.plan import Plan

_EXPLAINING = ("xllamacpp", "torch", "transformers", "vllm", "aiohttp", "reasoning-gym")
"""Packages whose version may explain a difference between two machines."""


def run_record(
    plan: Plan, identity: Mapping[str, Any], before: Mapping[str, Any], about: Mapping[str, Any]
) -> dict[str, Any]:
    """The content of `run.json`; a run that grows keeps the tasks and sizes it had before."""
    tasks = {**before.get("identity", {}).get("tasks", {}), **identity["tasks"]}
    whole = {**identity, "tasks": tasks}
    merged = {
        key: {**before.get(key, {}), **value} if isinstance(value, Mapping) else value
        for key, value in about.items()
    }
    if plan.shard is not None:
        sizes = {**before.get("shard", {}).get("questions", {})}
        for task in plan.tasks:
            sizes[task.task.name] = max(task.planned, sizes.get(task.task.name, 0))
        merged = {**merged, "shard": {**asdict(plan.shard), "questions": sizes}}
    return record_of(whole, _grown(plan, before.get("plan", {})), merged, before.get("created"))


def record_of(
    identity: Mapping[str, Any],
    sizes: Mapping[str, Any],
    about: Mapping[str, Any],
    created: str | None = None,
) -> dict[str, Any]:
    """The content of `run.json` from its parts; `sizes` is the `plan`: by task, what was asked of it."""
    return {
        "resit": resit.__version__,
        "created": created or datetime.now(UTC).isoformat(timespec="seconds"),
        "digest": digest(identity),
        "identity": dict(identity),
        "plan": dict(sizes),
        **about,
        "environment": _environment(),
    }


def _grown(plan: Plan, before: Mapping[str, Any]) -> dict[str, Any]:
    asked = dict(before)
    for task in plan.tasks:
        old = asked.get(task.task.name, {})
        asked[task.task.name] = {
            "documents": task.documents,
            "questions": max(task.asked, old.get("questions", 0)),
            "repeats": max(task.repeats, old.get("repeats", 0)),
        }
    return asked


def _environment() -> dict[str, Any]:
    versions = {}
    for name in _EXPLAINING:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return {"python": sys.version.split()[0], "platform": platform.platform(), "packages": versions}
