"""Progress for people: a live line on a terminal, a line a minute in a log file."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)

from resit.records import Generation, Question, Verdict

LOG_SECONDS = 60.0
JUDGED = 128
"""Samples that are judged for the live figures whatever that costs."""
JUDGING_SHARE = 0.1
"""Share of the time that judging may take from then on; all are judged once more when the run is scored."""

Judge = Callable[[Question, Generation], Verdict]
Interval = Callable[[int, int], tuple[float, float]]


@dataclass(slots=True)
class Tally:
    """Running counts; the final figures come from scoring the whole journal."""

    samples: int = 0
    judged: int = 0
    correct: int = 0
    unextracted: int = 0
    truncated: int = 0
    errored: int = 0
    tokens: int = 0
    began: float = field(default_factory=time.monotonic)

    def add(self, generation: Generation, verdict: Verdict | None) -> None:
        """Count one finished sample; `verdict` is None for one that errored or was not judged."""
        self.samples += 1
        self.tokens += generation.completion_tokens or 0
        self.truncated += generation.finish_reason == "length"
        self.errored += generation.error is not None
        if verdict is not None:
            self.judged += 1
            self.correct += verdict.correct == 1.0
            self.unextracted += verdict.extracted is None

    def text(self, interval: Interval) -> str:
        """Accuracy with its 95 % interval, speed, and what to worry about."""
        parts = []
        if self.judged:
            low, high = interval(self.correct, self.judged)
            share = "" if self.judged == self.samples - self.errored else f" of {self.judged} judged so far"
            parts.append(f"accuracy {self.correct / self.judged:.1%} [{low:.1%}, {high:.1%}]{share}")
        if self.tokens:
            parts.append(f"{self.tokens / max(time.monotonic() - self.began, 1e-9):.0f} tokens/s")
        for name in ("unextracted", "truncated", "errored"):
            if count := getattr(self, name):
                parts.append(f"{count} {name}")
        return ", ".join(parts)


class ConsoleObserver:
    """Shows a run on standard error; `judge` and `interval` come from the scoring half."""

    def __init__(self, judge: Judge, interval: Interval, stream: TextIO | None = None) -> None:
        self._judge = judge
        self._interval = interval
        self._console = Console(file=stream or sys.stderr)
        self._tally = Tally()
        self._judging = 0.0
        self._total = 0
        self._logged = time.monotonic()
        self._progress: Progress | None = None

    def started(self, total: int, reused: int) -> None:
        self._total = total - reused
        self._tally, self._judging = Tally(), 0.0
        if reused:
            self.note(f"{reused} of {total} samples are on file already")
        if self._console.is_terminal and self._total:
            columns = (SpinnerColumn(), BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn())
            self._progress = Progress(*columns, TextColumn("{task.description}"), console=self._console)
            self._progress.add_task("loading the model", total=self._total)
            self._progress.start()

    def sample(self, question: Question, generation: Generation) -> None:
        verdict = None if generation.error or not self._has_time() else self._judged(question, generation)
        self._tally.add(generation, verdict)
        if self._progress is not None:
            text = self._tally.text(self._interval)
            self._progress.update(self._progress.task_ids[0], advance=1, description=text)
        elif time.monotonic() - self._logged >= LOG_SECONDS:
            self._log()

    def _has_time(self) -> bool:
        tally = self._tally
        return tally.judged < JUDGED or self._judging < JUDGING_SHARE * (time.monotonic() - tally.began)

    def _judged(self, question: Question, generation: Generation) -> Verdict:
        began = time.monotonic()
        verdict = self._judge(question, generation)
        self._judging += time.monotonic() - began
        return verdict

    def note(self, text: str) -> None:
        self._console.print(text, style="yellow", markup=False, highlight=False, soft_wrap=True)

    def finished(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
        elif self._tally.samples:
            self._log()

    def _log(self) -> None:
        self._logged = time.monotonic()
        left = self._total - self._tally.samples
        rate = self._tally.samples / max(self._logged - self._tally.began, 1e-9)
        text = f"{self._tally.samples}/{self._total} samples, {self._tally.text(self._interval)}"
        self._console.print(f"{text}, about {left / rate:.0f} s left", highlight=False, soft_wrap=True)
