"""A gate's checks for a terminal, for a CI server (JUnit XML) and for GitHub's step summary (Markdown)."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from resit.errors import ResitError
from resit.reports.comparison_table import plain_table
from resit.reports.gates import WORDS, Check, Outcome, overall
from resit.reports.wording import percent, points

_COLOURS: dict[Outcome, str] = {"pass": "green", "fail": "red", "undecided": "yellow", "refused": "red"}
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def gate_table(checks: Sequence[Check]) -> Table:
    """One row a check."""
    table = plain_table("Task", "Condition", "Questions", "Found", "One-sided limits", "Verdict", left=2)
    for check in checks:
        *cells, outcome = _row(check)
        table.add_row(*map(Text, cells), Text(outcome, style=_COLOURS[check.outcome]))
    return table


def _number(check: Check, value: float) -> str:
    """A difference in points, a score in per cent."""
    return points(value) if check.minimum_detectable_effect is not None else percent(value)


def junit_xml(run: str, checks: Sequence[Check], allow_undecided: bool = False) -> bytes:
    """A JUnit suite with a case a check: failure, error (refused design) or, where allowed, skipped."""
    suite = ET.Element(
        "testsuite",
        name=xml_text(f"resit gate {run}"),
        tests=str(len(checks)),
        failures=str(sum(_tag(check, allow_undecided) == "failure" for check in checks)),
        errors=str(sum(_tag(check, allow_undecided) == "error" for check in checks)),
        skipped=str(sum(_tag(check, allow_undecided) == "skipped" for check in checks)),
    )
    for check in checks:
        case = ET.SubElement(suite, "testcase", classname=xml_text(check.task), name=xml_text(check.name))
        tag = _tag(check, allow_undecided)
        if tag:
            ET.SubElement(case, tag, type=check.outcome, message=xml_text(_sentence(check)))
        ET.SubElement(case, "system-out").text = xml_text(_sentence(check))
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _tag(check: Check, allow_undecided: bool) -> str:
    if check.outcome == "undecided":
        return "skipped" if allow_undecided and not check.incomplete else "failure"
    return {"pass": "", "fail": "failure", "refused": "error"}[check.outcome]


def _sentence(check: Check) -> str:
    advice = f"; about {check.questions_needed} would" if check.questions_needed else ""
    return f"{WORDS[check.outcome]} ({check.reason}{advice})"


def xml_text(text: str) -> str:
    """The text without characters that XML cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def step_summary(run: str, checks: Sequence[Check]) -> str:
    """The checks as a Markdown section."""
    rows = [f"| {' | '.join(map(_cell, _row(check)))} |" for check in checks]
    return "\n".join(
        [
            f"### resit gate: {_cell(run)} — {WORDS[overall(checks)]}",
            "",
            "| Task | Condition | Questions | Found | One-sided limits | Verdict |",
            "|---|---|---:|---:|---:|---|",
            *rows,
            "",
            *(f"- {_cell(check.task)}: {_cell(_sentence(check))}" for check in checks),
            "",
        ]
    )


def _row(check: Check) -> list[str]:
    limits = f"{_number(check, check.low)} to {_number(check, check.high)}"
    outcome = WORDS[check.outcome].partition(":")[0]
    return [check.task, check.name, str(check.questions), _number(check, check.value), limits, outcome]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def gate_lines(checks: Sequence[Check]) -> list[str]:
    """A sentence a check."""
    return [f"{check.task}, {check.name}: {_sentence(check)}." for check in checks]


def write_file(path: Path, data: bytes, append: bool = False) -> None:
    """Write, or append to, a file that a CI server reads. ResitError when that cannot be done."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab" if append else "wb") as file:
            file.write(data)
    except OSError as error:
        raise ResitError(f"cannot write {path}: {error.strerror or error}") from error
