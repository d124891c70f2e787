"""The words that warnings are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from resit.records import Generation
from resit.reports.graded import Graded

KINDS: Mapping[str, str] = {
    "missing-samples": "samples of the plan were not generated yet",
    "errored-samples": "samples errored; with the score of the others, and that with these as wrong",
    "zero-accuracy": "20 samples or more, and not one right under the rule that the task is quoted by",
    "unextracted": "in a tenth of the samples or more even the rule that reads most finds no answer",
    "rule-below-robust": "a rule scores five points or more below `robust`: it measures form as well",
    "truncated": "a twentieth of the samples or more was cut at the token limit; with the others' score",
    "end-unknown": "an import does not say how its texts ended, so truncation cannot be seen",
    "stop-inside-reasoning": "a stop string ended one text in a hundred or more within unfinished reasoning",
    "stopped-without-answer": "a stop string ended a twentieth of the texts or more before any answer",
    "empty-texts": "one text in a hundred or more is empty; with how many of these cost tokens",
    "endless-repetition": "one text in fifty or more ends in one phrase over and over",
    "identical-repeats": "the repeats of nine questions in ten or more are one text, though sampled",
    "double-bos": "a prompt begins with a beginning-of-text token as text, which most tokenizers add too",
    "prompts-cut": "a tenth of the prompts or more, of different length, count as one largest token number",
}
"""Each kind of warning, and when it is given; in the order in which they are given."""

_SHOWN = 3
"""Samples that the evidence names."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One suspicion: what it is, in a sentence, and the figures and samples that it rests on."""

    kind: str
    message: str
    evidence: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """The entry of `resit.tasks.<task>.warnings`."""
        return {"kind": self.kind, "message": self.message, "evidence": dict(self.evidence)}


@dataclass(frozen=True, slots=True)
class Setting:
    """What a run was asked to do, as far as warnings need it; None: unknown."""

    headline: str = ""
    """The rule that the task is quoted by."""
    temperature: float | None = None
    max_tokens: int | None = None
    planned: int | None = None
    """Samples of the finished run."""


class Check(Protocol):
    """Looks at one question after the other, and says at the end what it suspects."""

    def add(self, item: Graded) -> None: ...

    def findings(self, setting: Setting) -> list[Finding]: ...


@dataclass(slots=True)
class Cases:
    """A count of samples, and the first few by name."""

    count: int = 0
    first: list[dict[str, int]] = field(default_factory=list)

    def add(self, generation: Generation) -> None:
        """Count a sample."""
        self.count += 1
        if self.count <= _SHOWN:
            self.first.append({"doc_id": generation.doc_id, "repeat": generation.repeat})

    def evidence(self, of: int) -> dict[str, Any]:
        """The count as a share of `of` samples, and the samples."""
        return {
            "count": self.count,
            "samples": of,
            "share": round(self.count / of, 4),
            "examples": self.first[:_SHOWN],
        }


def percent(part: int, whole: int) -> str:
    """`12 of 50 (24.0 %)`."""
    return f"{part} of {whole} ({part / whole:.1%})".replace("%)", " %)")


def measured(item: Graded) -> list[Generation]:
    """The question's samples that did not error."""
    return [generation for generation in item.generations if generation.error is None]
