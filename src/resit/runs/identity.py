"""What makes two runs the same run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from resit.errors import IdentityMismatch

FORMAT = 1
"""Version of the run folder's format; part of every identity."""

_SHOWN = 80
"""Characters of a value that a difference shows."""


def digest(value: Any) -> str:
    """SHA-256, in hexadecimal, of a value's canonical JSON."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def normalised(value: Any) -> Any:
    """The value as JSON would give it back (tuples become lists, keys become strings)."""
    return json.loads(json.dumps(value))


def sample_seed(run_seed: int, doc_hash: str, repeat: int) -> int:
    """The seed of one sample, in [0, 2^31): the same whatever else the run holds and in whatever order."""
    material = f"{run_seed}/{doc_hash}/{repeat}".encode()
    return int.from_bytes(hashlib.sha256(material).digest()[:4], "big") >> 1


def differences(recorded: Any, asked: Any, path: str = "") -> Iterator[str]:
    """One line for each place where two identities differ, by its path."""
    if isinstance(recorded, Mapping) and isinstance(asked, Mapping):
        for key in [*recorded, *(key for key in asked if key not in recorded)]:
            where = f"{path}.{key}" if path else str(key)
            yield from differences(recorded.get(key), asked.get(key), where)
    elif recorded != asked:
        yield f"{path}: the run has {_shown(recorded)}, this command asks for {_shown(asked)}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def check_same(folder: str, recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Raise IdentityMismatch, listing every field, unless `asked` continues the recorded run.

    Tasks that only one of the two has do not matter: a run grows by tasks.
    """
    common = recorded.get("tasks", {}).keys() & asked.get("tasks", {}).keys()
    found = list(differences(_without(recorded, common), _without(asked, common)))
    if found:
        raise IdentityMismatch(
            f"{folder} holds another run; what differs:\n  " + "\n  ".join(found),
            "run the recorded command to continue it, or give this one another --output-path",
        )


def _without(identity: Mapping[str, Any], tasks: set[str]) -> dict[str, Any]:
    return {**identity, "tasks": {name: identity["tasks"][name] for name in sorted(tasks)}}
