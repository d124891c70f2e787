"""The keys of a task file: lm-eval's dialect, and Resit's own under one key `resit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, InstanceOf, ValidationError, model_validator

from resit.errors import UsageError
from resit.tasks.functions import Function

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MOST_REPEATS = 1_000_000
"""Samples of a question: beyond this, a slip of the hand."""

Template: TypeAlias = InstanceOf[Function] | str
"""A Jinja template, the name of a column, or a function of the document."""


class _Keys(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class ExemplarSource(_Keys):
    """Exemplars from elsewhere: a list in a published YAML file, or the rows of another data set."""

    asset: str | None = Field(default=None, description="asset of `resit data list`")
    file: str | None = Field(default=None, description="the asset's file, where it has several")
    at: str = Field(default="", description="dotted path to the list of exemplars in the file")
    dataset_path: str | None = None
    dataset_name: str | None = None
    split: str = "train"

    @model_validator(mode="after")
    def _one_source(self) -> ExemplarSource:
        if (self.asset is None) == (self.dataset_path is None):
            raise ValueError("expected either asset or dataset_path")
        return self


class Reference(_Keys):
    """The published implementation that a task follows."""

    implementation: str = Field(description="repository or package")
    pinned: str = Field(description="commit, or version and sha256, that was followed")
    file: str = Field(description="the task's file there")


class DataLicence(_Keys):
    """The licence of a task's questions, and where that licence is stated."""

    licence: str
    stated_in: str


class ResitKeys(_Keys):
    """What lm-eval has no word for."""

    about: str = Field(default="", description="one line for `resit tasks list`")
    chat: bool = Field(
        default=False, description="the protocol is a chat one: asked as turns without being told to"
    )
    calculator: bool = Field(
        default=False, description="results after `<<expression=` are put in for the model"
    )
    exemplars: ExemplarSource | None = None
    headline: str = Field(default="", description="`metric,filter` that the score is quoted by")
    rules: tuple[str, ...] = Field(
        default=("robust",), description="grading rules reported beside the filters"
    )
    options: Mapping[str, Any] = Field(
        default={}, description="grading policy: gold_marker, language, tolerance"
    )
    reference: Reference | None = None
    deviations: tuple[str, ...] = Field(default=(), description="how the task differs from its reference")
    status: Literal["aligned", "experimental"] = "experimental"
    record: str = Field(default="", description="what the alignment was checked against")
    data: DataLicence | None = Field(default=None, description="where the data set's asset does not say it")


class FewshotKeys(_Keys):
    """`fewshot_config`: where exemplars come from and how they are rendered; None: as the task has it."""

    sampler: InstanceOf[Function] | str = Field(
        default="default", description="default, first_n or permutation"
    )
    split: str | None = None
    process_docs: InstanceOf[Function] | None = None
    fewshot_indices: list[int] | None = Field(
        default=None, description="accepted; without effect, as in lm-eval 0.4.13"
    )
    samples: InstanceOf[Function] | list[dict[str, Any]] | None = None
    doc_to_text: Template | int | None = None
    doc_to_choice: InstanceOf[Function] | str | list[str] | dict[str, Any] | None = None
    doc_to_target: Template | int | list[Any] | None = None
    gen_prefix: str | None = None
    fewshot_delimiter: str | None = None
    target_delimiter: str | None = None


