"""Plugs run folders and the formats of a report together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from resit import jsonl
from resit.cli.run_sources import FolderSource, scored_source
from resit.errors import UsageError
from resit.reports.page.report import html_report
from resit.tasks.names import pairs

Write = Callable[[Sequence[FolderSource], Path], list[Path]]


def write_report(
    runs: Sequence[Path], target: Path | None, format: str = "", trust: bool = False
) -> list[Path]:
    """Write a report of the runs; the files written. Without a format the target's ending decides.

    Raises UsageError for an unknown format, and where a run is none or cannot be scored.
    """
    chosen = format or (target.suffix.lstrip(".") if target and target.suffix else "html")
    if chosen not in FORMATS:
        raise UsageError(f"--format: expected {', '.join(FORMATS)}, found {chosen!r}")
    sources = [scored_source(run, trust) for run in runs]
    return FORMATS[chosen](sources, target or runs[0] / f"report.{chosen}")


def _html(sources: Sequence[FolderSource], target: Path) -> list[Path]:
    notes = [
        f"{source.path.name}: {len(source.problems)} lines of the journal could not be used; "
        "their samples are missing here"
        for source in sources
        if source.problems
    ]
    declared = [(pair.seen, pair.fresh) for pair in pairs().values()]
    text = html_report(sources, declared, notes)
    jsonl.write_atomic(target, text.encode("utf-8"))
    return [target]


FORMATS: dict[str, Write] = {"html": _html}
"""What `resit report --format` writes, and how."""
