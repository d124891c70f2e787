"""A task: what is asked, of which documents, and by which rules its answers are scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from resit import assets
from resit.records import Document, Sampling, ScoringRules
from resit.tasks.dialect import TaskConfig
from resit.tasks.documents import Pool, RowReader, documents, exemplar_pool
from resit.tasks.rules import scoring_rules
from resit.tasks.sampling import sampling_of


@dataclass(frozen=True, eq=False)
class Task:
    """One task, wherever its file lies; its data are read when they are needed."""

    config: TaskConfig
    source: str
    """The file that the task was loaded from."""
    reader: RowReader = assets.rows
    """What gives the rows of a split."""
    trust_model_code: bool = False
    """Whether the user lets programs run that the model writes."""

    @property
    def name(self) -> str:
        """The task's name, as results are keyed by it."""
        return self.config.task

    @property
    def repeats(self) -> int:
        """Samples per document."""
        return self.config.repeats

    @cached_property
    def rules(self) -> ScoringRules:
        """Filters, metrics and grading policy."""
        rules = scoring_rules(self.config, self.source)
        if not self.trust_model_code:
            return rules
        return replace(rules, options={**rules.options, "trust_model_code": True})

    @cached_property
    def _documents(self) -> list[Document]:
        return documents(self.config, self.source, self.reader)

    def documents(self) -> list[Document]:
        """The documents that the task asks, in order; read once."""
        return self._documents

    @cached_property
    def exemplars(self) -> Pool:
        """What the task's exemplars are drawn from; read once."""
        return exemplar_pool(self.config, self.source, self.reader)

    def sampling(self, overrides: Mapping[str, Any] | None = None) -> Sampling:
        """The task's sampling, with command-line settings laid over it key by key."""
        config = self.config
        asked = sampling_of(config.generation_kwargs, overrides or {}, config.fewshot_delimiter, self.source)
        return replace(asked, calculator=config.resit.calculator)

    def identity(self) -> dict[str, Any]:
        """Everything of the task that changes what is asked, as JSON; grading is no part of it."""
        return dict(self._identity)

    @cached_property
    def _identity(self) -> Mapping[str, Any]:
        from resit.tasks.identity import task_identity

        return task_identity(self)
