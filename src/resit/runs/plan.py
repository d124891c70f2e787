"""What a run is asked to do, and which samples it still owes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from typing import Any

from resit.errors import IdentityMismatch, UsageError
from resit.prompts import ChatOptions, prompt_sha256, questions
from resit.prompts.asking import limited
from resit.records import Document, Question, Request, Sampling
from resit.runs.folder import RunFolder, question_to
from resit.runs.identity import FORMAT, normalised, sample_seed
from resit.runs.journal import AppendFile, JournalIndex
from resit.runs.shards import Shard
from resit.tasks import Task, protocol
from resit.tasks.dialect import MOST_REPEATS

DEFAULT_SEED = 1234


@dataclass(frozen=True, slots=True)
class Settings:
    """A run's options, beside its model and tasks."""

    seed: int = DEFAULT_SEED
    fewshot_seed: int = DEFAULT_SEED
    num_fewshot: int | None = None
    gen_kwargs: Mapping[str, Any] = field(default_factory=dict)
    chat: ChatOptions | None = None
    system_instruction: str | None = None
    limit: int | float | None = None
    """Questions per task: a number of them, or a share below 1."""
    repeats: int | None = None
    """Samples per question; None: as the task says."""
    calculator: bool = False
    """Results of `<<expression=` are put in for the model, whether or not the task says so."""

    def __post_init__(self) -> None:
        if self.repeats is not None and self.repeats < 1:
            raise UsageError(f"--repeats must be at least 1, found {self.repeats}")
        if self.repeats is not None and self.repeats > MOST_REPEATS:
            raise UsageError(f"--repeats must be at most {MOST_REPEATS:,}")


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """One task of a run with what the options make of it."""

    task: Task
    sampling: Sampling
    repeats: int
    documents: int
    """Questions in the whole split."""
    planned: int
    """Questions that this run asks; of a shard, that all shards ask together."""
    shard: Shard | None = None

    def documents_asked(self) -> Sequence[Document]:
        """The documents that are asked, in order."""
        chosen = self.task.documents()[: self.planned]
        return chosen if self.shard is None else self.shard.of(chosen)

    @property
    def asked(self) -> int:
        """How many documents are asked."""
        return len(range(self.planned) if self.shard is None else self.shard.of(range(self.planned)))


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a run is asked to do; the model is known by its identity only."""

    model: Mapping[str, Any]
    settings: Settings
    tasks: tuple[TaskPlan, ...]
    shard: Shard | None = None

    @property
    def samples(self) -> int:
        """Samples of the finished run."""
        return sum(task.asked * task.repeats for task in self.tasks)

    def identity(self) -> dict[str, Any]:
        """All that changes what is generated, as `run.json` keeps it; scheduling is no part of it."""
        settings = self.settings
        identity = {
            "format": FORMAT,
            "model": dict(self.model),
            "seed": settings.seed,
            "fewshot_seed": settings.fewshot_seed,
            "chat": None if settings.chat is None else asdict(settings.chat),
            "system_instruction": settings.system_instruction,
            "tasks": {
                plan.task.name: _asked({**plan.task.identity(), "sampling": _settings(plan.sampling)})
                for plan in self.tasks
            },
        }
        return dict(normalised(identity))

    def protocols(self) -> dict[str, dict[str, Any]]:
        """By task, all that two runs must share to be comparable; the questions are no part of it."""
        settings = self.settings
        shared = {
            "fewshot_seed": settings.fewshot_seed,
            "system_instruction": settings.system_instruction,
        }
        return {plan.task.name: {**_protocol(plan, settings), **shared} for plan in self.tasks}


def make_plan(
    model: Mapping[str, Any], tasks: list[Task], settings: Settings, shard: Shard | None = None
) -> Plan:
    """The plan for a model's identity, tasks and options; loads the tasks' documents."""
    plans = (_task_plan(_overridden(task, settings), settings) for task in tasks)
    return Plan(model, settings, tuple(replace(plan, shard=shard) for plan in plans), shard)


def _protocol(plan: TaskPlan, settings: Settings) -> dict[str, Any]:
    """The task's protocol with what the command line makes of its chat and its sampling."""
    chat = settings.chat or (ChatOptions() if plan.task.config.resit.chat else None)
    shown = None if chat is None else asdict(chat)
    return _asked({**protocol(plan.task), "chat": shown, "sampling": _settings(plan.sampling)})


