"""Which exemplars a document gets. Draws follow document order: a limit gives a prefix of the full run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from random import Random
from typing import Any

from resit.errors import UsageError
from resit.tasks import Task

Fields = Mapping[str, Any]
Chooser = Callable[[Fields], Sequence[int]]
"""From a document to the rows of the pool that it is shown, in order of appearance."""


def chooser(task: Task, count: int, seed: int) -> Chooser:
    """The task's way of choosing `count` exemplars. Raises UsageError: unknown sampler, small pool."""
    name = task.config.fewshot_config.sampler
    if not isinstance(name, str) or name not in SAMPLERS:
        raise UsageError(
            f"{task.source}: fewshot_config.sampler: expected one of {', '.join(SAMPLERS)}, found {name!r}",
            "a sampler of the task's own code is not supported",
        )
    pool = task.exemplars
    needed = count + (name == "default" and pool.holds_documents)
    if len(pool.rows) < needed:
        raise UsageError(f"{task.name}: {needed} exemplars are needed, {len(pool.rows)} are available")
    return SAMPLERS[name](task, count, seed)


def _redrawn(task: Task, count: int, seed: int) -> Chooser:
    """lm-eval's `default`: a fresh draw for every document, from one stream."""
    rows, stream, apart = task.exemplars.rows, Random(seed), task.exemplars.holds_documents

    def choose(fields: Fields) -> Sequence[int]:
        if not apart:
            return stream.sample(range(len(rows)), count)
        drawn = [i for i in stream.sample(range(len(rows)), count + 1) if rows[i] != fields][:count]
        if len(drawn) == count:
            return drawn
        others = [i for i, row in enumerate(rows) if row != fields]  # copies of the document were drawn
        _check(task, len(others), count)
        return stream.sample(others, count)

    return choose


def _first(task: Task, count: int, seed: int) -> Chooser:
    """lm-eval's `first_n`: the pool's first rows."""
    return _first_of(range(len(task.exemplars.rows)), task, count)


def _permutation(task: Task, count: int, seed: int) -> Chooser:
    """sieval's: the first rows of numpy's `default_rng(seed).permutation`, the same for all documents."""
    import numpy as np

    return _first_of(np.random.default_rng(seed).permutation(len(task.exemplars.rows)).tolist(), task, count)


def _first_of(order: Sequence[int], task: Task, count: int) -> Chooser:
    rows = task.exemplars.rows

    def choose(fields: Fields) -> Sequence[int]:
        found = list(islice((i for i in order if rows[i] != fields), count))
        _check(task, len(found), count)
        return found

    return choose if task.exemplars.holds_documents else lambda fields: order[:count]


def _check(task: Task, found: int, count: int) -> None:
    if found < count:
        raise UsageError(
            f"{task.name}: {count} exemplars are needed, {found} are available beside the document"
        )


SAMPLERS: Mapping[str, Callable[[Task, int, int], Chooser]] = {
    "default": _redrawn,
    "first_n": _first,
    "permutation": _permutation,
}
