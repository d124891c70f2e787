"""Hidden states on disk, computed once: filled in order, so that an interrupted filling goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from resit.jsonl import write_atomic

EVERY = 64
"""Solutions between two notes of how far the filling is."""


class FeatureFile:
    """States of every solution's tokens, (all tokens, width) in half precision, memory-mapped."""

    def __init__(self, folder: Path, lengths: Sequence[int], width: int) -> None:
        self._ends = np.cumsum(lengths)
        self._count = len(lengths)
        self._done = folder / "features.json"
        path = folder / "features.f16"
        shape = (int(self._ends[-1]), width)
        size = shape[0] * shape[1] * 2
        fresh = not path.exists() or path.stat().st_size != size
        if fresh:
            self._done.unlink(missing_ok=True)
        self._states: NDArray[np.float16] = np.memmap(path, np.float16, "w+" if fresh else "r+", shape=shape)

    def fill(self, source: Callable[[int], Iterable[torch.Tensor]], say: Callable[[int], None]) -> None:
        """Write the states that are missing; `source` gives them from a solution's number on."""
        done = int(json.loads(self._done.read_text())["solutions"]) if self._done.exists() else 0
        if done == self._count:
            return
        for number, states in enumerate(source(done), done):
            self._states[self._place(number)] = states.to(torch.float16).numpy()
            if (number + 1) % EVERY == 0 or number + 1 == self._count:
                self._note(number + 1)
                say(number + 1)

    def _note(self, done: int) -> None:
        self._states.flush()  # type: ignore[attr-defined]
        write_atomic(self._done, json.dumps({"solutions": done}).encode())

    def _place(self, number: int) -> slice:
        return slice(int(self._ends[number - 1]) if number else 0, int(self._ends[number]))

    def states(self, number: int) -> torch.Tensor:
        """The states of one solution's tokens, (tokens, width), in single precision."""
        return torch.from_numpy(self._states[self._place(number)].astype(np.float32))
