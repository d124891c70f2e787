"""Run folders as pages read them: scored first where they are not, or no longer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import typer

from resit.cli.scoring import rules_of, score_folder
from resit.errors import ResitError, UsageError
from resit.records import Question, SampleScore, ScoringRules
from resit.reports.page.figures import check_shape
from resit.reports.page.source import Answered
from resit.reports.results import FILE as RESULTS
from resit.reports.results import read_results
from resit.reports.scores import FILE as SCORES
from resit.reports.scores import read_scores
from resit.runs.folder import RunFolder


class FolderSource:
    """A scored run folder, read task by task and question by question."""

    def __init__(self, folder: RunFolder, rules: Mapping[str, ScoringRules]) -> None:
        self._folder = folder
        self._rules = rules
        self._index = folder.index()

    @property
    def path(self) -> Path:
        """The folder."""
        return self._folder.path

    @property
    def problems(self) -> list[str]:
        """Lines of the journal that could not be used."""
        return self._index.problems

    @cached_property
    def record(self) -> Mapping[str, Any]:
        """What `run.json` says."""
        return self._folder.record() or {}

    def rules(self, task: str) -> ScoringRules:
        """The rules by which a task was scored."""
        return self._rules[task]

    def questions(self, task: str) -> Iterator[Question]:
        """Every question that was asked so far."""
        return self._folder.questions(task)

    def answered(self, task: str) -> Iterator[Answered]:
        """The questions that have scored samples, in the order of `scores.jsonl`."""
        questions = {question.document.doc_hash: question for question in self.questions(task)}
        own = (score for score in read_scores(self.path) if score.task == task)
        with self._index.reader() as reader:
            for key, group in groupby(own, key=lambda score: score.doc_hash):
                if key in questions:
                    samples = reader.samples(self._index.offsets(task, key))
                    yield _answered(
                        questions[key], {sample.repeat: sample for sample in samples}, list(group)
                    )


def _answered(question: Question, samples: Mapping[int, Any], scores: list[SampleScore]) -> Answered:
    """Samples paired by repeat; those that came since the run was scored are left out."""
    known = [score for score in sorted(scores, key=lambda score: score.repeat) if score.repeat in samples]
    return Answered(question, [samples[score.repeat] for score in known], known)


def scored_source(run: Path, trust: bool = False) -> FolderSource:
    """A run folder that is scored; where it was not, or grew since, it is scored now (told on stderr).

    Raises UsageError where there is no run, or nothing to score.
    """
    folder = RunFolder.existing(run)
    rules = rules_of(folder, (), trust)
    why = _unscored(folder)
    if why:
        typer.echo(f"{run}: {why}; scoring it", err=True)
        try:
            score_folder(folder, rules)
        except UsageError:
            raise
        except ResitError as error:
            raise UsageError(f"{run}: {why}, and it cannot be scored there: {error}", error.hint) from error
    return FolderSource(folder, rules)


def _unscored(folder: RunFolder) -> str:
    """Why a run has to be scored first; empty where its scores are those of its samples."""
    scores, results = folder.path / SCORES, folder.path / RESULTS
    if not scores.exists() or not results.exists():
        return "not scored yet"
    if folder.generations.exists() and folder.generations.stat().st_mtime_ns > scores.stat().st_mtime_ns:
        return "it has samples that are not scored"
    try:
        check_shape(read_results(folder.path))
        for _ in read_scores(folder.path):
            pass
    except UsageError:
        return "its scores are damaged"
    return ""
