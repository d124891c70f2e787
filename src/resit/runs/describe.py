"""What `run.json` tells of a run beside its identity: enough to score it without the task files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from resit.models.secrecy import secret_names
from resit.runs.identity import digest, normalised
from resit.runs.plan import Plan
from resit.runs.rules import rules_to
from resit.runs.secrets import without_logins
from resit.tasks import Group, Task


def about_run(
    plan: Plan, kind: str, name: str, args: Mapping[str, Any], groups: Sequence[Group] = ()
) -> dict[str, Any]:
    """The describing part of `run.json`; arguments that look like secrets are left out."""
    protocols = plan.protocols()
    hidden = secret_names(args)
    shown = without_logins({key: value for key, value in args.items() if key not in hidden})
    return {
        "model": {"kind": kind, "name": name, "args": normalised(shown)},
        "tasks": {task.task.name: about_task(task.task, protocols[task.task.name]) for task in plan.tasks},
        "groups": {group.name: _about_group(group) for group in groups},
    }


def _about_group(group: Group) -> dict[str, Any]:
    about = {"alias": group.alias, "members": group.members, "aggregates": group.aggregates}
    return dict(normalised(about))


def about_task(task: Task, protocol: Mapping[str, Any]) -> dict[str, Any]:
    """What `run.json` tells of one task: its file as loaded, its protocol, and its rules as they were."""
    config = task.config
    return {
        "alias": config.task_alias or config.task,
        "version": (config.metadata or {}).get("version"),
        "num_fewshot": config.num_fewshot or 0,
        "source": task.source,
        "config": config.model_dump(mode="json", exclude_defaults=True, exclude={"resit"}, fallback=str),
        "protocol": dict(protocol),
        "protocol_digest": digest(protocol),
        "rules": rules_to(task.rules),
    }
