"""Rendering of one field of a document: Jinja in its sandbox, every template compiled once."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from resit.errors import UsageError
from resit.tasks.functions import Function

Fields = Mapping[str, Any]
Renderer = Callable[[Fields], Any]


def _regex_replace(text: str, pattern: str, repl: str, count: int = 0) -> str:
    return re.sub(pattern, repl, text, count=count)


@functools.cache
def _environment() -> SandboxedEnvironment:
    environment = SandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
    environment.filters["regex_replace"] = _regex_replace
    return environment


@functools.lru_cache(maxsize=1024)
def compiled(source: str) -> Template:
    """The template of a source text. Raises jinja2.TemplateSyntaxError."""
    template = _environment().from_string(source)
    template.globals = dict(template.globals)  # copied for every rendering: three times as fast as a ChainMap
    return template


def renderer(value: Any, columns: frozenset[str], where: str) -> Renderer:
    """The function from a document to what a key's `value` makes of it.

    A column's name gives the raw cell, other text is a template, a function is called, the rest is meant
    as it is. Raises UsageError: now for a template that does not compile, later for one that does not render.
    """
    if isinstance(value, Function):
        return value
    if not isinstance(value, str):
        return lambda fields: value
    if value in columns:
        return lambda fields: _cell(fields, value, where)
    try:
        template = compiled(value)
    except TemplateError as error:
        raise UsageError(f"{where}: the template does not compile: {error}") from None
    return lambda fields: _rendered(template, fields, where)


def _cell(fields: Fields, column: str, where: str) -> Any:
    if column not in fields:
        raise UsageError(f"{where}: expected a column {column!r}, found {', '.join(fields)}")
    return fields[column]


def _rendered(template: Template, fields: Fields, where: str) -> str:
    try:
        return template.render(fields)
    except Exception as error:
        found = f"the document has {', '.join(map(str, fields))}"
        raise UsageError(f"{where}: the template cannot be rendered: {error}", found) from error
