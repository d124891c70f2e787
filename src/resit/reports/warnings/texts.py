"""Suspicions about texts: empty, endless, all the same, stopped in the middle of a thought."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from resit.records import Generation, SampleScore
from resit.reports.graded import Graded
from resit.reports.warnings.finding import Cases, Finding, Setting, measured, percent

EMPTY_SHARE = 0.01
REPETITION_SHARE = 0.02
STOPPED_SHARE = 0.05
REASONING_SHARE = 0.01
IDENTICAL_SHARE = 0.9
"""Share of the questions whose repeats are one text: nearly all."""
LOOP = 120
"""Characters at the end of a text that have to be one unit over and over."""
_TAIL = 16
_TURNS = 4
"""Times that the unit has to be there at least."""
_OPEN, _CLOSED = "<think>", "</think>"


def loops(text: str) -> bool:
    """Whether a text ends in one unit over and over: four times or more, 120 characters or more."""
    tail = text[-_TAIL:]
    before = text.rfind(tail, 0, -1)
    if len(text) < LOOP or before < 0:
        return False
    period = len(text) - _TAIL - before
    turns = max(_TURNS, -(-LOOP // period))
    return text.endswith(text[-period:] * turns)


@dataclass(slots=True)
class Endings:
    """Texts that do not say how they ended."""

    samples: int = 0
    unknown: int = 0

    def add(self, item: Graded) -> None:
        """Count a question's samples."""
        for generation in measured(item):
            self.samples += 1
            self.unknown += generation.finish_reason == "unknown"

    def findings(self, setting: Setting) -> list[Finding]:
        """Where truncation cannot be seen."""
        if not self.unknown:
            return []
        message = f"how {percent(self.unknown, self.samples)} texts ended is unknown; none counts as cut"
        return [Finding("end-unknown", message, {"count": self.unknown, "samples": self.samples})]


@dataclass(slots=True)
class Blank:
    """Texts with nothing in them."""

    samples: int = 0
    empty: Cases = field(default_factory=Cases)
    tokens: int = 0
    """Empty texts for which tokens were generated all the same: something took them away."""

    def add(self, item: Graded) -> None:
        """Count a question's samples."""
        for generation in measured(item):
            self.samples += 1
            if not generation.text or generation.text.isspace():
                self.empty.add(generation)
                self.tokens += (generation.completion_tokens or 0) > 1

    def findings(self, setting: Setting) -> list[Finding]:
        """Empty texts."""
        if not self.empty.count or self.empty.count < EMPTY_SHARE * self.samples:
            return []
        spent = f"; for {self.tokens} of them the model wrote tokens all the same" if self.tokens else ""
        message = f"{percent(self.empty.count, self.samples)} texts are empty{spent}"
        evidence = {**self.empty.evidence(self.samples), "with_tokens": self.tokens}
        return [Finding("empty-texts", message, evidence)]


@dataclass(slots=True)
class Repetition:
    """Texts that go round in a circle."""

    samples: int = 0
    endless: Cases = field(default_factory=Cases)

    def add(self, item: Graded) -> None:
        """Count a question's samples."""
        for generation in measured(item):
            self.samples += 1
            if loops(generation.text):
                self.endless.add(generation)

    def findings(self, setting: Setting) -> list[Finding]:
        """Endless repetition."""
        if not self.endless.count or self.endless.count < REPETITION_SHARE * self.samples:
            return []
        message = f"{percent(self.endless.count, self.samples)} texts end in one phrase over and over"
        return [Finding("endless-repetition", message, self.endless.evidence(self.samples))]


@dataclass(slots=True)
class Sameness:
    """Repeats of a question that are all one text although they were sampled."""

    repeated: int = 0
    """Questions with more than one sample."""
    samples: int = 0
    same: Cases = field(default_factory=Cases)
    seeds: int = 0
    """Questions whose repeats were asked for with different seeds."""

    def add(self, item: Graded) -> None:
        """Compare a question's samples."""
        generations = measured(item)
        if len(generations) < 2:
            return
        self.repeated += 1
        self.samples += len(generations)
        if len({generation.text for generation in generations}) == 1:
            self.same.add(generations[0])
            self.seeds += len({generation.seed for generation in generations}) > 1

    def findings(self, setting: Setting) -> list[Finding]:
        """Identical repeats, unless the texts are greedy."""
        if setting.temperature == 0 or self.samples < 4 or self.same.count < IDENTICAL_SHARE * self.repeated:
            return []
        how = "" if setting.temperature is None else f" although the temperature is {setting.temperature:g}"
        seeds = "; their seeds differ, so the server ignores them or does not sample" if self.seeds else ""
        message = (
            f"the repeats of {percent(self.same.count, self.repeated)} questions are one and the same text"
            f"{how}{seeds}: votes and intervals over them mean nothing"
        )
        evidence = {
            "count": self.same.count,
            "questions": self.repeated,
            "share": round(self.same.count / self.repeated, 4),
            "temperature": setting.temperature,
            "with_other_seeds": self.seeds,
            "examples": self.same.evidence(self.repeated)["examples"],
        }
        return [Finding("identical-repeats", message, evidence)]


@dataclass(slots=True)
class Stopping:
    """Texts that a stop string ended too early."""

    samples: int = 0
    inside: Cases = field(default_factory=Cases)
    """Stopped within unfinished reasoning."""
    inside_by: Counter[str] = field(default_factory=Counter)
    early: Cases = field(default_factory=Cases)
    """Stopped without an answer."""
    early_by: Counter[str] = field(default_factory=Counter)

    def add(self, item: Graded) -> None:
        """Count a question's samples."""
        for generation, score in zip(item.generations, item.score.samples, strict=True):
            if score.error is not None:
                continue
            self.samples += 1
            if generation.stop is None:
                continue
            if _unfinished(generation):
                self.inside.add(generation)
                self.inside_by[generation.stop] += 1
            elif _unread(score):
                self.early.add(generation)
                self.early_by[generation.stop] += 1

    def findings(self, setting: Setting) -> list[Finding]:
        """Stops inside reasoning, and stops without an answer."""
        found = []
        if self.inside.count and self.inside.count >= REASONING_SHARE * self.samples:
            message = (
                f"{percent(self.inside.count, self.samples)} texts were stopped by "
                f"{_strings(self.inside_by)} within their reasoning; the stop strings are not meant for "
                "a model that thinks aloud"
            )
            found.append(
                _by_stop("stop-inside-reasoning", message, self.inside, self.inside_by, self.samples)
            )
        if self.early.count and self.early.count >= STOPPED_SHARE * self.samples:
            message = (
                f"{percent(self.early.count, self.samples)} texts were stopped by {_strings(self.early_by)} "
                "before any answer"
            )
            found.append(_by_stop("stopped-without-answer", message, self.early, self.early_by, self.samples))
        return found


def _unfinished(generation: Generation) -> bool:
    text = generation.text
    return _OPEN in text and text.rfind(_OPEN) > text.rfind(_CLOSED)


def _unread(score: SampleScore) -> bool:
    """Whether `robust`, or without it every rule, found no answer."""
    robust = score.verdicts.get("robust")
    return robust.extracted is None if robust else all(v.extracted is None for v in score.verdicts.values())


def _strings(stops: Counter[str]) -> str:
    return ", ".join(map(repr, sorted(stops)))


def _by_stop(kind: str, message: str, cases: Cases, stops: Counter[str], samples: int) -> Finding:
    return Finding(kind, message, {**cases.evidence(samples), "by_stop": dict(sorted(stops.items()))})
