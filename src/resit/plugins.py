"""What other packages add, by entry points: backends, tasks, filters, grading rules.

`docs/plugins.md` says what each must offer. Entry points are looked up only for a name that Resit itself does
not have, so that nothing installed changes what Resit's own names mean, or slows a start.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, TypeAlias

from resit.errors import UsageError

Group: TypeAlias = Literal["resit.backends", "resit.tasks", "resit.filters", "resit.rules"]


@cache
def _points(group: Group) -> dict[str, EntryPoint]:
    return {point.name: point for point in sorted(entry_points(group=group), key=lambda point: point.name)}


def names(group: Group) -> list[str]:
    """Names that installed packages add to a group, sorted."""
    return [*_points(group)]


def find(group: Group, name: str) -> Any:
    """What an installed package adds under a name, None where none does.

    Raises UsageError, naming the package, when it cannot be imported.
    """
    point = _points(group).get(name)
    if point is None:
        return None
    try:
        return point.load()
    except Exception as error:  # whatever a foreign module does when it is imported
        package = point.dist.name if point.dist else point.value
        kind = group.removeprefix("resit.").removesuffix("s")
        raise UsageError(
            f"{kind} {name!r} of the package {package} cannot be loaded: {error!r}",
            "mend or uninstall the package",
        ) from error


def folders(group: Group) -> list[Path]:
    """The folders of the packages that a group's entry points name."""
    found = []
    for name in names(group):
        module = find(group, name)
        found += [Path(folder) for folder in getattr(module, "__path__", ())]
    return found
