"""A part of a run's questions, for a run of its own on another machine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from resit.errors import UsageError

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Shard:
    """The `index`-th of `count` parts: of each task, every `count`-th question from the `index`-th on.

    Every part has all of a task's difficulty and its shared prefix, and a larger limit, more repeats or
    another task leave each question in its part.
    """

    index: int
    """From 1 up."""
    count: int

    @classmethod
    def parsed(cls, text: str) -> Self:
        """The shard that `--shard` names; raises UsageError."""
        match = re.fullmatch(r"\s*(\d{1,6})\s*/\s*(\d{1,6})\s*", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise UsageError(
                f"--shard: expected i/n with i from 1 to n, found {text!r}",
                "for four parts: --shard 1/4, --shard 2/4, --shard 3/4 and --shard 4/4, each on its own",
            )
        return cls(int(match[1]), int(match[2]))

    @classmethod
    def recorded(cls, record: Mapping[str, Any]) -> Self | None:
        """The shard that a run folder holds, by its `run.json`; None for a whole run. Raises UsageError."""
        shard = record.get("shard")
        if shard is None:
            return None
        index, count = (
            (shard.get("index"), shard.get("count")) if isinstance(shard, Mapping) else (None, None)
        )
        if not isinstance(index, int) or not isinstance(count, int):
            raise UsageError(f"run.json names no shard: expected index and count, found {shard!r:.60}")
        return cls(index, count)

    def of(self, items: Sequence[Item]) -> Sequence[Item]:
        """Its part of a task's questions, in their order."""
        return items[self.index - 1 :: self.count]

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


def check_shard(folder: str, record: Mapping[str, Any], wanted: Shard | None) -> None:
    """Raise UsageError when a folder's run is another part of the whole than the one asked for."""
    found = Shard.recorded(record)
    if found != wanted:
        holds, asks = ("the whole run" if shard is None else f"shard {shard}" for shard in (found, wanted))
        raise UsageError(
            f"{folder} holds {holds}, this command asks for {asks}",
            "give each shard its own --output-path, and join them with `resit merge`",
        )
