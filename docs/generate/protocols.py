"""A page for each task of the catalogue: the exact frame of its prompt, and how its answers are read.

Questions and exemplars are data and stand in no page: where a prompt has one, the page has ‹its name›.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cached_property
from typing import Any

from resit.prompts import prompt_sha256, questions
from resit.records import Document, Prompt
from resit.tasks import Task, index, load, pairs
from resit.tasks.documents import Pool

FOLDER = "protocols"


class Blank(str):
    """A value that nobody has filled in; however a template cuts it, it stays whole."""

    def __getitem__(self, key: Any) -> str:
        return self if isinstance(key, slice) else super().__getitem__(key)


def blanks(**names: str) -> dict[str, str]:
    """Columns, each with the words that stand for its value."""
    return {column: Blank(f"‹{words}›") for column, words in names.items()}


COLUMNS: Mapping[str, dict[str, Any]] = {
    "arkilpatel/SVAMP": blanks(Body="body", Question="question", Answer="number"),
    "reasoning-machines/gsm-hard": blanks(input="question", target="number"),
    "juletxara/mgsm": {**blanks(question="question", answer_number="number"), "answer": None},
}
"""The columns of data sets whose rows are not GSM8K's."""
GSM8K = blanks(question="question", answer="worked solution ending in #### and the number")
HALVES = {"question": "‹first half of the question›".replace(" ", "\N{NO-BREAK SPACE}") + " ‹rest›"}
"""Two words, of which the completion tasks ask the first half."""
CHAIN = blanks(question="question", target="worked answer")
"""What published files of exemplars hold."""


class Framed(Task):
    """A task whose rows are blanks, so that its prompt is its frame."""

    def documents(self) -> list[Document]:
        row = (
            HALVES
            if "memorisation" in self.config.tags
            else COLUMNS.get(self.config.dataset_path or "", GSM8K)
        )
        return [Document(0, "", row)]

    @cached_property
    def exemplars(self) -> Pool:
        source = self.config.resit.exemplars
        row = CHAIN if source is not None and source.asset else self.documents()[0].fields
        return Pool([row] * (self.config.num_fewshot or 0), {}, False)


def frame(task: Task) -> Prompt:
    """The task's prompt with blanks for questions and exemplars."""
    framed = Framed(**{field.name: getattr(task, field.name) for field in fields(Task)})
    return next(questions(framed)).prompt


def pages() -> dict[str, str]:
    """Markdown by path below the documentation's folder: one page a task, and their index."""
    tasks = load(list(index()))
    found = {f"{FOLDER}/{task.name}.md": "\n".join(_page(task)) + "\n" for task in tasks}
    return {f"{FOLDER}/index.md": "\n".join(_index(tasks)) + "\n", **found}


def _index(tasks: list[Task]) -> Iterator[str]:
    yield "# Protocols\n"
    yield (
        "What each task of the catalogue sends to a model, byte for byte, and how it reads the answers. "
        "Generated from the task files; questions and exemplars are data, and `‹…›` stands where they go. "
        "*Aligned* says that prompts and references were checked against the reference implementation.\n"
    )
    yield "| task | asked | exemplars | samples | quoted by | status |"
    yield "|---|---|---:|---:|---|---|"
    for task in tasks:
        own = task.config.resit
        yield (
            f"| [`{task.name}`]({task.name}.md) | {_cell(own.about)} | {task.config.num_fewshot or 0} "
            f"| {task.repeats} | `{task.rules.headline}` | {own.status} |"
        )


def _page(task: Task) -> Iterator[str]:
    config, own, sampling = task.config, task.config.resit, task.sampling()
    yield f"# {task.name}\n"
    yield f"{own.about[:1].upper()}{own.about[1:].rstrip('.')}.\n"
    yield f"```sh\nresit tasks show {task.name}\nresit prompts {task.name} --limit 1\n```\n"
    yield "## The prompt\n"
    yield from _prompt(frame(task), config.num_fewshot or 0)
    yield "## What is asked\n"
    yield from _table(
        {
            "data set": _code(config.dataset_path, config.dataset_name) + f", split `{config.asked_split}`",
            "exemplars": _exemplars(task),
            "samples a question": str(task.repeats),
            "longest answer": f"{sampling.max_tokens} tokens",
            "temperature": f"{sampling.temperature:g}",
            "stop strings": ", ".join(
                _literal(json.dumps(stop, ensure_ascii=False)) for stop in sampling.stop
            )
            or "none",
            "chat": "asked through the model's chat template" if own.chat else "",
            "calculator": "[results are put in](../calculator.md)" if own.calculator else "",
        }
    )
    yield "## How answers are read\n"
    yield from _scoring(task)
    yield "## Where it comes from\n"
    yield from _origin(task)


