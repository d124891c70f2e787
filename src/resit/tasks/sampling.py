"""Generation settings: lm-eval's `generation_kwargs` under all their names, as one Sampling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from resit import yamls
from resit.errors import UsageError
from resit.records import Sampling

MAX_TOKENS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
"""Names of the token cap, the strongest first."""
DEFAULT_MAX_TOKENS = 256
TYPED = {"temperature": float, "top_p": float, "top_k": int, "min_p": float, "repetition_penalty": float}
KNOWN = (*MAX_TOKENS, *TYPED, "until", "do_sample")
BACKENDS_OWN = (
    "min_tokens", "min_new_tokens", "min_length", "max_length", "typical_p", "top_a", "top_n_sigma",
    "num_beams", "frequency_penalty", "presence_penalty", "no_repeat_ngram_size", "length_penalty", "seed",
    "logit_bias", "repeat_penalty", "ignore_eos", "skip_special_tokens", "min_temp", "max_temp",
    "think_end_token",
)  # fmt: skip
"""Settings of the backends that resemble a known key and are meant as they are written."""


def sampling_of(
    task_kwargs: Mapping[str, Any] | None, overrides: Mapping[str, Any], delimiter: str, where: str
) -> Sampling:
    """The sampling that a task's `generation_kwargs`, updated by `overrides`, ask for.

    Without `until`, generation stops at the few-shot delimiter. Raises UsageError for a value of the wrong
    kind and for a key that is nearly, but not, a known one.
    """
    if task_kwargs is None:
        task_kwargs = {"temperature": 0.0, "do_sample": False}
    kwargs = {"until": [delimiter], **task_kwargs, **overrides}
    _refuse_near_misses(kwargs, where)
    for key, value in kwargs.items():
        yamls.require_json(value, f"{where}: generation setting {key!r}")
    if "do_sample" not in overrides and _number(overrides, "temperature", float, where):
        kwargs["do_sample"] = True
    typed = {key: _number(kwargs, key, kind, where) for key, kind in TYPED.items()}
    return Sampling(
        max_tokens=_max_tokens(kwargs, where),
        stop=_stop(kwargs["until"], where),
        **{**typed, "temperature": _temperature(kwargs, typed["temperature"], where)},
        extra={key: value for key, value in kwargs.items() if key not in KNOWN},
    )


def _refuse_near_misses(kwargs: Mapping[str, Any], where: str) -> None:
    for key in kwargs:
        near = get_close_matches(key, KNOWN, n=1, cutoff=0.8)
        if key not in KNOWN and key not in BACKENDS_OWN and near:
            raise UsageError(f"{where}: generation setting {key!r} is not known; did you mean {near[0]!r}?")


def _number(kwargs: Mapping[str, Any], key: str, kind: type, where: str) -> Any:
    value = kwargs.get(key)
    if value is None:
        return None
    try:
        if isinstance(value, bool) or (kind is int and int(value) != float(value)):
            raise ValueError
        found = kind(value)
        if not math.isfinite(found):
            raise ValueError
        return found
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"{where}: {key}: expected {_noun(kind)}, found {value!r}") from None


def _noun(kind: type) -> str:
    return "a whole number" if kind is int else "a number"


def _max_tokens(kwargs: Mapping[str, Any], where: str) -> int:
    named = (_number(kwargs, key, int, where) for key in MAX_TOKENS)
    found = next((value for value in named if value is not None), DEFAULT_MAX_TOKENS)
    if found < 1:
        raise UsageError(f"{where}: the number of tokens to generate must be at least 1, found {found}")
    return int(found)


def _temperature(kwargs: Mapping[str, Any], temperature: float | None, where: str) -> float:
    sample = kwargs.get("do_sample")
    if sample is not None and not isinstance(sample, bool):
        raise UsageError(f"{where}: do_sample: expected true or false, found {sample!r}")
    if sample is False:
        return 0.0
    if temperature is not None and temperature < 0:
        raise UsageError(f"{where}: temperature: expected 0 or more, found {temperature:g}")
    return (1.0 if sample else 0.0) if temperature is None else temperature


def _stop(until: Any, where: str) -> tuple[str, ...]:
    stops = [until] if isinstance(until, str) else (until or [])
    if not isinstance(stops, list | tuple) or not all(isinstance(stop, str) for stop in stops):
        raise UsageError(f"{where}: until: expected a string or a list of strings, found {until!r}")
    return tuple(stop for stop in stops if stop)
