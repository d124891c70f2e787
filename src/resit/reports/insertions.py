"""What the calculator did in a task's samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from resit.records import Generation


@dataclass(slots=True)
class CalculatorTally:
    """Counts over the samples that were generated with the calculator."""

    samples: int = 0
    insertions: int = 0
    corrected: int = 0
    """Insertions in place of something else that the model had written, as far as the backend shows it."""
    unread: int = 0
    """Expressions that the calculator left to the model."""

    def add(self, generations: Iterable[Generation]) -> None:
        """Count a question's samples."""
        for generation in generations:
            if generation.insertions is not None and generation.error is None:
                self.samples += 1
                self.insertions += len(generation.insertions)
                self.corrected += sum(i.instead is not None for i in generation.insertions)
                self.unread += generation.uncalculated or 0

    def summary(self) -> dict[str, int]:
        """The entry `calculator` of a task in `results.json`; empty where no sample had one."""
        if not self.samples:
            return {}
        return {
            "samples": self.samples,
            "insertions": self.insertions,
            "corrected": self.corrected,
            "unread": self.unread,
        }


def calculator_lines(results: Mapping[str, Any]) -> Iterator[str]:
    """A line for each task that was asked with the calculator."""
    for task, summary in results["resit"]["tasks"].items():
        if counts := summary.get("calculator"):
            yield (
                f"{task}: the calculator gave {counts['insertions']} results in {counts['samples']} samples; "
                f"the model had {counts['corrected']} of them otherwise, and {counts['unread']} expressions "
                "could not be read"
            )
