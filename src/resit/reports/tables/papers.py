"""A report for papers and model cards: rows of a LaTeX table, and Hugging Face's `model-index`."""

from __future__ import annotations

import unicodedata
from typing import Any

import yaml

from resit.reports.page.data import Figure
from resit.reports.tables.entries import Entry, Report
from resit.reports.tables.markdown import interval

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def latex(report: Report) -> str:
    r"""A `tabular` with booktabs' rules and a row for each score; rows can be taken out line by line.

    Needs `\usepackage{booktabs}`. A comment behind each row has the digests of its protocol and identity.
    """
    lines = [
        r"\begin{tabular}{lllrrr}",
        r"\toprule",
        r"Model & Task & Rule & Score (\%) & 95\,\% interval & $n$ \\",
        r"\midrule",
    ]
    for entry in report.entries:
        lines += [_row(entry, figure) for figure in entry.standing["figures"]]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _row(entry: Entry, figure: Figure) -> str:
    score = f"{100 * figure['score']:.1f}"
    cells = (
        latex_text(entry.model),
        latex_text(entry.task),
        latex_text(figure["label"]),
        rf"\textbf{{{score}}}" if figure["quoted"] else score,
        interval(figure, "[{:.1f}, {:.1f}]"),
        str(figure["questions"]),
    )
    digests = (
        f"protocol {entry.protocol[:12] or 'unrecorded'}, identity {entry.identity[:12] or 'unrecorded'}"
    )
    return rf"{' & '.join(cells)} \\ % {digests}"


def latex_text(text: str) -> str:
    """Text that LaTeX sets as it is, on one line."""
    line = " ".join(
        "".join(c for c in text if unicodedata.category(c) not in ("Cc", "Cf", "Cs") or c.isspace()).split()
    )
    return "".join(_LATEX.get(character, character) for character in line)


def model_index(report: Report) -> str:
    """Metadata for a model card's head, as YAML: each model with its tasks, data sets and scores.

    Every score has its interval, n and rule under `args`; its `type` is the metric that its label names, else
    exact_match. The first metric of a task is the quoted one.
    """
    models: dict[str, list[dict[str, Any]]] = {}
    for entry in report.entries:
        if entry.standing["figures"]:
            models.setdefault(entry.model, []).append(_result(entry))
    index = [{"name": name, "results": results} for name, results in models.items()]
    return yaml.safe_dump({"model-index": index}, sort_keys=False, allow_unicode=False, width=100)


def _result(entry: Entry) -> dict[str, Any]:
    dataset = entry.dataset
    path = str(dataset.get("path") or entry.task)
    about = {"name": entry.task, "type": path, "config": dataset.get("name"), "split": dataset.get("split")}
    figures = sorted(entry.standing["figures"], key=lambda figure: not figure["quoted"])
    shots = "" if entry.num_fewshot is None else f", {entry.num_fewshot}-shot"
    return {
        "task": {"type": "text-generation", "name": f"{entry.task}{shots}"},
        "dataset": {key: value for key, value in about.items() if value is not None},
        "metrics": [_metric(entry, figure) for figure in figures],
    }


def _metric(entry: Entry, figure: Figure) -> dict[str, Any]:
    counts = entry.standing["counts"]
    about = {
        "rule": figure["rule"],
        "num_fewshot": entry.num_fewshot,
        "standard_error": figure["standard_error"],
        "ci_low": figure["low"],
        "ci_high": figure["high"],
        "questions": figure["questions"],
        "samples": figure["samples"],
        "unextracted": figure["unextracted"],
        "truncated": counts["truncated"],
        "errored": counts["errored"],
        "missing": counts["missing"],
        "protocol_digest": entry.protocol or None,
        "identity_digest": entry.identity or None,
    }
    return {
        "type": figure["label"].removeprefix(figure["rule"]).strip() or "exact_match",
        "name": figure["label"],
        "value": figure["score"],
        "args": {key: value for key, value in about.items() if value is not None},
    }