class TaskConfig(_Keys):
    """One task as its file has it."""

    task: str = Field(min_length=1)
    task_alias: str | None = None
    tag: str | list[str] | None = None
    dataset_path: str | None = None
    dataset_name: str | None = None
    dataset_kwargs: dict[str, Any] | None = Field(
        default=None, description="data_files, data_dir, revision, …"
    )
    custom_dataset: InstanceOf[Function] | None = Field(
        default=None, description="function that gives {split: rows}"
    )
    training_split: str | None = None
    validation_split: str | None = None
    test_split: str | None = None
    fewshot_split: str | None = None
    process_docs: InstanceOf[Function] | None = None
    doc_to_text: Template | int | None = None
    doc_to_target: Template | int | list[Any] | None = None
    doc_to_choice: InstanceOf[Function] | str | list[str] | dict[str, Any] | None = None
    doc_to_image: Any = None
    doc_to_audio: Any = None
    process_results: InstanceOf[Function] | None = None
    use_prompt: str | None = None
    description: Template = ""
    target_delimiter: str = " "
    fewshot_delimiter: str = "\n\n"
    gen_prefix: str | None = None
    fewshot_config: FewshotKeys = FewshotKeys()
    num_fewshot: int | None = Field(default=None, ge=0)
    output_type: str = "generate_until"
    generation_kwargs: dict[str, Any] | None = None
    repeats: int = Field(default=1, ge=1, le=MOST_REPEATS)
    filter_list: list[dict[str, Any]] | None = None
    metric_list: list[dict[str, Any]] | None = None
    should_decontaminate: bool = False
    doc_to_decontamination_query: Any = None
    unsafe_code: bool = False
    metadata: dict[str, Any] | None = None
    resit: ResitKeys = ResitKeys()

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that the task answers to."""
        return (self.tag,) if isinstance(self.tag, str) else tuple(self.tag or ())

    @property
    def asked_split(self) -> str | None:
        """The split whose rows are asked."""
        return self.test_split or self.validation_split

    @property
    def shot_split(self) -> str | None:
        """The split that exemplars are said to come from; None where the file names none."""
        return self.fewshot_config.split or self.fewshot_split

    def for_shots(self, key: str) -> Any:
        """A rendering key as exemplars have it: `fewshot_config`'s where given there, else the task's."""
        own = getattr(self.fewshot_config, key)
        return getattr(self, key) if own is None else own


UNSUPPORTED = {
    "use_prompt": "promptsource prompts",
    "doc_to_image": "images",
    "doc_to_audio": "audio",
}


def task_config(keys: Mapping[str, Any], where: object) -> TaskConfig:
    """The checked configuration. Raises UsageError naming the file, the key and the nearest known key."""
    given = {key: value for key, value in keys.items() if key != "task_list"}
    if given.get("fewshot_config", ...) is None:
        del given["fewshot_config"]
    try:
        config = TaskConfig.model_validate(given)
    except ValidationError as error:
        raise _usage_error(error.errors(include_url=False), where) from None
    for key, what in UNSUPPORTED.items():
        if getattr(config, key) is not None:
            raise UsageError(f"{where}: {key}: Resit has no {what}")
    if config.output_type != "generate_until":
        raise UsageError(
            f"{where}: output_type: expected 'generate_until', found {config.output_type!r}",
            "Resit runs generative tasks only",
        )
    return config


def _usage_error(errors: Sequence[ErrorDetails], where: object) -> UsageError:
    unknown = [error for error in errors if error["type"] == "extra_forbidden"]
    first = (unknown or list(errors))[0]
    key = ".".join(str(part) for part in first["loc"] if isinstance(part, int) or part.isidentifier())
    if not unknown:
        return UsageError(f"{where}: {key}: {first['msg'].lower()}, found {first['input']!r}")
    known = _known_keys(first["loc"][:-1])
    near = get_close_matches(str(first["loc"][-1]), known, n=1, cutoff=0.0)
    return UsageError(
        f"{where}: unknown key {key!r}; the nearest known key is {near[0]!r}",
        f"known keys: {', '.join(sorted(known))}",
    )


def _known_keys(path: Sequence[int | str]) -> Sequence[str]:
    if not path:
        return list(TaskConfig.model_fields)
    models: dict[str, type[BaseModel]] = {
        "fewshot_config": FewshotKeys,
        "resit": ResitKeys,
        "exemplars": ExemplarSource,
        "reference": Reference,
        "data": DataLicence,
    }
    return list(models[str(path[-1])].model_fields)