def _prompt(prompt: Prompt, shots: int) -> Iterator[str]:
    if shots:
        yield f"The {shots} exemplars stand first, all in the same form.\n"
    turns = [("", prompt)] if isinstance(prompt, str) else [(turn.role, turn.content) for turn in prompt]
    for role, text in turns:
        if role:
            yield f"**{role}**\n"
        yield f"```text\n{text}\n```\n"
    yield f"sha256 of this frame: `{prompt_sha256(prompt)}`. No line break follows the last line.\n"


def _exemplars(task: Task) -> str:
    config, source = task.config, task.config.resit.exemplars
    if not config.num_fewshot:
        return "none"
    sampler = str(config.fewshot_config.sampler)
    how = {
        "default": "drawn anew for every question",
        "first_n": "the first ones",
        "permutation": "the same for all",
    }
    if source is None:
        where = f"split `{config.shot_split}`"
    elif source.asset:
        where = f"`{source.file}` of the asset `{source.asset}`"
    else:
        where = f"`{source.dataset_path}`, split `{source.split}`"
    return f"{config.num_fewshot}, {how[sampler]} (`{sampler}`), from {where}"


def _scoring(task: Task) -> Iterator[str]:
    rules = task.rules
    yield f"The score is quoted by `{rules.headline}`. Every other rule is reported beside it.\n"
    yield "| rule | steps |"
    yield "|---|---|"
    for chain in rules.filters:
        yield f"| `{chain.name}` | {'<br>'.join(_step(step.function, step.kwargs) for step in chain.steps)} |"
    for name in rules.named:
        yield f"| `{name}` | [one of Resit's rules](../grading.md#the-rules) |"
    yield ""
    for metric in task.config.metric_list or []:
        settings = ", ".join(
            f"{key} {_literal(value)}"
            for key, value in dict(metric).items()
            if key not in ("metric", "aggregation", "higher_is_better")
        )
        yield f"- `{dict(metric)['metric']}`" + (f": {settings}" if settings else "")
    if rules.options:
        yield "- policy: " + ", ".join(f"{key} {_literal(value)}" for key, value in rules.options.items())
    yield ""


def _origin(task: Task) -> Iterator[str]:
    own = task.config.resit
    reference = own.reference
    both = [pair.name for pair in pairs().values() if task.name in (pair.seen, pair.fresh)]
    yield from _table(
        {
            "reference": reference.implementation if reference else "Resit's own",
            "file": f"`{reference.file}`" if reference else "",
            "pinned": reference.pinned if reference else "",
            "status": own.status,
            "checked": own.record,
            "version": str((task.config.metadata or {}).get("version", "")),
            "pairs": ", ".join(f"`{name}`" for name in both),
        }
    )
    if own.deviations:
        yield "Deviations:\n"
        yield from (f"- {text}" for text in own.deviations)


def _table(rows: Mapping[str, str]) -> Iterator[str]:
    yield "| | |\n|---|---|"
    yield from (f"| {name} | {_cell(value)} |" for name, value in rows.items() if value)
    yield ""


def _step(function: str, settings: Mapping[str, Any]) -> str:
    told = " ".join(f"{key} {_literal(value)}" for key, value in settings.items())
    return f"`{function}` {told}".strip()


def _literal(value: Any) -> str:
    """A value as code that may stand in a table's cell."""
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value
    for mark, entity in (("&", "&amp;"), ("<", "&lt;"), ("|", "&#124;")):
        text = text.replace(mark, entity)
    return f"<code>{_escaped(text)}</code>"


def _escaped(text: str) -> str:
    return "".join(f"&#{ord(c)};" if c in "\\`*_[]$~^=" else c for c in text)


def _cell(text: str) -> str:
    return text if text.startswith(("`", "<")) else text.replace("|", "&#124;")


def _code(*words: str | None) -> str:
    return ", ".join(f"`{word}`" for word in words if word)
