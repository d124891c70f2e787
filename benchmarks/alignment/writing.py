"""Writes records of alignment: one file a task, one entry for each thing that was measured."""

from __future__ import annotations

import datetime
import importlib.metadata
from typing import Any

import yaml

import resit
from resit import assets
from resit.tasks.aligned import FOLDER, records

HEAD = "# Written by `python -m benchmarks.alignment`; docs/alignment.md says what stands here.\n"
NAMES = ("kind", "reference", "model", "responses", "twin", "vectors")
"""What a record is of; the same again replaces it."""


def write(task: str, record: dict[str, Any]) -> None:
    """Put a record into the task's file, in place of the one that is of the same."""
    file = FOLDER / f"{task}.yaml"
    FOLDER.mkdir(exist_ok=True)
    before = yaml.safe_load(file.read_text(encoding="utf-8"))["records"] if file.exists() else []
    kept = [other for other in before if _name(other) != _name(record)]
    records = sorted([*kept, record], key=_name)
    text = yaml.safe_dump({"task": task, "records": records}, sort_keys=False, allow_unicode=True, width=110)
    file.write_text(HEAD + text, encoding="utf-8")


def _name(record: dict[str, Any]) -> str:
    """What the record is of; the engine is how that was measured."""
    model = {key: value for key, value in (record.get("model") or {}).items() if key != "engine"}
    return repr([record.get(key) if key != "model" else model for key in NAMES])


def made(command: str) -> dict[str, str]:
    """When and how a record was made."""
    return {"resit": resit.__version__, "date": datetime.date.today().isoformat(), "command": command}


def installed(package: str) -> str:
    """The version of a package of this environment."""
    return importlib.metadata.version(package)


def lm_eval_reference(version: str) -> dict[str, str]:
    """lm-eval as a record names it: the wheel is pinned where the catalogue pins it."""
    wheel = assets.asset("lm-eval").files["lm_eval-0.4.13-py3-none-any.whl"]
    pinned = {"sha256": str(wheel.sha256)} if version == "0.4.13" else {}
    return {"implementation": "EleutherAI/lm-evaluation-harness", "version": version, **pinned}


def first_reference(task: str) -> dict[str, str]:
    """What a task's first record was measured against. LookupError where it has none."""
    found = records(task)
    if not found:
        raise LookupError(f"{task} has no record of its own yet: measure it first")
    return found[0].reference.model_dump(exclude_defaults=True)
