"""Plugs run folders and the formats of a report together."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from resit import jsonl
from resit.cli.declared import declared_pairs
from resit.cli.run_sources import FolderSource, scored_source
from resit.errors import UsageError
from resit.reports.page.report import gather_all, html_report
from resit.reports.page.summary import labelled, summary
from resit.reports.results import read_results
from resit.reports.tables import markdown, papers, plain
from resit.reports.tables.entries import NO_TEXTS, Report, report_of
from resit.reports.tables.pictures import Kind, pictures

Sources = Sequence[FolderSource]
STANDARD_OUTPUT = Path("-")


class Format(NamedTuple):
    """A format of a report: the ending of its files, and how it is written."""

    ending: str
    write: Callable[[Sources, Path], list[Path]]


def write_report(
    runs: Sequence[Path], target: Path | None, format: str = "", trust: bool = False
) -> list[Path]:
    """Write a report of the runs; the files written. Without a format the target's ending decides.

    Raises UsageError for an unknown format, and where a run is none or cannot be scored.
    """
    ending = target.suffix.lstrip(".") if target else ""
    by_ending = {known.ending: name for name, known in FORMATS.items()}
    chosen = format or (by_ending.get(ending, ending) if ending else "html")
    if chosen not in FORMATS:
        raise UsageError(f"--format: expected {', '.join(FORMATS)}, found {chosen!r}")
    sources = [scored_source(run, trust) for run in runs]
    wanted = FORMATS[chosen]
    return wanted.write(sources, target or runs[0] / f"report.{wanted.ending}")


def _html(sources: Sources, target: Path) -> list[Path]:
    notes = [
        f"{source.path.name}: {len(source.problems)} lines of the journal could not be used; "
        "their samples are missing here"
        for source in sources
        if source.problems
    ]
    return _written(target, html_report(sources, declared_pairs(), notes).encode("utf-8"))


def _table(make: Callable[[Report], str | bytes], sources: Sources, target: Path) -> list[Path]:
    runs = labelled(sources, [read_results(source.path) for source in sources])
    made = make(report_of(runs, declared_pairs()))
    return _written(target, made if isinstance(made, bytes) else made.encode("utf-8", "backslashreplace"))


def _pictures(kind: Kind, sources: Sources, target: Path) -> list[Path]:
    """Into the folder `target`, or beside it as `target-CHART` where it is the name of a file."""
    if target == STANDARD_OUTPUT:
        raise UsageError("a report has several charts, so standard output cannot hold them", "-o FOLDER")
    runs = labelled(sources, [read_results(source.path) for source in sources])
    whole, specs = summary(runs, gather_all(runs), declared_pairs(), NO_TEXTS)
    charts = {entry["id"]: (entry["title"], specs[entry["id"]]) for entry in whole["charts"]}
    named = target.suffix == f".{kind}"
    folder, prefix = (target.parent, f"{target.stem}-") if named else (target, "")
    jsonl.make_folder(folder)
    return [
        written
        for name, picture in pictures(charts, kind)
        for written in _written(folder / f"{prefix}{_file_name(name)}.{kind}", picture)
    ]


def _file_name(chart: str) -> str:
    return re.sub(r"[^\w.=@+-]+", "_", chart)


def _written(target: Path, content: bytes) -> list[Path]:
    """Write a file, or to standard output for `-`; what was written."""
    if target == STANDARD_OUTPUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return []
    jsonl.make_folder(target.parent)
    jsonl.write_atomic(target, content)
    return [target]


FORMATS: dict[str, Format] = {
    "html": Format("html", _html),
    "md": Format("md", partial(_table, markdown.markdown)),
    "json": Format("json", partial(_table, plain.json_text)),
    "csv": Format("csv", partial(_table, plain.csv_text)),
    "junit": Format("xml", partial(_table, plain.junit_xml)),
    "model-index": Format("yaml", partial(_table, papers.model_index)),
    "latex": Format("tex", partial(_table, papers.latex)),
    "png": Format("png", partial(_pictures, "png")),
    "svg": Format("svg", partial(_pictures, "svg")),
}
"""What `resit report --format` writes, and how."""
