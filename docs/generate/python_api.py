"""Pages for the Python surface, which mkdocstrings fills in from docstrings."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

FOLDER = "python"
PACKAGES: Mapping[str, str] = {
    "resit.stats": "Intervals, tests, power, votes: a library of its own.",
    "resit.grading": "Text to verdicts: no model, no network.",
    "resit.tasks": "The catalogue of tasks, and task files.",
    "resit.prompts": "Tasks to prompts.",
    "resit.assets": "Pinned files from outside.",
    "resit.models": "What a backend is.",
}
"""Packages with a public surface (`__all__`)."""
MODULES: Mapping[str, tuple[str, ...]] = {
    "records": ("resit.records",),
    "reports": ("resit.reports.comparison", "resit.reports.gaps"),
    "errors": ("resit.errors",),
}
"""Modules that are shown as a whole, by page."""


def pages() -> dict[str, str]:
    """Markdown by path below the documentation's folder."""
    found = {_path(name): _surface(name, about) for name, about in PACKAGES.items()}
    for page, modules in MODULES.items():
        found[f"{FOLDER}/{page}.md"] = f"# Python: {page}\n\n" + "\n".join(map(_module, modules))
    return found


def _path(package: str) -> str:
    return f"{FOLDER}/{package.rpartition('.')[2]}.md"


def _surface(package: str, about: str) -> str:
    """A page with every public name, each where it is defined (the packages import lazily)."""
    names = importlib.import_module(package).__all__
    blocks = [f"# {package}\n\n{about}\n"]
    for name in names:
        value = getattr(importlib.import_module(package), name)
        home = getattr(value, "__module__", "")
        if home.startswith("resit."):
            blocks.append(f"::: {home}.{name}\n")
    return "\n".join(blocks)


def _module(name: str) -> str:
    return f"::: {name}\n    options: {{show_root_full_path: true, heading_level: 2}}\n"
