"""The samples on which a run's rules disagree, by kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from resit.grading.differences import KINDS, Disagreement, count_kinds, disagreements
from resit.reports.graded import Graded

EXAMPLES = 5
"""Samples of each kind that are shown."""


def disagreements_of(items: Iterable[Graded]) -> list[Disagreement]:
    """Every sample and rule whose verdict differs from that of `robust`."""
    pairs = (
        (score, generation.text)
        for item in items
        for score, generation in zip(item.score.samples, item.generations, strict=True)
        if generation.error is None
    )
    return list(disagreements(pairs))


def disagreements_json(found: Mapping[str, list[Disagreement]]) -> dict[str, Any]:
    """By task, the counts by rule and kind, and every sample."""
    return {
        "kinds": dict(KINDS),
        "tasks": {
            task: {"counts": count_kinds(own), "samples": [_sample(one) for one in own]}
            for task, own in found.items()
        },
    }


def _sample(one: Disagreement) -> dict[str, Any]:
    return {
        "doc_id": one.sample.doc_id,
        "doc_hash": one.sample.doc_hash,
        "repeat": one.sample.repeat,
        "rule": one.rule,
        "kind": one.kind,
        "robust": {"extracted": one.reference.extracted, "correct": one.reference.correct},
        "other": {"extracted": one.other.extracted, "correct": one.other.correct},
    }


def disagreement_table(found: Mapping[str, list[Disagreement]]) -> Table:
    """One row for each task, rule and kind: on how many samples which of the two says right."""
    table = Table(show_edge=False, pad_edge=False, box=None, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("Task", "Rule", "Kind"):
        table.add_column(name, overflow="fold")
    for name in ("robust right", "rule right"):
        table.add_column(name, justify="right")
    table.add_column("What it means", overflow="fold")
    for task, own in found.items():
        for rule, kinds in count_kinds(own).items():
            for kind, counts in kinds.items():
                right = (str(counts["reference_right"]), str(counts["other_right"]))
                table.add_row(*map(Text, (task, rule, kind, *right, KINDS[kind])))
    return table


def disagreement_lines(found: Mapping[str, list[Disagreement]]) -> Iterator[str]:
    """The first few samples of each rule and kind: what each of the two rules read."""
    for task, own in found.items():
        if not own:
            yield f"{task}: the rules agree on every sample"
        shown: dict[tuple[str, str], int] = {}
        for one in own:
            place = (one.rule, one.kind)
            shown[place] = shown.get(place, 0) + 1
            if shown[place] <= EXAMPLES:
                read = f"{_said(one.rule, one.other)}; {_said('robust', one.reference)}"
                yield f"{task} {one.sample.doc_id}/{one.sample.repeat}, {one.kind}: {read}"


def _said(rule: str, verdict: Any) -> str:
    read = "nothing" if verdict.extracted is None else repr(verdict.extracted)
    return f"{rule} reads {read} ({'right' if verdict.correct else 'wrong'})"
