"""Checks of the example packages, and of task and study files that the documentation shows."""

from __future__ import annotations

import ast
import tempfile
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from resit.cli.checking.ledger import Ledger, Place, needs_checkout
from resit.cli.checking.texts import Block, blocks
from resit.errors import UsageError


def valid(place: Place, ledger: Ledger) -> None:
    """Example packages declare what they hold; tasks and studies that are shown are valid ones."""
    root = needs_checkout(place)
    for project in sorted((root / "examples").glob("*/pyproject.toml")):
        name = project.relative_to(root).as_posix()
        with ledger.item(name):
            for text in _missing(project):
                ledger.wrong(name, text)
            _check_files(project, root, ledger)
    for block in blocks(place, "yaml", "yml"):
        with ledger.item(f"{block.file}:{block.line}"):
            _check_shown(block)


def _check_files(project: Path, root: Path, ledger: Ledger) -> None:
    """The package's task files, which may use what only the installed package adds."""
    name = tomllib.loads(project.read_text(encoding="utf-8")).get("project", {}).get("name", "")
    try:
        distribution(name)
    except (PackageNotFoundError, ValueError):
        ledger.skip(
            f"{name}'s task files", f"{name} is not installed: pip install examples/{project.parent.name}"
        )
        return
    for file in sorted(project.parent.rglob("*.yaml")):
        with ledger.item(file.relative_to(root)):
            _check_yaml(file, file.read_text(encoding="utf-8"))


def _missing(project: Path) -> Iterator[str]:
    """The entry points that name nothing in the package's source."""
    try:
        declared = tomllib.loads(project.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"is no TOML: {error}") from None
    for group, points in declared.get("project", {}).get("entry-points", {}).items():
        for name, target in points.items():
            module, _, attribute = target.partition(":")
            if not _holds(project.parent / "src", module, attribute):
                yield f"{group}: {name} names {target}, which is not there"


def _holds(source: Path, module: str, attribute: str) -> bool:
    path = source.joinpath(*module.split("."))
    file = next((f for f in (path.with_suffix(".py"), path / "__init__.py") if f.is_file()), None)
    if file is None:
        return False
    return not attribute or attribute in _defined(ast.parse(file.read_text(encoding="utf-8")))


def _defined(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
    return names


def _check_shown(block: Block) -> None:
    with tempfile.TemporaryDirectory(prefix="resit-check-") as folder:
        text = "\n".join(block.lines)
        file = Path(folder) / "shown.yaml"
        file.write_text(text, encoding="utf-8")
        _check_yaml(file, text)


def _check_yaml(file: Path, text: str) -> None:
    """Raise UsageError for text that is no YAML, or no valid task or study where it is one."""
    import yaml

    try:
        shown: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"is no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(shown, dict):
        return
    if "doc_to_text" in shown and "task" in shown:
        from resit import tasks

        (task,) = tasks.load([str(file)])
        task.sampling()
    elif "models" in shown and "tasks" in shown:
        from resit.runs.study import cells, read_study

        cells(file, read_study(file))
