"""A report as Markdown: for a README, an issue, a CI server's summary."""

from __future__ import annotations

import re
from collections.abc import Iterator

from resit.reports.page.data import Figure
from resit.reports.tables.entries import Entry, Report

_SPECIAL = re.compile(r"([\\`*_\[\]|~#])")


def markdown(report: Report) -> str:
    """A section for each task of each run, then comparisons and gaps."""
    lines = [f"# {escaped(report.summary['title'])}", ""]
    for entry in report.entries:
        lines += _section(entry)
    compared = [one for task in report.summary["tasks"] for one in task["comparisons"]]
    if compared:
        lines += ["## Compared", "", *(f"- {escaped(one['verdict'])}" for one in compared), ""]
    if report.summary["gaps"]:
        gaps = [f"- {escaped(gap['model'])}: {escaped(gap['verdict'])}" for gap in report.summary["gaps"]]
        lines += ["## Seen against fresh questions", "", *gaps, ""]
    if report.summary["notes"]:
        lines += ["## Not shown", "", *(f"- {escaped(note)}" for note in report.summary["notes"]), ""]
    return "\n".join(lines)


def _section(entry: Entry) -> Iterator[str]:
    told = entry.standing
    yield from (f"## {escaped(entry.run)}: {escaped(entry.task)}", "", escaped(told["claim"]), "")
    yield "| Rule | Score | 95 % interval | ± SE | Questions | Samples | Unread |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    yield from map(_row, told["figures"])
    counts = told["counts"]
    yield ""
    yield (
        f"{counts['samples']} of {counts['planned']} samples measured, {counts['truncated']} cut, "
        f"{counts['errored']} errored, {counts['missing']} missing."
    )
    for warning in told["warnings"]:
        yield f"\n> **{escaped(warning['kind'])}**: {escaped(warning['message'])}"
    yield from ("", *_digests(entry), "")


def _row(figure: Figure) -> str:
    name = escaped(figure["label"])
    cells = (
        f"**{name}**" if figure["quoted"] else name,
        f"{100 * figure['score']:.1f} %",
        interval(figure, "{:.1f} to {:.1f} %"),
        "" if figure["standard_error"] is None else f"{100 * figure['standard_error']:.1f}",
        str(figure["questions"]),
        str(figure["samples"]),
        "" if figure["unextracted"] is None else str(figure["unextracted"]),
    )
    return f"| {' | '.join(cells)} |"


def interval(figure: Figure, form: str) -> str:
    """The interval's limits in per cent, put into a form; empty where there is none."""
    low, high = figure["low"], figure["high"]
    return "" if low is None or high is None else form.format(100 * low, 100 * high)


def _digests(entry: Entry) -> Iterator[str]:
    shots = "" if entry.num_fewshot is None else f"{entry.num_fewshot}-shot, "
    protocol = f"protocol `{entry.protocol}`, " if entry.protocol else "protocol unrecorded, "
    yield f"{shots}{protocol}identity `{entry.identity or 'unrecorded'}`"


def escaped(text: str) -> str:
    """Text that is nothing but text in Markdown, HTML included, on one line."""
    line = " ".join(text.split())
    quoted = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", quoted)
