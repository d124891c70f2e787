"""Option values that are more than one word."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer
import yaml

from resit import yamls
from resit.errors import UsageError

if TYPE_CHECKING:
    from resit.runs.ray_executor import Cluster


def names(text: str) -> list[str]:
    """The names of a comma-separated list."""
    return [name.strip() for name in text.split(",") if name.strip()]


def settings(option: str, text: str) -> dict[str, Any]:
    """`k=v,…` or a JSON object as a mapping; values are read as YAML scalars (1, 0.5, true, text)."""
    text = text.strip()
    if text.startswith("{"):
        try:
            value = json.loads(text)
        except ValueError as error:
            raise UsageError(f"{option}: expected a JSON object, found {text!r} ({error})") from None
        return dict(value)
    return dict(_pair(option, item) for item in text.split(",") if item.strip())


def _pair(option: str, item: str) -> tuple[str, Any]:
    key, equals, value = item.partition("=")
    if not equals or not key.strip():
        raise UsageError(
            f"{option}: expected key=value, found {item!r}",
            f'a value that holds a comma needs the JSON form: {option} \'{{"until": ["a,b"]}}\'',
        )
    if not value.strip():
        return key.strip(), value
    try:
        read = yamls.load(value)
    except yaml.YAMLError as error:
        raise UsageError(
            f"{option}: {key.strip()}: {value[:80]!r} is no YAML value ({yamls.problem(error)})",
            f"text is meant? quotes make it text: {option} '{key.strip()}=\"…\"'",
        ) from None
    yamls.require_json(read, f"{option}: {key.strip()}")
    return key.strip(), read


def seeds(text: str) -> tuple[int, int]:
    """(sampling seed, exemplar seed) of `--seed`: one number for both, or four as lm-eval has them."""
    parts = [part.strip() for part in text.split(",")]
    try:
        numbers = [int(part) for part in parts if part.lower() != "none"]
    except ValueError:
        numbers = []
    if len(numbers) != len(parts) or len(parts) not in (1, 4) or min(numbers) < 0:
        raise UsageError(
            f"--seed: expected one whole number from 0 up, or four separated by commas, found {text!r}"
        )
    return numbers[0], numbers[-1]


def concurrency(text: str) -> int | None:
    """Samples in flight from `--batch-size`; None for auto."""
    if text.startswith("auto"):
        return None
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise UsageError(f"--batch-size: expected a whole number above 0, or auto, found {text!r}")
    return number


def limit(value: float | None) -> int | float | None:
    """`--limit` as a count where it is whole."""
    return int(value) if value is not None and value >= 1 and value.is_integer() else value


def folder_name(model: str, identity: Mapping[str, Any], fresh_seed: int | None = None) -> str:
    """The default folder of a run: its model, and eight digits of what else decides it but its tasks.

    Of these, only the seed of an exam of one's own counts.
    """
    from resit.runs.identity import digest

    readable = "".join(c if c.isalnum() or c in "-_." else "-" for c in model).strip("-.") or "model"
    exam = {} if fresh_seed is None else {"fresh_seed": fresh_seed}
    return f"{readable[-60:]}-{digest({**identity, 'tasks': {}, **exam})[:8]}"


def boolean(option: str, text: str) -> bool | None:
    """A flag that takes a value, as lm-eval's does; None when it was not given."""
    if not text:
        return None
    try:
        value = yamls.load(text)
    except yaml.YAMLError:
        value = None
    if not isinstance(value, bool):
        raise UsageError(f"{option}: expected true or false, found {text!r}")
    return value


def refuse_others(context: typer.Context, why: str, hint: str, *allowed: str) -> None:
    """Raise UsageError for an option on the command line that is not among `allowed`."""
    for name in context.params:
        given = getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"
        if given and name not in allowed:
            raise UsageError(f"--{name.replace('_', '-')} {why}", hint)


def cluster(executor: str, address: str, workers: int | None, resources: Mapping[str, Any]) -> Cluster | None:
    """Where Ray's workers run and what each takes; None for `local`. Raises UsageError."""
    if executor not in ("local", "ray"):
        raise UsageError(f"--executor: expected local or ray, found {executor!r}")
    if executor == "local":
        given = [name for name, value in (("address", address), ("workers", workers)) if value]
        given += ["resources"] if resources else []
        if given:
            raise UsageError(f"--{given[0]} says where Ray's workers run", "add --executor ray")
        return None
    if workers is None or workers < 1:
        raise UsageError(f"--workers: expected a whole number above 0, found {workers}", "--workers 4")
    for name, amount in resources.items():
        if isinstance(amount, bool) or not isinstance(amount, int | float) or amount < 0:
            raise UsageError(f"--resources: {name}: expected a number from 0 up, found {amount!r}")
        if amount > 1 and amount % 1:
            raise UsageError(f"--resources: {name}: Ray divides nothing above 1, found {amount!r}")
    from resit.runs.ray_executor import Cluster

    return Cluster(address, workers, dict(resources))
