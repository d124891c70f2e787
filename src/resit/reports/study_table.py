"""The table of a study: one row for each model and task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

_STATUS = {0: "done", 5: "too many errors", 130: "interrupted"}


def study_table(summary: Mapping[str, Any]) -> Table:
    """The runs of `study.json` with the score that each is quoted by, and what became of them."""
    table = Table(show_edge=False, pad_edge=False, box=None, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("Model", "Task", "Rule"):
        table.add_column(name, overflow="fold")
    for name in ("Score", "± SE", "95 % interval", "N"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("Status", no_wrap=True)
    for run in summary["runs"]:
        cells = (run["model"], run["task"], _rule(run["headline"]), *_figures(run), _status(run))
        table.add_row(*(Text(cell) for cell in cells))
    return table


def study_notes(summary: Mapping[str, Any]) -> Iterator[str]:
    """A line for each run that did not end well, and one that counts what the others warn of."""
    for run in summary["runs"]:
        if run["message"]:
            yield f"{run['model']}, {run['task']}: {run['message']}"
    warned = [f"{run['model']}/{run['task']}" for run in summary["runs"] if run["warnings"]]
    if warned:
        yield f"warnings about {', '.join(warned)}; `resit score FOLDER` shows them"


def _rule(headline: str) -> str:
    return headline.removeprefix("exact_match,")


def _figures(run: Mapping[str, Any]) -> tuple[str, str, str, str]:
    interval = "" if run["ci_low"] is None else f"{run['ci_low']:.4f}-{run['ci_high']:.4f}"
    questions = "" if run["questions"] is None else str(run["questions"])
    return _number(run["score"]), _number(run["standard_error"]), interval, questions


def _number(value: Any) -> str:
    return "" if value is None else f"{value:.4f}"


def _status(run: Mapping[str, Any]) -> str:
    return _STATUS.get(run["exit_status"], f"failed ({run['exit_status']})")
