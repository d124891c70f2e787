"""A report as JSON, CSV and JUnit XML."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from typing import Any

from resit.reports.gate_output import xml_text
from resit.reports.tables.entries import Entry, Report

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for a formula when a cell begins with it."""
COLUMNS = (
    "run", "model", "task", "rule", "label", "quoted", "score", "standard_error", "ci_low", "ci_high",
    "questions", "questions_planned", "samples", "planned", "unextracted", "truncated", "errored", "missing",
    "num_fewshot", "protocol_digest", "identity_digest", "created", "warnings",
)  # fmt: skip


def json_text(report: Report) -> str:
    """The report as one JSON object."""
    return json.dumps(report.as_json(), ensure_ascii=True, indent=2) + "\n"


def csv_text(report: Report) -> str:
    """One row for each run, task and rule; shares are fractions, what is unknown is empty."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for entry in report.entries:
        for row in _rows(entry):
            writer.writerow({key: _cell(value) for key, value in row.items()})
    return out.getvalue()


def _rows(entry: Entry) -> Iterator[dict[str, Any]]:
    told = entry.standing
    counts = told["counts"]
    for figure in told["figures"]:
        yield {
            "run": entry.run,
            "model": entry.model,
            "task": entry.task,
            "rule": figure["rule"],
            "label": figure["label"],
            "quoted": int(figure["quoted"]),
            "score": figure["score"],
            "standard_error": figure["standard_error"],
            "ci_low": figure["low"],
            "ci_high": figure["high"],
            "questions": figure["questions"],
            "questions_planned": counts["questions_planned"],
            "samples": figure["samples"],
            "planned": counts["planned"],
            "unextracted": figure["unextracted"],
            "truncated": counts["truncated"],
            "errored": counts["errored"],
            "missing": counts["missing"],
            "num_fewshot": entry.num_fewshot,
            "protocol_digest": entry.protocol,
            "identity_digest": entry.identity,
            "created": entry.created,
            "warnings": "; ".join(warning["message"] for warning in told["warnings"]),
        }


def _cell(value: Any) -> Any:
    """A value, with text that a spreadsheet would compute marked as text."""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value


def junit_xml(report: Report) -> bytes:
    """A suite for each run and task: a case for each score, and one that fails when samples are not measured.

    A score alone is neither a pass nor a failure: `resit gate` holds one against a bound.
    """
    root = ET.Element("testsuites", name="resit report")
    for entry in report.entries:
        root.append(_suite(entry))
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _suite(entry: Entry) -> ET.Element:
    told = entry.standing
    unmeasured = told["counts"]["errored"] + told["counts"]["missing"]
    suite = ET.Element("testsuite", name=xml_text(f"{entry.run}: {entry.task}"))
    suite.set("tests", str(len(told["figures"]) + 1))
    suite.set("failures", "0")
    suite.set("errors", str(int(unmeasured > 0)))
    about = {"model": entry.model, "protocol_digest": entry.protocol, "identity_digest": entry.identity}
    _properties(suite, {**about, **told["counts"]})
    for figure in told["figures"]:
        case = ET.SubElement(
            suite, "testcase", classname=xml_text(entry.task), name=xml_text(figure["label"])
        )
        limits = {"low": "ci_low", "high": "ci_high"}
        _properties(case, {limits.get(key, key): value for key, value in figure.items() if key != "label"})
    case = ET.SubElement(suite, "testcase", classname=xml_text(entry.task), name="all samples measured")
    if unmeasured:
        counts = told["counts"]
        said = f"{counts['errored']} of {counts['planned']} samples errored, {counts['missing']} are missing"
        ET.SubElement(case, "error", type="unmeasured", message=said)
    messages = [f"{warning['kind']}: {warning['message']}" for warning in told["warnings"]]
    ET.SubElement(suite, "system-out").text = xml_text("\n".join([told["claim"], *messages]))
    return suite


def _properties(parent: ET.Element, values: Mapping[str, Any]) -> None:
    found = ET.SubElement(parent, "properties")
    for name, value in values.items():
        if value is not None and value != "":
            ET.SubElement(found, "property", name=name, value=xml_text(str(value)))
