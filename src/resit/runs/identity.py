"""What makes two runs the same run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from resit.differences import differences
from resit.errors import IdentityMismatch

FORMAT = 1
"""Version of the run folder's format; part of every identity."""


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


def check_same(folder: str, recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Raise IdentityMismatch, listing every field, unless `asked` continues the recorded run.

    Tasks that only one of the two has do not matter: a run grows by tasks.
    """
    common = recorded.get("tasks", {}).keys() & asked.get("tasks", {}).keys()
    found = list(differences(_without(recorded, common), _without(asked, common)))
    if found:
        listed = (
            f"{path}: the run has {ours}, this command asks for {theirs}" for path, ours, theirs in found
        )
        raise IdentityMismatch(
            f"{folder} holds another run; what differs:\n  " + "\n  ".join(listed),
            "repeat the command that made it to continue it, or give this one another --output-path",
        )


def _without(identity: Mapping[str, Any], tasks: set[str]) -> dict[str, Any]:
    return {**identity, "tasks": {name: identity["tasks"][name] for name in sorted(tasks)}}
