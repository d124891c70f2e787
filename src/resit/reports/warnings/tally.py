"""All checks over one task."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from resit.reports.graded import Graded
from resit.reports.warnings.answers import Verdicts
from resit.reports.warnings.finding import Check, Finding, Setting
from resit.reports.warnings.prompts import Beginnings, Ceiling
from resit.reports.warnings.texts import Blank, Endings, Repetition, Sameness, Stopping


@dataclass(slots=True)
class WarningTally:
    """Takes in a task's questions one at a time; `warnings` are what they add up to."""

    present: int = 0
    errored: int = 0
    verdicts: Verdicts = field(default_factory=Verdicts)
    endings: Endings = field(default_factory=Endings)
    stopping: Stopping = field(default_factory=Stopping)
    blank: Blank = field(default_factory=Blank)
    repetition: Repetition = field(default_factory=Repetition)
    sameness: Sameness = field(default_factory=Sameness)
    beginnings: Beginnings = field(default_factory=Beginnings)
    ceiling: Ceiling = field(default_factory=Ceiling)

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks, in the order in which warnings are given."""
        return (
            self.verdicts,
            self.endings,
            self.stopping,
            self.blank,
            self.repetition,
            self.sameness,
            self.beginnings,
            self.ceiling,
        )

    def add(self, item: Graded) -> None:
        """Take in one question."""
        self.present += len(item.generations)
        self.errored += sum(generation.error is not None for generation in item.generations)
        for check in self.checks:
            check.add(item)

    def warnings(self, setting: Setting) -> list[dict[str, Any]]:
        """The warnings as `results.json` has them, always in the same order."""
        found = [finding for check in self.checks for finding in check.findings(setting)]
        return [finding.as_json() for finding in [*self._missing(setting), *found]]

    def _missing(self, setting: Setting) -> list[Finding]:
        """Samples that the score is without, because they were not generated or errored."""
        found = []
        planned = max(setting.planned or 0, self.present)
        if missing := planned - self.present:
            message = f"{missing} of {planned} samples are not generated yet; the score is of the others"
            found.append(Finding("missing-samples", message, {"count": missing, "samples": planned}))
        if self.errored:
            found.append(self._errored(setting, planned))
        return found

    def _errored(self, setting: Setting, planned: int) -> Finding:
        """What errored, with the score of what was measured and the one that counts the rest as wrong."""
        rule = setting.headline if setting.headline in self.verdicts.rules else ""
        evidence: dict[str, Any] = {"count": self.errored, "samples": planned}
        message = f"{self.errored} of {planned} samples errored; they are excluded, not wrong, and owed again"
        if rule and self.verdicts.samples:
            right = self.verdicts.right[rule]
            measured, of_all = right / self.verdicts.samples, right / (self.verdicts.samples + self.errored)
            message += f" ({rule} of the measured ones {measured:.4f}, of all {of_all:.4f})"
            evidence |= {"rule": rule, "right": right, "measured": self.verdicts.samples}
        return Finding("errored-samples", message, evidence)
