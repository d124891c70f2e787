"""All checks over one task."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from resit.reports.graded import Graded
from resit.reports.warnings.answers import Verdicts
from resit.reports.warnings.finding import Check, Finding, Setting
from resit.reports.warnings.prompts import Beginnings, Ceiling
from resit.reports.warnings.texts import Blank, Endings, Repetition, Sameness, Stopping


def _checks() -> list[Check]:
    return [Verdicts(), Endings(), Stopping(), Blank(), Repetition(), Sameness(), Beginnings(), Ceiling()]


@dataclass(slots=True)
class WarningTally:
    """Takes in a task's questions one at a time; `warnings` are what they add up to."""

    present: int = 0
    errored: int = 0
    checks: list[Check] = field(default_factory=_checks)

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
            message = (
                f"{self.errored} of {planned} samples errored; they are excluded, not wrong, and owed again"
            )
            found.append(Finding("errored-samples", message, {"count": self.errored, "samples": planned}))
        return found
