"""Exams of one's own: generated tasks under another seed than the catalogue's, which everybody has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from resit.assets.splits import GSM_FRESH, GSM_TEMPLATES, SEED, VARIANTS
from resit.errors import UsageError
from resit.tasks.task import Task

DEFAULTS = {"seed": SEED, "variants": VARIANTS}
"""What the generators take where a task says nothing."""


def reseeded(tasks: Sequence[Task], seed: int, variants: int | None = None) -> list[Task]:
    """The tasks, those over generated questions with this seed and, of templates, so many variants.

    The seed belongs to the data set's identity, so that runs of different exams never mix. A task that has
    this seed already stays as it is.
    """
    return [_reseeded(task, seed, variants) for task in tasks]


def own_exam(tasks: Sequence[Task], seed: int | None, said: str = "--fresh-seed") -> list[Task]:
    """The tasks as the setting that is called `said` wants them; with no seed, as they are.

    Raises UsageError for a seed where no task is generated.
    """
    if seed is None or not tasks:
        return list(tasks)
    if not any(is_generated(task) for task in tasks):
        names = ", ".join(task.name for task in tasks)
        raise UsageError(
            f"{said} has no effect: none of the tasks is generated ({names})",
            f"generated are tasks over {GSM_FRESH} and {GSM_TEMPLATES}, such as gsm_fresh",
        )
    return reseeded(tasks, seed)


def is_generated(task: Task) -> bool:
    """Whether a generator makes the task's questions."""
    return task.config.dataset_path in (GSM_FRESH, GSM_TEMPLATES)


def _reseeded(task: Task, seed: int, variants: int | None) -> Task:
    if not is_generated(task):
        return task
    more = {"seed": seed}
    if variants is not None and task.config.dataset_path == GSM_TEMPLATES:
        more["variants"] = variants
    kwargs = task.config.dataset_kwargs or {}
    if all(kwargs.get(key, DEFAULTS[key]) == value for key, value in more.items()):
        return task
    return replace(task, config=task.config.model_copy(update={"dataset_kwargs": {**kwargs, **more}}))
