"""One entry for each task of each run: every score with its interval, and what limits it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from resit.reports.page.data import Figure, Held, Standing, Summary
from resit.reports.page.summary import Pair, ScoredRun, standing, summary, tasks_of_all

NO_TEXTS = Held(texts=0, of=0, rule="")
"""A table holds no text of a sample."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What one run says about one task."""

    run: str
    model: str
    task: str
    created: str
    identity: str
    """Digest of what was asked of which model."""
    protocol: str
    """Digest of how it was asked; empty where that is unknown."""
    num_fewshot: int | None
    dataset: Mapping[str, Any]
    """`dataset_path`, `dataset_name` and `split`, where the run says them."""
    standing: Standing

    @property
    def quoted(self) -> Figure | None:
        """The score that the task is quoted by; None where nothing is measured."""
        figures = self.standing["figures"]
        return next((figure for figure in figures if figure["quoted"]), figures[0] if figures else None)

    def as_json(self) -> dict[str, Any]:
        """Flat, with the scores as a list; what is unknown is null."""
        told = self.standing
        return {
            "run": self.run,
            "model": self.model,
            "task": self.task,
            "created": self.created,
            "identity_digest": self.identity,
            "protocol_digest": self.protocol or None,
            "num_fewshot": self.num_fewshot,
            "dataset": dict(self.dataset),
            "claim": told["claim"],
            "scores": [dict(figure) for figure in told["figures"]],
            "counts": dict(told["counts"]),
            "warnings": [{"kind": w["kind"], "message": w["message"]} for w in told["warnings"]],
            "protocol": dict(told["protocol"]),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """All that a table is made of."""

    entries: tuple[Entry, ...]
    summary: Summary
    """Comparisons and gaps."""

    def as_json(self) -> dict[str, Any]:
        """The entries, the comparisons with run names, the gaps, and what could not be had."""
        names = [run["name"] for run in self.summary["runs"]]
        compared = [
            {
                "task": task["name"],
                "first": names[one["first"]],
                "second": names[one["second"]],
                "rule": one["rule"],
                "verdict": one["verdict"],
                "notes": one["lines"],
                "right_in": dict(one["agreement"]),
            }
            for task in self.summary["tasks"]
            for one in task["comparisons"]
        ]
        return {
            "title": self.summary["title"],
            "resit": self.summary["resit"],
            "results": [entry.as_json() for entry in self.entries],
            "comparisons": compared,
            "gaps": [dict(gap) for gap in self.summary["gaps"]],
            "notes": self.summary["notes"],
        }


def report_of(runs: Sequence[ScoredRun], pairs: Iterable[Pair]) -> Report:
    """The tables' content of some scored runs; `pairs` are the tasks between which a gap means something."""
    entries = [
        _entry(index, run, task)
        for index, run in enumerate(runs)
        for task in tasks_of_all(runs)
        if run.about(task) is not None
    ]
    whole, _ = summary(runs, {}, pairs, NO_TEXTS)
    return Report(tuple(entries), whole)


def _entry(index: int, run: ScoredRun, task: str) -> Entry:
    record, about = run.source.record, run.about(task) or {}
    shots = run.results.get("n-shot", {}).get(task)
    own = _mapping(_mapping(_mapping(record.get("identity")).get("tasks")).get(task))
    config = _mapping(run.results.get("configs", {}).get(task))
    dataset = {**config, **_mapping(own.get("dataset"))}
    split = dataset.get("split") or config.get("test_split") or config.get("validation_split")
    named = {"path": dataset.get("dataset_path"), "name": dataset.get("dataset_name"), "split": split}
    return Entry(
        run=run.label,
        model=str(run.results.get("config", {}).get("model_name") or run.label),
        task=task,
        created=str(record.get("created") or ""),
        identity=str(record.get("digest") or ""),
        protocol=str(about.get("protocol_digest") or ""),
        num_fewshot=shots if isinstance(shots, int) else None,
        dataset={key: value for key, value in named.items() if value is not None},
        standing=standing(index, run, task),
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
