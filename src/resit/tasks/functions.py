"""Python that a task file names by `!function`: found beside the file, run only when trusted."""

from __future__ import annotations

import functools
import hashlib
import importlib
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from resit.errors import ResitError, UsageError
from resit.tasks.files import FunctionTag, Place
from resit.tasks.rowset import RowSet


@dataclass(frozen=True, slots=True)
class Function:
    """A task's own function; called like one, its failures name it and its file."""

    name: str
    file: str
    sha256: str
    """Of the source file, so that the function is part of the run's identity."""
    call: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.call(*args, **kwargs)
        except ResitError:
            raise
        except Exception as error:
            raise UsageError(f"{self.file}: {self.name} raised {type(error).__name__}: {error}") from error


def resolved(value: Any, trust: bool) -> Any:
    """The value with every `!function` replaced by its Function. Raises UsageError where not trusted."""
    if isinstance(value, FunctionTag):
        return _function(value, trust)
    if isinstance(value, dict):
        return {key: resolved(item, trust) for key, item in value.items()}
    return [resolved(item, trust) for item in value] if isinstance(value, list) else value


def _function(tag: FunctionTag, trust: bool) -> Function:
    if not trust:
        raise UsageError(
            f"{tag.place}: the task names the Python function {tag.name!r}, which is not run unasked",
            "read that file's code, then allow it with --trust-task-code",
        )
    module_name, _, name = tag.name.rpartition(".")
    source = tag.place.beside(module_name.replace(".", "/") + ".py")
    module, digest = _module_beside(source) if source.exists() else _module_installed(module_name, tag)
    found = getattr(module, name, None)
    if not callable(found):
        raise UsageError(f"{tag.place}: !function {tag.name}: {module.__name__} has no function {name!r}")
    return Function(tag.name, str(source), digest, found)


def _module_beside(place: Place) -> tuple[types.ModuleType, str]:
    return _module(place, place.read())


@functools.cache
def _module(place: Place, source: bytes) -> tuple[types.ModuleType, str]:
    digest = hashlib.sha256(source).hexdigest()
    module = types.ModuleType(f"resit_task_code_{digest[:16]}")
    module.__file__ = str(place)
    sys.modules[module.__name__] = module
    try:
        with _datasets_stand_in(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # how the task's author writes Python is not the user's concern
            exec(compile(source, str(place), "exec"), module.__dict__)
    except Exception as error:
        del sys.modules[module.__name__]
        raise UsageError(f"{place}: {_reason(error)}", _remedy(error)) from error
    return module, digest


def _module_installed(name: str, tag: FunctionTag) -> tuple[types.ModuleType, str]:
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise UsageError(
            f"{tag.place}: !function {tag.name}: no {name.replace('.', '/')}.py beside the file, and {error}"
        ) from None
    version = getattr(sys.modules.get(name.partition(".")[0]), "__version__", "")
    return module, hashlib.sha256(f"{name} {version}".encode()).hexdigest()


def _reason(error: Exception) -> str:
    return f"the task's code cannot be loaded: {type(error).__name__}: {error}"


def _remedy(error: Exception) -> str:
    return f"pip install {error.name}" if isinstance(error, ModuleNotFoundError) and error.name else ""


@contextmanager
def _datasets_stand_in() -> Iterator[None]:
    """While task code loads: a module `datasets` for annotations, where the real one is not installed."""
    try:
        importlib.import_module("datasets")
    except ImportError:
        stand_in = types.ModuleType("datasets")
        stand_in.Dataset = RowSet  # type: ignore[attr-defined]
        sys.modules["datasets"] = stand_in
        try:
            yield
        finally:
            del sys.modules["datasets"]
    else:
        yield
