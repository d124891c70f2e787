"""Backends: prompts in, texts out, one file per backend."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

from resit.errors import UsageError
from resit.models.protocol import (
    JSON,
    Closing,
    Encoding,
    InterruptibleModel,
    LikelihoodModel,
    LoadableModel,
    Model,
    Notify,
    Setup,
)
from resit.models.secrecy import is_secret

__all__ = [
    "JSON",
    "Closing",
    "Encoding",
    "InterruptibleModel",
    "LikelihoodModel",
    "LoadableModel",
    "Model",
    "Notify",
    "Setup",
    "all_kinds",
    "create",
    "kinds",
    "parse_model_args",
]

_MODULES = {
    "hf": "resit.models.hf",
    "llamacpp": "resit.models.llamacpp",
    "openai-chat": "resit.models.openai",
    "openai-completions": "resit.models.openai",
    "replay": "resit.models.replay",
    "scripted": "resit.models.scripted",
    "vllm": "resit.models.vllm",
}
"""Where each kind is built: a module with `arguments(kind)`, a pydantic model, and `build(kind, …)`."""

_ALIASES = {
    "dummy": "scripted",
    "huggingface": "hf",
    "local-chat-completions": "openai-chat",
    "local-completions": "openai-completions",
}
"""lm-eval's names."""

Arguments = TypeVar("Arguments")


def kinds() -> tuple[str, ...]:
    """Every kind of model, aliases included, sorted."""
    return tuple(sorted([*_MODULES, *_ALIASES]))


def all_kinds() -> tuple[str, ...]:
    """Those of `kinds`, and after them those that other packages add."""
    from resit import plugins

    return (*kinds(), *plugins.names("resit.backends"))


def _did_you_mean(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name.lower().replace("_", "-"), [k.replace("_", "-") for k in known], n=1)
    meant = next((k for k in known if near and k.replace("_", "-") == near[0]), None)
    return f"; did you mean {meant!r}?" if meant else ""


def parse_model_args(text: str) -> dict[str, Any]:
    """Model arguments written `pretrained=x,base_url=y` or as a JSON object. Raises UsageError."""
    text = text.strip()
    if text.startswith("{"):
        try:
            return dict(json.loads(text))
        except ValueError as error:
            raise UsageError(f"model_args is not a JSON object: {error}") from None
    args: dict[str, Any] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = item.partition("=")
        if not equals or not key:
            before = next(reversed(args), "")
            shown = f"the rest of {before}" if is_secret(before) else repr(item)
            raise UsageError(
                f"model_args: expected key=value, found {shown}",
                'a value with a comma in it can be given as a JSON object: --model_args \'{"key": "a,b"}\'',
            )
        if key in args:
            raise UsageError(f"model_args: {key!r} is given twice", "leave one of the two")
        args[key] = value
    return args


def _accepted(kind: str, module: Any, args: Mapping[str, Any], notify: Notify) -> dict[str, Any]:
    """The arguments less lm-eval's that mean nothing here. Raises UsageError for those set elsewhere."""
    elsewhere: Mapping[str, str] = getattr(module, "ELSEWHERE", {})
    for name in args.keys() & elsewhere.keys():
        raise UsageError(f"model_args of {kind!r}: {name} is not set here", elsewhere[name])
    needless: frozenset[str] = getattr(module, "NEEDLESS", frozenset())
    dropped = sorted(args.keys() & needless)
    if dropped:
        notify(f"model_args of {kind!r}: {', '.join(dropped)} changes nothing here")
    return {name: value for name, value in args.items() if name not in needless}


def _checked(kind: str, arguments: type[Any], args: Mapping[str, Any]) -> Any:
    """The arguments as the backend's pydantic model. Raises UsageError for unknown or ill-formed ones."""
    from pydantic import ValidationError

    known = list(arguments.model_fields)
    unknown = next((name for name in args if name not in known), None)
    if unknown is not None and arguments.model_config.get("extra") != "allow":  # else it is the backend's
        raise UsageError(
            f"model {kind!r} has no argument {unknown!r}{_did_you_mean(unknown, known)}",
            f"its arguments are {', '.join(known)}",
        )
    try:
        return arguments.model_validate(dict(args))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        hidden = first["type"] == "missing" or any(is_secret(str(part)) for part in first["loc"])
        found = "" if hidden else f", found {first['input']!r}"
        raise UsageError(f"model_args of {kind!r}: {where}: {first['msg']}{found}") from None


def _added(kind: str) -> Any:
    """The module of a kind that another package adds. Raises UsageError."""
    from resit import plugins

    module = plugins.find("resit.backends", kind)
    if module is None:
        known = all_kinds()
        raise UsageError(
            f"there is no model kind {kind!r}{_did_you_mean(kind, known)}",
            f"the kinds are {', '.join(known)}",
        )
    return module


def create(kind: str, args: Mapping[str, Any] | None = None, setup: Setup | None = None) -> Model:
    """The model of that kind; nothing is loaded or contacted yet.

    Raises UsageError for an unknown kind or argument, AssetError for a model file that cannot be had.
    """
    wanted = _ALIASES.get(kind, kind)
    module = importlib.import_module(_MODULES[wanted]) if wanted in _MODULES else _added(kind)
    setup = setup or Setup()
    accepted = _accepted(kind, module, args or {}, setup.notify)
    model: Model = module.build(wanted, _checked(kind, module.arguments(wanted), accepted), setup)
    return model
