"""The results table on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

from resit.reports.insertions import calculator_lines
from resit.reports.repeats import repeat_lines


def results_table(results: Mapping[str, Any]) -> Table:
    """One row per task and rule: score, standard error, interval, and how far to trust it.

    First the task's own metrics, as lm-eval prints them, then the rules that Resit sets beside them.
    """
    table = Table(show_edge=False, pad_edge=False, box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("Task", overflow="fold", min_width=9)
    table.add_column("Rule", overflow="fold", min_width=16)
    for name in ("Shots", "Score", "± SE", "95 % interval", "N", "Unread"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, summary in results["resit"]["tasks"].items():
        shots = results["n-shot"].get(name)
        first = (name, "" if shots is None else str(shots))
        for label, cells in _rows(results["results"][name], summary):
            table.add_row(first[0], label, first[1], *cells)
            first = ("", "")
    return table


def _rows(scores: Mapping[str, Any], summary: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    rules = summary["rules"]
    shown = set()
    for key, value in scores.items():
        metric, comma, filter_name = key.partition(",")
        if not comma or metric.endswith("_stderr"):
            continue
        rule = rules.get(filter_name)
        plain = rule is not None and metric == "exact_match" and rule.get("score") == value
        shown.add(filter_name)
        star = " *" if key == summary["headline"] else ""
        label = filter_name if metric == "exact_match" else f"{filter_name} {metric}"
        if plain and rule is not None:
            yield label + star, _cells(rule)
        else:
            error = scores.get(f"{metric}_stderr,{filter_name}")
            questions = summary["questions"]["scored"]
            partial = summary.get("partial", {}).get(key)
            count = str(partial) if partial else _count(questions, summary["samples"]["scored"])
            yield label + star, [f"{value:.4f}", _number(error), "", count, ""]
    for name, rule in rules.items():
        if name not in shown and "score" in rule:
            star = " *" if summary["headline"] == f"exact_match,{name}" else ""
            yield name + star, _cells(rule)


def _cells(rule: Mapping[str, Any]) -> list[str]:
    interval = f"{rule['ci_low']:.4f}-{rule['ci_high']:.4f}" if "ci_low" in rule else ""
    count = _count(rule["questions"], rule["samples"])
    return [
        f"{rule['score']:.4f}",
        _number(rule["standard_error"]),
        interval,
        count,
        str(rule["unextracted"]),
    ]


def _count(questions: int, samples: int) -> str:
    """Questions, and samples of each where there are several."""
    if samples == questions or not questions:
        return str(questions)
    each = samples / questions
    return f"{questions} x {each:g}" if each.is_integer() else f"{samples} of {questions}"


def _number(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else "N/A"


def footnotes(results: Mapping[str, Any]) -> Iterator[str]:
    """What the columns mean, texts that were cut, and each task's warnings."""
    yield "* the score that the task is quoted by; Unread: samples in which the rule finds no answer"
    yield from repeat_lines(results)
    yield from calculator_lines(results)
    for name, summary in results["resit"]["tasks"].items():
        samples, kinds = summary["samples"], {warning["kind"] for warning in summary["warnings"]}
        if samples["truncated"] and "truncated" not in kinds:
            yield f"{name}: {samples['truncated']} of {samples['planned']} samples cut at the token limit"
        for rule, counts in summary["rules"].items():
            if counts.get("overrun"):
                yield f"{name}: {rule} gave up on {counts['overrun']} answers, which its score excludes"
        for metric, questions in summary.get("partial", {}).items():
            asked = summary["questions"]["scored"]
            yield f"{name}: {metric} is over the {questions} of {asked} questions that have samples enough"
        for warning in summary["warnings"]:
            yield f"warning: {name}: {warning['message']}"
