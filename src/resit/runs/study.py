"""A study: several models and tasks in one YAML file, each pair a run."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from resit import yamls
from resit.errors import UsageError
from resit.runs.secrets import REFERENCE
from resit.tasks import Task, load
from resit.tasks.exams import own_exam, reseeded

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_NAME = re.compile(r"[\w+=@-][\w.+=@-]*")
_MODEL_ARGS = re.compile(r"models\.\d+\.model_args(\..*)?")
"""The only place for `${NAME}`: anywhere else it would reach prompts or the names of files."""
_UNFIT = re.compile(r"[^\w.+=@-]+")


class RunSettings(BaseModel):
    """Settings that may stand at the top (for every run), at a model or at a task."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    limit: float | None = Field(
        default=None, gt=0, description="questions per task; below 1, a share of them"
    )
    num_fewshot: int | None = Field(
        default=None, ge=0, description="exemplars per prompt, instead of the task's"
    )
    repeats: int | None = Field(default=None, ge=1, description="samples per question, instead of the task's")
    gen_kwargs: dict[str, Any] = Field(
        default={},
        description="sampling settings over the task file's, key by key, such as temperature or max_gen_toks",
    )
    apply_chat_template: bool = Field(default=False, description="ask through the model's chat template")
    fewshot_as_multiturn: bool | None = Field(default=None, description="exemplars as turns of the chat")
    system_instruction: str | None = Field(default=None, description="text before everything else")
    calculator: bool = Field(
        default=False, description="put in results after `<<expression=` instead of the model"
    )
    seed: int = Field(default=1234, ge=0, description="of the samples")
    fewshot_seed: int | None = Field(
        default=None, ge=0, description="of the choice of exemplars; else that of the samples"
    )
    fresh_seed: int | None = Field(
        default=None, ge=0, description="of generated questions, for an exam of your own; else the task's"
    )
    batch_size: int | Literal["auto"] = Field(
        default="auto", description="samples in flight; changes the speed only"
    )
    executor: Literal["local", "ray"] = Field(
        default="local", description="ray: the model is in Ray's workers (docs/scaling.md)"
    )
    address: str | None = Field(
        default=None, description="Ray's cluster; else RAY_ADDRESS, or a Ray of our own"
    )
    workers: int | None = Field(default=None, ge=1, description="how many workers hold the model")
    resources: dict[str, float] = Field(
        default={}, description="what each worker takes, such as {gpu: 1, cpu: 4}"
    )
    max_error_share: float = Field(
        default=0.01, ge=0, le=1, description="share of errored samples above which a run counts as failed"
    )


class ModelEntry(RunSettings):
    """A model of the study."""

    name: str = Field(description="how its folder and its rows are called")
    model: str = Field(description="kind of model, as in --model")
    model_args: dict[str, Any] | str = Field(
        default={},
        description="the backend's settings; ${NAME} is a value of the environment, and files have its name",
    )


class TaskEntry(RunSettings):
    """A task of the study."""

    task: str = Field(description="a task, tag, YAML file or lm-eval:NAME, as in --tasks")
    name: str | None = Field(
        default=None, description="how its folder and its rows are called; else as the task"
    )


