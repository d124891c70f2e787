"""Records of alignment: what a task gives beside its reference implementation, as it was measured.

One file a task, written by `python -m benchmarks.alignment`; `docs/alignment.md` explains the fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from resit.errors import UsageError

FOLDER = Path(__file__).parent / "alignment"
Verdict = Literal["equal", "agrees", "differs"]


class _Keys(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Measured(_Keys):
    """The implementation that a task was measured against."""

    implementation: str = Field(min_length=1)
    version: str = Field(min_length=1, description="release or commit")
    sha256: str = Field(default="", description="of the release's wheel")


class Model(_Keys):
    """The model that both sides asked."""

    name: str = Field(min_length=1)
    sha256: str = Field(pattern="^[0-9a-f]{64}$", description="of the weights' file")
    engine: str = Field(min_length=1)


class Responses(_Keys):
    """The responses that both sides read."""

    name: str = Field(min_length=1)
    source: str = Field(min_length=1)
    licence: str = ""


class RuleScores(_Keys):
    """One rule's scores of both sides, as fractions, and how many samples they judge alike."""

    ours: float = Field(ge=0, le=1)
    theirs: float = Field(ge=0, le=1)
    interval: tuple[float, float] = Field(description="95 %, of our score (Wilson)")
    difference_interval: tuple[float, float] = Field(description="95 %, of ours less theirs (Tango, paired)")
    same_verdicts: int = Field(ge=0)
    same_answers: int = Field(ge=0)


class Vectors(_Keys):
    """What the reference itself gave for given inputs, and how much of it is given here."""

    n: int = Field(gt=0)
    same: int = Field(ge=0)


class Sent(_Keys):
    """The settings that went to the server with each prompt."""

    both: dict[str, Any]
    ours_only: dict[str, Any]
    theirs_only: dict[str, Any]


class Record(_Keys):
    """One measurement."""

    kind: Literal["side-by-side", "replay", "vectors", "twin"]
    reference: Measured
    model: Model | None = None
    responses: Responses | None = None
    vectors: dict[str, Vectors] | None = None
    twin: str = Field(default="", description="the aligned task that this one differs from in its questions")
    questions: str = ""
    n: int | None = Field(default=None, gt=0)
    same_prompts: int | None = None
    same_references: int | None = None
    same_texts: int | None = None
    rules: dict[str, RuleScores] = {}
    sent: Sent | None = None
    verdict: Verdict
    resit: str = Field(min_length=1, description="Resit's version")
    date: str = Field(pattern=r"^\d{4}-\d\d-\d\d$")
    command: str = Field(min_length=1)

    @model_validator(mode="after")
    def _whole(self) -> Record:
        wanted = {
            "side-by-side": (self.model, self.sent, self.n, self.rules),
            "replay": (self.responses, self.n, self.rules),
            "vectors": (self.vectors,),
            "twin": (self.twin,),
        }[self.kind]
        if not all(wanted):
            raise ValueError(f"a record of kind {self.kind} lacks what it is of")
        found = self.model_dump()
        if self.kind != "twin" and self.verdict != verdict_of(found):
            raise ValueError(f"its verdict is {self.verdict!r}, its figures say {verdict_of(found)!r}")
        return self


def verdict_of(found: Mapping[str, Any]) -> Verdict:
    """What a record's figures say.

    `equal`: prompts, references, texts, answers and verdicts are the same. `agrees`: prompts and references
    are, some texts differ, and no score by more than chance allows. Otherwise `differs`.
    """
    if found.get("vectors"):
        return "equal" if all(v["same"] == v["n"] for v in found["vectors"].values()) else "differs"
    n, rules = found["n"], found["rules"].values()
    if not found["same_prompts"] == found["same_references"] == n:
        return "differs"
    if found["same_texts"] == n:  # the same texts must be read the same
        alike = all(rule["same_verdicts"] == rule["same_answers"] == n for rule in rules)
        return "equal" if alike else "differs"
    within = all(rule["difference_interval"][0] <= 0 <= rule["difference_interval"][1] for rule in rules)
    return "agrees" if within else "differs"


def recorded(folder: Path | None = None) -> tuple[str, ...]:
    """The tasks that have a file of records."""
    return tuple(sorted(file.stem for file in (folder or FOLDER).glob("*.yaml")))


def records(task: str, folder: Path | None = None) -> tuple[Record, ...]:
    """The task's records; none where it has no file. Raises UsageError for one that is not whole."""
    import yaml

    file = (folder or FOLDER) / f"{task}.yaml"
    if not file.exists():
        return ()
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        if not isinstance(content, dict) or content.get("task") != task:
            raise ValueError(f"expected `task: {task}` and `records`")
        return tuple(Record.model_validate(entry) for entry in content["records"])
    except (ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        raise UsageError(f"{file.name}: {_told(error)}", "make it again: docs/alignment.md") from None


def _told(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else str(first["msg"])
