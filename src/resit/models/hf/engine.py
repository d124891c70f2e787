"""The decode engine: many rows, every shared prefix computed once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from resit.models.hf.rows import Finished, Row, Scored, Scores, Settings
from resit.models.protocol import Notify


class Engine:
    """Runs rows through one causal model of transformers, in eval mode and on its device.

    `notify` is told once when the model has to be run in padded batches, and when memory ran out.
    """

    def __init__(self, model: Any, tokenizer: Any, settings: Settings, notify: Notify) -> None:
        raise NotImplementedError

    def run(self, rows: Iterable[Row]) -> Iterator[Finished]:
        """Every row's end, as they end; rows are pulled as places become free, a bounded number ahead."""
        raise NotImplementedError

    def score(self, texts: Iterable[Scored], moments: bool = False) -> Iterator[Scores]:
        """Every text's log-probabilities, in any order; shared beginnings are computed once."""
        raise NotImplementedError

    def close(self) -> None:
        """Free the caches and put the model's attention back."""
        raise NotImplementedError