class Study(RunSettings):
    """The whole file."""

    models: list[ModelEntry] = Field(
        min_length=1, description="the models, each with name, model and model_args"
    )
    tasks: list[str | TaskEntry] = Field(min_length=1, description="names, or entries with task and settings")
    output_path: str | None = Field(
        default=None, description="folder of all runs; else runs/ and the file's name"
    )
    include_path: str | None = Field(default=None, description="folder with your own task files")
    trust_task_code: bool = Field(
        default=False, description="run the Python that a task file names with !function"
    )
    trust_model_code: bool = Field(
        default=False, description="run the programs that the models write, in a sandbox"
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of the study: a model, a task, and the settings that apply to the two."""

    model: ModelEntry
    task: Task
    task_name: str
    settings: RunSettings

    @property
    def folder(self) -> Path:
        """The run's folder, below the study's."""
        return Path(self.model.name) / self.task_name


def read_study(path: Path) -> Study:
    """The study that a file describes. Raises UsageError naming the first setting that cannot be meant."""
    try:
        keys = yamls.load(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is not YAML: {yamls.problem(error)}") from None
    if not isinstance(keys, Mapping):
        raise UsageError(f"{path}: expected settings, such as models and tasks, found {type(keys).__name__}")
    for place, text in _texts(keys):
        match = REFERENCE.search(text)
        if match and not _MODEL_ARGS.fullmatch(place):
            raise UsageError(
                f"{path}: {place}: {match[0]} may stand in model_args only", "write the value itself"
            )
    try:
        study = Study.model_validate(keys)
    except ValidationError as error:
        raise _usage_error(path, error.errors(include_url=False)) from None
    _check_names(path, study)
    return study


def _texts(keys: Any) -> Iterator[tuple[str, str]]:
    """Every text of the file with its place."""
    waiting = [("", keys)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, str):
            yield place, value
        pairs = (
            value.items()
            if isinstance(value, Mapping)
            else enumerate(value)
            if isinstance(value, list)
            else ()
        )
        waiting.extend((f"{place}.{key}".lstrip("."), item) for key, item in pairs)


def _check_names(path: Path, study: Study) -> None:
    names = [model.name for model in study.models]
    for name in [
        *names,
        *(entry.name for entry in study.tasks if isinstance(entry, TaskEntry) and entry.name),
    ]:
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{path}: name {name!r}: expected letters, digits and . _ + = @ -, as of a folder"
            )
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{path}: two models are called {twice!r}", "give each its own name")


def _usage_error(path: Path, errors: Sequence[ErrorDetails]) -> UsageError:
    unknown = [error for error in errors if error["type"] == "extra_forbidden"]
    first = (unknown or list(errors))[0]
    place = [part for part in first["loc"] if part not in ("TaskEntry", "str")]
    where = ".".join(map(str, place))
    schema = _schema(place[:-1])
    if unknown:
        known = list(schema.model_fields)
        near = get_close_matches(str(place[-1]), known, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        return UsageError(
            f"{path}: {where} is no setting{meant}", f"settings here: {', '.join(sorted(known))}"
        )
    field = schema.model_fields.get(str(place[-1])) if place else None
    found = "" if first["type"] == "missing" else f", found {first['input']!r}"
    about = f"{place[-1]}: {field.description}" if field else ""
    return UsageError(f"{path}: {where}: {first['msg'].lower()}{found}", about)


def _schema(place: Sequence[int | str]) -> type[BaseModel]:
    """The part of the file that a place is in."""
    parts: dict[str, type[BaseModel]] = {"models": ModelEntry, "tasks": TaskEntry}
    return parts.get(str(place[0]), Study) if len(place) > 1 else Study


def cells(path: Path, study: Study) -> list[Cell]:
    """Every run of the study, model by model. Raises UsageError for an unknown task or a name given twice."""
    include = Path(study.include_path) if study.include_path else None
    tasks: dict[str, tuple[TaskEntry, Task]] = {}
    for item in study.tasks:
        entry = TaskEntry(task=item) if isinstance(item, str) else item
        found = load(
            [entry.task],
            include_path=include,
            trust_task_code=study.trust_task_code,
            trust_model_code=study.trust_model_code,
        )
        if entry.name and len(found) > 1:
            raise UsageError(
                f"{path}: {entry.task!r} stands for {len(found)} tasks, so one name cannot be theirs"
            )
        for task in found:
            name = entry.name or _UNFIT.sub("-", task.name)
            if name in tasks:
                raise UsageError(
                    f"{path}: two runs of each model would be called {name!r}",
                    "give one of the entries a name",
                )
            tasks[name] = (entry, task)
    _refuse_seed_of_nothing(path, study, tasks.values())
    return [
        _cell(f"{path}: {model.name}, {name}", study, model, entry, task, name)
        for model in study.models
        for name, (entry, task) in tasks.items()
    ]


def _cell(where: str, study: Study, model: ModelEntry, entry: TaskEntry, task: Task, name: str) -> Cell:
    settings = _settings(where, study, model, entry)
    if settings.fresh_seed is not None:
        (task,) = reseeded([task], settings.fresh_seed)
    return Cell(model, task, name, settings)


def _refuse_seed_of_nothing(path: Path, study: Study, tasks: Collection[tuple[TaskEntry, Task]]) -> None:
    """Raise UsageError for a fresh_seed that no run would heed."""
    every = [task for _, task in tasks]
    own_exam(every, study.fresh_seed, f"{path}: fresh_seed")
    for model in study.models:
        own_exam(every, model.fresh_seed, f"{path}: {model.name}: fresh_seed")
    for entry, task in tasks:
        own_exam([task], entry.fresh_seed, f"{path}: {entry.task}: fresh_seed")


def _settings(where: str, study: Study, model: ModelEntry, task: TaskEntry) -> RunSettings:
    """The settings of one run: the model's and the task's over the study's.

    Raises UsageError where model and task each say something else: neither may lose silently.
    """
    merged: dict[str, Any] = {}
    for name in RunSettings.model_fields:
        top, own, other = (getattr(part, name) for part in (study, model, task))
        if name == "gen_kwargs":
            _refuse_conflict(
                where, {f"gen_kwargs.{key}": (own[key], other[key]) for key in own.keys() & other}
            )
            merged[name] = {**top, **own, **other}
            continue
        said = [part for part in (model, task) if name in part.model_fields_set]
        if len(said) == 2:
            _refuse_conflict(where, {name: (own, other)})
        merged[name] = getattr(said[0], name) if said else top
    return RunSettings(**merged)


def _refuse_conflict(where: str, values: Mapping[str, tuple[Any, Any]]) -> None:
    for name, (model, task) in sorted(values.items()):
        if model != task:
            raise UsageError(
                f"{where}: {name} is {model!r} at the model and {task!r} at the task",
                "say it in one place only",
            )


def described() -> Iterator[tuple[str, str, str]]:
    """(part of the file, setting, description) of every setting, for the documentation."""
    common = RunSettings.model_fields
    parts: tuple[tuple[str, type[BaseModel]], ...] = (
        ("top", Study),
        ("an entry of models", ModelEntry),
        ("an entry of tasks", TaskEntry),
    )
    for part, schema in parts:
        for name, field in schema.model_fields.items():
            if name not in common:
                yield part, name, field.description or ""
    for name, field in common.items():
        default = "" if field.default in (None, False, {}) else f" (default {field.default})"
        yield "anywhere", name, f"{field.description}{default}"
