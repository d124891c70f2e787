"""What may be wrong with a run, each suspicion with its evidence.

Everything here is a pure function of questions, samples and verdicts, taken in one question at a time: the
same run always gives the same warnings, and a run of any size needs little memory.
"""

from __future__ import annotations

from resit.reports.warnings.finding import Finding, Setting
from resit.reports.warnings.tally import WarningTally

__all__ = ["Finding", "Setting", "WarningTally"]
