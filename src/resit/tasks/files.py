"""Task files: where they lie (a folder or a wheel) and what YAML 1.1 makes of them."""

from __future__ import annotations

import functools
import os
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import yaml

from resit import yamls
from resit.errors import UsageError

SUFFIXES = (".yaml", ".yml")
LM_EVAL = "lm-eval:"
LM_EVAL_TASKS = "lm_eval/tasks"


@functools.lru_cache(maxsize=4)
def _archive(path: Path) -> ZipFile:
    return ZipFile(path)


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder on disk or in lm-eval's wheel; as text, a name that can be loaded."""

    path: str
    archive: Path | None = None

    def __str__(self) -> str:
        return LM_EVAL + self.path.removeprefix(f"{LM_EVAL_TASKS}/") if self.archive else self.path

    @property
    def name(self) -> str:
        """The last part of the path."""
        return posixpath.basename(self.path) if self.archive else os.path.basename(self.path)

    def beside(self, name: str) -> Place:
        """The file that `name`, relative to this file's folder, or absolute, stands for."""
        if self.archive:
            return Place(posixpath.normpath(posixpath.join(posixpath.dirname(self.path), name)), self.archive)
        return Place(os.path.normpath(os.path.join(os.path.dirname(self.path), name)))

    def exists(self) -> bool:
        """Whether there is such a file."""
        if self.archive:
            return self.path in _archive(self.archive).NameToInfo
        return os.path.isfile(self.path)

    def read(self) -> bytes:
        """The file's bytes. Raises UsageError when it cannot be read."""
        try:
            return _archive(self.archive).read(self.path) if self.archive else Path(self.path).read_bytes()
        except (OSError, KeyError) as error:
            reason = getattr(error, "strerror", None) or "no such file"
            raise UsageError(f"cannot read the task file {self}: {reason}") from None

    def files(self) -> Iterator[Place]:
        """Every file below this folder, sorted by path."""
        if self.archive:
            prefix = self.path.rstrip("/") + "/"
            names = (n for n in _archive(self.archive).namelist() if n.startswith(prefix))
            yield from (Place(name, self.archive) for name in sorted(names) if not name.endswith("/"))
        else:
            yield from (Place(str(path)) for path in sorted(Path(self.path).rglob("*")) if path.is_file())


@dataclass(frozen=True, slots=True)
class FunctionTag:
    """`!function module.name`, not looked up yet, and the file that says so."""

    name: str
    place: Place


class _Loader(yamls.Loader):
    """With lm-eval's `!function` tag."""


_Loader.add_constructor("!function", lambda loader, node: FunctionTag(node.value, Place("")))


def parse(place: Place) -> dict[str, Any]:
    """The file's mapping, without what it includes. Raises UsageError for anything but a YAML mapping."""
    try:
        value = yamls.load(place.read(), _Loader)
    except yaml.YAMLError as error:
        raise UsageError(f"{place}: not valid YAML: {yamls.problem(error)}") from None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise UsageError(f"{place}: expected a YAML mapping of task keys, found {type(value).__name__}")
    return {key: _located(item, place) for key, item in value.items()}


def _located(value: Any, place: Place) -> Any:
    """The value with every function tag told the file that it stands in."""
    if isinstance(value, FunctionTag):
        return FunctionTag(value.name, place)
    if isinstance(value, dict):
        return {key: _located(item, place) for key, item in value.items()}
    return [_located(item, place) for item in value] if isinstance(value, list) else value


def included(place: Place, own: Mapping[str, Any]) -> list[Place]:
    """The files that a mapping's `include` names, relative to `place`."""
    names = own.get("include") or []
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UsageError(f"{place}: include must be a file name or a list of them, found {names!r}")
    return [place.beside(name) for name in names]


def read(place: Place, above: tuple[Place, ...] = ()) -> dict[str, Any]:
    """The file's mapping with its includes: later includes replace earlier ones, its own keys all of them."""
    if place in above:
        chain = " -> ".join(p.name for p in (*above[above.index(place) :], place))
        raise UsageError(f"{place} includes itself: {chain}", "remove one of these include lines")
    return merged(place, parse(place), above)


def merged(place: Place, own: Mapping[str, Any], above: tuple[Place, ...] = ()) -> dict[str, Any]:
    """A mapping that stands in `place`, laid over what it includes, key by key (a shallow update).

    Only below Resit's own key `resit` the includes' keys stay where they are not replaced one by one.
    """
    whole: dict[str, Any] = {}
    for layer in (*(read(source, (*above, place)) for source in included(place, own)), own):
        whole |= {**layer, **_resit_keys(whole, layer)}
    whole.pop("include", None)
    return whole


def _resit_keys(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    old, new = below.get("resit"), above.get("resit")
    return {"resit": old | new} if isinstance(old, dict) and isinstance(new, dict) else {}
