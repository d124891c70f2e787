"""The part of Python that word problems need: the first line of defence, before the kernel's.

Imported by `jail.py` alone, in a process without the rest of Resit.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import types
from functools import cache
from typing import Any

MODULES = frozenset(
    {
        "math", "fractions", "decimal", "datetime", "itertools", "functools", "collections", "statistics",
        "calendar", "operator", "numbers", "string", "re", "heapq", "bisect", "typing",
    }
)  # fmt: skip
"""Modules that a program may import; they are loaded before the process is locked."""

BUILTINS = (
    "abs", "all", "any", "bin", "bool", "chr", "complex", "dict", "divmod", "enumerate", "filter", "float",
    "format", "frozenset", "hash", "hex", "int", "isinstance", "issubclass", "iter", "len", "list", "map",
    "max", "min", "next", "oct", "ord", "pow", "print", "range", "repr", "reversed", "round", "set", "slice",
    "sorted", "str", "sum", "tuple", "zip", "object", "property", "staticmethod", "classmethod", "super",
    "__build_class__", "ArithmeticError", "AssertionError", "AttributeError", "BaseException", "Exception",
    "IndexError", "KeyError", "LookupError", "NotImplementedError", "OverflowError", "RuntimeError",
    "StopIteration", "TypeError", "ValueError", "ZeroDivisionError", "True", "False", "None",
)  # fmt: skip

_HIDDEN_ATTRIBUTES = frozenset(
    {
        "gi_frame", "gi_code", "gi_yieldfrom", "cr_frame", "cr_code", "ag_frame", "ag_code", "tb_frame",
        "tb_next", "f_back", "f_builtins", "f_code", "f_globals", "f_locals", "f_trace", "co_code", "mro",
        "with_traceback", "format_map", "sys", "os", "builtins",
    }
)  # fmt: skip
_DUNDERS = frozenset(
    {"__init__", "__str__", "__repr__", "__add__", "__eq__", "__lt__", "__len__", "__iter__"}
)
"""Methods that a class of the program may define."""
_REFUSED = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)


class Forbidden(Exception):
    """The program uses something that word problems do not need."""


def check(tree: ast.AST) -> None:
    """Raise Forbidden, naming it, for the first thing outside the subset."""
    for node in ast.walk(tree):
        if isinstance(node, _REFUSED):
            raise Forbidden(type(node).__name__)
        if isinstance(node, ast.Import):
            _check_modules(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            _check_modules([node.module or "."])
            _check_names(alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute):
            _check_names([node.attr])
            if node.attr.startswith("_") and not (
                isinstance(node.value, ast.Name) and node.value.id == "self"
            ):
                raise Forbidden(node.attr)
        elif isinstance(node, ast.Name):
            _check_names([node.id] if node.id != "__name__" else [])
        elif isinstance(node, ast.FunctionDef):
            _check_names([] if node.name in _DUNDERS else [node.name])


def _check_modules(names: Any) -> None:
    for name in names:
        if name.partition(".")[0] not in MODULES:
            raise Forbidden(f"import {name}")


def _check_names(names: Any) -> None:
    for name in names:
        if name.startswith("__") or name in _HIDDEN_ATTRIBUTES:
            raise Forbidden(name)


@cache
def _public(name: str) -> types.SimpleNamespace:
    """What a module offers, without what it has imported itself."""
    module = importlib.import_module(name)
    shown = {key: value for key, value in vars(module).items() if not key.startswith("_")}
    return types.SimpleNamespace(**{k: v for k, v in shown.items() if not isinstance(v, types.ModuleType)})


def load() -> None:
    """Import all modules now, while it is possible."""
    for name in MODULES:
        _public(name)
    vars(_public("collections"))["abc"] = _public("collections.abc")
    for name in _INTERNAL:
        importlib.import_module(name)


_INTERNAL = ("_strptime", "time")
"""What `datetime`, being written in C, imports by the program's own `__import__`; `check` lets no program."""


def _import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    if name in _INTERNAL:
        return importlib.import_module(name)
    if level or name.partition(".")[0] not in MODULES or name not in (*MODULES, "collections.abc"):
        raise Forbidden(f"import {name}")
    return _public(name) if fromlist else _public(name.partition(".")[0])


def namespace(write: Any) -> dict[str, Any]:
    """The globals that a program starts with; what it prints goes to `write`."""

    def show(*values: Any, sep: str | None = " ", end: str | None = "\n", **_: Any) -> None:
        write((" " if sep is None else sep).join(map(str, values)) + ("\n" if end is None else end))

    known = {name: getattr(builtins, name) for name in BUILTINS}
    known.update(print=show, __import__=_import)
    return {"__builtins__": known, "__name__": "__main__"}
