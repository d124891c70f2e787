"""Where tasks are looked up by name: the catalogue, a folder of the user's, lm-eval's wheel."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Protocol

from resit import plugins
from resit.errors import UsageError
from resit.tasks.files import LM_EVAL_TASKS, SUFFIXES, Place, included, parse, read
from resit.tasks.names import CATALOGUE, index, tags

ONE_INCLUDE = re.compile(rb"""(?m)^include:[ \t]+["']?([^\s"'\[#&*!|>]+)["']?[ \t]*(?:#.*)?$""")


class Shelf(Protocol):
    """A place where a name of a task, group or tag stands for task files."""

    def find(self, name: str) -> list[Place]:
        """The file of the task or group, or those of the tag's tasks; empty when there is none."""
        ...

    def names(self) -> Iterable[str]:
        """Every name that can be asked for, as far as it is cheap to know."""
        ...


class CatalogueShelf:
    """Resit's own tasks, by index: only the file asked for is opened."""

    def find(self, name: str) -> list[Place]:
        """The file of a task or group of the catalogue, or those of a tag."""
        members = (name,) if name in index() else tags().get(name, ())
        return [Place(str(CATALOGUE / index()[member].file)) for member in members]

    def names(self) -> Iterable[str]:
        """Tasks, groups and tags of the catalogue."""
        return [*index(), *tags()]


@dataclass(frozen=True, slots=True)
class FolderShelf:
    """Task files below a folder, or in an archive; only files that mention the name are parsed."""

    root: Place

    def find(self, name: str) -> list[Place]:
        """The file that declares the task or group, or those of the tag's tasks, includes followed."""
        for place in filter(partial(_is_called, name), self._files()):
            if name in declared(parse(place)):
                return [place]
        mentions = [place for place in self._files() if name.encode() in place.read()]
        for place in mentions:
            if place.name.endswith(SUFFIXES) and name in declared(parse(place)):
                return [place]
        return self._tagged(name, mentions)

    def names(self) -> Iterable[str]:
        """Tasks and groups of a folder; of an archive with its thousands of files, none."""
        if self.root.archive:
            return []
        return [name for place in self._files() for name in (*declared(parse(place)), *tags_of(read(place)))]

    def _files(self) -> Iterable[Place]:
        return _archived(self.root) if self.root.archive else _task_files(self.root)

    def _tagged(self, tag: str, mentions: list[Place]) -> list[Place]:
        """Files whose `tag` says so, itself or by an include, at any depth."""
        found = {place: None for place in mentions if _is_mapping(place) and tag in tags_of(parse(place))}
        todo = list(found)
        includers = _includers(self._files()) if found else {}
        while todo:
            for place in includers.get(todo.pop(), ()):
                if place not in found and tag in tags_of(read(place)):
                    found[place] = None
                    todo.append(place)
        tasks = {str(parse(place)["task"]): place for place in found if "task" in parse(place)}
        return [tasks[name] for name in sorted(tasks)]


class PluginShelf:
    """Tasks that other installed packages add: their folders, in the order of the entry points' names."""

    def find(self, name: str) -> list[Place]:
        """The files of the first package that has the name."""
        return next((found for shelf in self._shelves() if (found := shelf.find(name))), [])

    def names(self) -> Iterable[str]:
        """Tasks, groups and tags of all packages."""
        return [name for shelf in self._shelves() for name in shelf.names()]

    def _shelves(self) -> list[FolderShelf]:
        return [FolderShelf(Place(str(folder))) for folder in plugins.folders("resit.tasks")]


def _task_files(root: Place) -> tuple[Place, ...]:
    return tuple(p for p in root.files() if p.name.endswith(SUFFIXES) or "." not in p.name)


_archived = cache(_task_files)
"""An archive does not change."""


def _includers(places: Iterable[Place]) -> dict[Place, list[Place]]:
    """By included file, the files that name it; those that say it on one line are not parsed."""
    found: dict[Place, list[Place]] = {}
    for place in places:
        for base in _includes(place):
            found.setdefault(base, []).append(place)
    return found


def _includes(place: Place) -> list[Place]:
    text = place.read()
    said = ONE_INCLUDE.search(text)
    if said:
        return [place.beside(said[1].decode(errors="replace"))]
    return included(place, parse(place)) if b"include:" in text and _is_mapping(place) else []


def _is_called(name: str, place: Place) -> bool:
    """Whether a file has the name of its task, as most have; such a file is looked at first."""
    stem, dot, _ = place.name.rpartition(".")
    return bool(dot) and stem.replace("-", "_") == name.replace("-", "_")


def _is_mapping(place: Place) -> bool:
    try:
        parse(place)
    except UsageError:
        return False
    return True


def declared(keys: Mapping[str, Any]) -> tuple[str, ...]:
    """The name that a file's own keys declare: its group's, or else its task's."""
    name = keys.get("group") if is_group(keys) else keys.get("task")
    return (name,) if isinstance(name, str) else ()


def is_group(keys: Mapping[str, Any]) -> bool:
    """Whether keys describe a group; a `group` list beside one `task` name is an old spelling of `tag`."""
    return "group" in keys and not isinstance(keys.get("task"), str)


def tags_of(keys: Mapping[str, Any]) -> tuple[str, ...]:
    """The tags of a task's keys, in either spelling."""
    found: list[str] = []
    for value in (keys.get("tag"), keys.get("group") if not is_group(keys) else None):
        found += [value] if isinstance(value, str) else (value or [])
    return tuple(found)


def lm_eval_shelf() -> FolderShelf:
    """The tasks of the pinned lm-eval wheel, read from the wheel itself."""
    from resit import assets

    wheel = assets.asset("lm-eval").archive
    return FolderShelf(Place(LM_EVAL_TASKS, assets.fetch("lm-eval", wheel)))
