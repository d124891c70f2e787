"""YAML 1.1 as people write it: whatever cannot be read is a `yaml.YAMLError` that says where and why.

PyYAML lets some of it out as other errors: a day 2021-13-45, five thousand digits, `!!bool maybe`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import yaml
from yaml.constructor import ConstructorError, SafeConstructor

from resit.errors import UsageError

LARGEST = 10**308
"""Of whole numbers, either way; what is larger fits no float."""
MOST_VALUES = 1_000_000
"""In one document; published task files hold some hundreds, and few-shot samples a few thousand."""
_SHOWN = 40
_KINDS = (list, tuple, set)


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """PyYAML's safe loader (libyaml's where there is one)."""


def _checked(kind: str, construct: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def scalar(loader: Any, node: Any) -> Any:
        try:
            value = construct(loader, node)
        except (ValueError, OverflowError, LookupError, AttributeError):
            problem = f"{str(node.value)[:_SHOWN]!r} is no {kind}"
            raise ConstructorError(None, None, problem, node.start_mark) from None
        if isinstance(value, int) and not -LARGEST <= value <= LARGEST:
            raise ConstructorError(None, None, f"a number beyond {LARGEST:.0e}", node.start_mark)
        return value

    return scalar


for _kind in ("bool", "int", "float", "timestamp"):
    Loader.add_constructor(
        f"tag:yaml.org,2002:{_kind}", _checked(_kind, getattr(SafeConstructor, f"construct_yaml_{_kind}"))
    )


def load(text: str | bytes, loader: type[Loader] = Loader) -> Any:
    """The document's value; None for an empty one. Raises yaml.YAMLError."""
    try:
        value = yaml.load(text, Loader=loader)
    except UnicodeError as error:
        raise yaml.YAMLError(f"not UTF-8: {error}") from None
    except RecursionError:  # the loader without libyaml
        raise yaml.YAMLError("nested too deeply") from None
    _check_size(value)
    return value


def _check_size(value: Any) -> None:
    """Refuse aliases (`*name`) that stand for themselves, or for more than anything can mean."""
    waiting, seen = [value], 0
    while waiting:
        item = waiting.pop()
        inside = item.values() if isinstance(item, dict) else item if isinstance(item, _KINDS) else ()
        waiting.extend(inside)
        seen += 1
        if seen > MOST_VALUES:
            raise yaml.YAMLError(
                f"expected at most {MOST_VALUES} values, found more when every alias (*name) is written out, "
                "or one that stands for itself"
            )


def require_json(value: Any, where: str) -> None:
    """Raise UsageError for what run.json and requests cannot hold: YAML has dates, sets and bytes."""
    try:
        json.dumps(value)
    except TypeError:
        raise UsageError(
            f"{where}: a {type(value).__name__} is no JSON value, found {value!r}", "quotes make it text"
        ) from None


def problem(error: yaml.YAMLError) -> str:
    """What is wrong, in one line and with the number of the line where that is known."""
    mark = getattr(error, "problem_mark", None)
    words = getattr(error, "problem", None) or " ".join(str(error).split())
    return f"line {mark.line + 1}: {words}" if mark else words
