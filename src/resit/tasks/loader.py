"""From names to tasks: catalogue entries, tags, groups, pairs, paths, `lm-eval:NAME`."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from resit import assets
from resit.errors import UsageError
from resit.tasks.dialect import task_config
from resit.tasks.documents import RowReader
from resit.tasks.files import LM_EVAL, SUFFIXES, Place, merged, read
from resit.tasks.functions import resolved
from resit.tasks.names import pairs
from resit.tasks.shelves import (
    CatalogueShelf,
    FolderShelf,
    PluginShelf,
    Shelf,
    is_group,
    lm_eval_shelf,
    tags_of,
)
from resit.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Group:
    """Tasks whose scores are also reported together."""

    name: str
    alias: str
    members: tuple[str, ...]
    """Names of its tasks and of the groups inside it."""
    aggregates: tuple[Mapping[str, Any], ...]
    """`aggregate_metric_list` as written: metric, aggregation, weight_by_size, filter_list."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What a list of names stands for."""

    tasks: tuple[Task, ...]
    groups: tuple[Group, ...]


def load(
    names: Sequence[str],
    *,
    include_path: Path | None = None,
    trust_task_code: bool = False,
    trust_model_code: bool = False,
    reader: RowReader = assets.rows,
) -> list[Task]:
    """The tasks that the names stand for, each once, in order. Raises UsageError for an unknown name."""
    selection = select(
        names,
        include_path=include_path,
        trust_task_code=trust_task_code,
        trust_model_code=trust_model_code,
        reader=reader,
    )
    return list(selection.tasks)


def select(
    names: Sequence[str],
    *,
    include_path: Path | None = None,
    trust_task_code: bool = False,
    trust_model_code: bool = False,
    reader: RowReader = assets.rows,
) -> Selection:
    """The tasks and groups that the names stand for. Raises UsageError for an unknown name."""
    if not names:
        raise UsageError("expected the name of a task, found none", "`resit tasks list` lists them")
    if include_path is not None and not include_path.is_dir():
        raise UsageError(f"--include_path: expected a folder, found {str(include_path)!r}")
    own: tuple[Shelf, ...] = (FolderShelf(Place(str(include_path))),) if include_path else ()
    desk = _Desk(trust_task_code, trust_model_code, reader)
    for name in names:
        desk.take(name, (*own, CatalogueShelf(), PluginShelf()))
    return Selection(tuple(desk.tasks.values()), tuple(desk.groups.values()))


@dataclass(slots=True)
class _Desk:
    """Collects the tasks and groups that names stand for."""

    trust: bool
    trust_model: bool
    reader: RowReader
    tasks: dict[str, Task] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)

    def take(self, name: str, shelves: tuple[Shelf, ...]) -> list[str]:
        """Load all that a name stands for; the names of what came of it."""
        if name in pairs():
            return [n for half in (pairs()[name].seen, pairs()[name].fresh) for n in self.take(half, shelves)]
        if name.startswith(LM_EVAL):
            return self._in_wheel(name.removeprefix(LM_EVAL), lm_eval_shelf())
        places = _paths(name)
        if places:
            return [n for place in places for n in self._file(place, shelves)]
        return self._found(name, shelves)

    def _in_wheel(self, name: str, wheel: FolderShelf) -> list[str]:
        if name.endswith(SUFFIXES):
            return self._file(wheel.root.beside(f"tasks/{name}"), (wheel,))
        return self._found(name, (wheel,))

    def _found(
        self, name: str, shelves: tuple[Shelf, ...], overrides: Mapping[str, Any] | None = None
    ) -> list[str]:
        for shelf in shelves:
            places = shelf.find(name)
            if places:
                return [n for place in places for n in self._file(place, shelves, overrides)]
        matching = [known for known in _known(shelves) if fnmatchcase(known, name)]
        if matching and any(sign in name for sign in "*?["):
            return [n for known in matching for n in self._found(known, shelves)]
        raise _unknown(name, shelves)

    def _file(
        self, place: Place, shelves: tuple[Shelf, ...], overrides: Mapping[str, Any] | None = None
    ) -> list[str]:
        keys = read(place)
        if is_group(keys):
            return [self._group(keys, place, shelves)]
        return [self._task({**keys, **(overrides or {})}, place)]

    def _task(self, keys: dict[str, Any], place: Place) -> str:
        if "class" in keys:
            raise UsageError(
                f"{place}: tasks written as a Python class are not supported", "see docs/tasks.md"
            )
        if "group" in keys:
            keys = {**keys, "tag": list(tags_of(keys))}
            del keys["group"]
        task = Task(task_config(resolved(keys, self.trust), place), str(place), self.reader, self.trust_model)
        task.rules  # noqa: B018  (a fault in the rules shows when the task loads, not after the generations)
        other = self.tasks.setdefault(task.name, task)
        if other.source != task.source or other.config != task.config:
            raise UsageError(f"two tasks are called {task.name!r}: {other.source} and {task.source}")
        return task.name

    def _group(self, keys: Mapping[str, Any], place: Place, shelves: tuple[Shelf, ...]) -> str:
        name, items = keys["group"], keys.get("task") or []
        if not isinstance(name, str) or not isinstance(items, list):
            raise UsageError(f"{place}: a group needs a name and a list of tasks, found {name!r}: {items!r}")
        members = [member for item in items for member in self._member(item, place, shelves)]
        aggregates = keys.get("aggregate_metric_list") or ()
        aggregates = (aggregates,) if isinstance(aggregates, Mapping) else tuple(aggregates)
        self.groups[name] = Group(name, keys.get("group_alias") or name, tuple(members), aggregates)
        return name

    def _member(self, item: Any, place: Place, shelves: tuple[Shelf, ...]) -> list[str]:
        if isinstance(item, str):
            return self._found(item, shelves)
        if not isinstance(item, Mapping):
            raise UsageError(f"{place}: expected a task's name or keys in the group, found {item!r}")
        keys = merged(place, item)
        if is_group(keys):
            return [self._group(keys, place, shelves)]
        if "dataset_path" in keys or "include" in item:
            return [self._task(keys, place)]
        name = keys.pop("task", None)
        if not isinstance(name, str):
            raise UsageError(f"{place}: a member of the group names no task: {dict(item)!r}")
        return self._found(name, shelves, keys)


def _paths(name: str) -> list[Place]:
    """The task files that a path names; empty for anything that is no path."""
    if os.path.isdir(name):
        return [Place(str(path)) for path in sorted(Path(name).glob("*.yaml"))]
    if not name.endswith(SUFFIXES):
        return []
    return [Place(path) for path in sorted(glob.glob(name))] or [Place(name)]


def _known(shelves: tuple[Shelf, ...]) -> Iterator[str]:
    yield from dict.fromkeys(name for shelf in shelves for name in shelf.names())


def _unknown(name: str, shelves: tuple[Shelf, ...]) -> UsageError:
    near = get_close_matches(name, list(_known(shelves)), n=3, cutoff=0.5)
    meant = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    return UsageError(
        f"there is no task, group or tag {name!r}.{meant}",
        "`resit tasks list` lists them; lm-eval:NAME reads one of lm-eval's; a path ends in .yaml",
    )