def _settings(sampling: Sampling) -> dict[str, Any]:
    """The sampling as identities hold it: what came later is in it only where it is used."""
    settings = asdict(sampling)
    if not sampling.calculator:
        del settings["calculator"]
    return settings


_RESOLVED = ("calculator", "generation_kwargs", "repeats")
"""What a task's file says and `sampling` settles, and the number of repeats, which may grow."""


def _asked(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with the resolved sampling alone, and without the number of repeats."""
    kept = {key: value for key, value in record.items() if key not in _RESOLVED}
    return dict(normalised(kept))


def _overridden(task: Task, settings: Settings) -> Task:
    """The task with the command line's number of exemplars; as in lm-eval, a file's 0 stands."""
    if settings.num_fewshot is None or task.config.num_fewshot == 0:
        return task
    return replace(task, config=task.config.model_copy(update={"num_fewshot": settings.num_fewshot}))


def _task_plan(task: Task, settings: Settings) -> TaskPlan:
    total = len(task.documents())
    sampling = task.sampling(settings.gen_kwargs)
    return TaskPlan(
        task=task,
        sampling=replace(sampling, calculator=True) if settings.calculator else sampling,
        repeats=settings.repeats or task.repeats,
        documents=total,
        planned=len(limited(task.documents(), settings.limit)),
    )


class Desk:
    """Hands out the requests that a run owes and keeps the question of each until it is answered.

    Each question is on file in `prompts.jsonl` before its first request leaves.
    """

    def __init__(self, plan: Plan, folder: RunFolder, index: JournalIndex, prompts: AppendFile) -> None:
        self._plan = plan
        self._index = index
        self._prompts = prompts
        self._known = {
            (question.task, question.document.doc_hash): prompt_sha256(question.prompt)
            for question in folder.questions()
        }
        self._waiting: dict[tuple[str, str], tuple[Question, int]] = {}
        self.closed = False
        """Set to stop handing out requests; what is in flight may still come back."""

    def requests(self) -> Iterator[Request]:
        """The owed samples, question by question, a question's repeats side by side."""
        for task in self._plan.tasks:
            for question in self._questions(task):
                finished = self._index.finished(question.task, question.document.doc_hash)
                owed = [repeat for repeat in range(task.repeats) if repeat not in finished]
                self._record(question)
                if owed:
                    self._waiting[question.task, question.document.doc_hash] = (question, len(owed))
                for repeat in owed:
                    if self.closed:
                        return
                    seed = sample_seed(self._plan.settings.seed, question.document.doc_hash, repeat)
                    yield Request(question, repeat, task.sampling, seed)

    def question(self, task: str, doc_hash: str) -> Question:
        """The question of a sample that came back; forgotten after the last of its requests."""
        question, left = self._waiting.pop((task, doc_hash))
        if left > 1:
            self._waiting[task, doc_hash] = (question, left - 1)
        return question

    def _questions(self, plan: TaskPlan) -> Iterator[Question]:
        settings = self._plan.settings
        whole = questions(
            plan.task,
            seed=settings.fewshot_seed,
            chat=settings.chat,
            system_instruction=settings.system_instruction,
            limit=plan.planned,
        )
        shard = plan.shard
        return whole if shard is None else islice(whole, shard.index - 1, None, shard.count)

    def _record(self, question: Question) -> None:
        key = (question.task, question.document.doc_hash)
        line = question_to(question)
        known = self._known.get(key)
        if known is None:
            self._prompts.append(line)
            self._known[key] = line["prompt_sha256"]
        elif known != line["prompt_sha256"]:
            raise IdentityMismatch(
                f"{self._prompts.path} has another prompt for {question.task} document "
                f"{question.document.doc_id}: sha256 {known}, now {line['prompt_sha256']}",
                "the task's code or data changed since; give this run another --output-path",
            )
