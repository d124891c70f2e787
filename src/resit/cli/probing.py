"""What `resit memorisation` does: runs, likelihoods, and the report over both."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import typer

from resit import jsonl
from resit.cli.launch import Job, exit_status, perform
from resit.cli.scoring import judge
from resit.errors import INTERRUPTED, ResitError, TooManyErrors, UsageError
from resit.models import LikelihoodModel, Model, Setup, create, parse_model_args
from resit.probes.order import most_shuffles, shards
from resit.prompts import chat_options
from resit.prompts.asking import limited
from resit.records import Document, Passage
from resit.reports import memorisation as report
from resit.runs.likelihoods import measure
from resit.runs.plan import Settings
from resit.runs.progress import ConsoleObserver
from resit.stats import wilson_interval
from resit.tasks import Task, select
from resit.tasks.exams import reseeded

PROBES = ("gap", "templates", "completion", "likelihood", "order")
TEMPLATES = ("gsm_template_originals", "gsm_template_variants")
"""The tasks of the templates probe, where nobody names others."""
COMPLETIONS = {"gsm8k": ("gsm8k_completion", "gsm_fresh_completion")}
"""Of a seen task, the tasks that let its questions, and fresh ones, be continued."""
SAY_EVERY = 5.0
"""Seconds between two words on how far the likelihoods are."""


@dataclass(frozen=True)
class Probing:
    """A model and what it is asked, as the command line gives it."""

    kind: str
    model_args: str
    folder: Path
    probes: tuple[str, ...]
    limit: int
    seen: str
    fresh: str
    completions: tuple[str, ...]
    templates: tuple[str, ...]
    fresh_seed: int
    variants: int
    reference_kind: str
    reference_args: str
    rule: str
    shard_rows: int
    shuffles: int
    chat: bool
    include_path: Path | None
    concurrency: int | None

    def __post_init__(self) -> None:
        """Raise UsageError for probes that do not exist and options that contradict one another."""
        for name in self.probes:
            if name not in PROBES:
                raise UsageError(
                    f"--probes: there is no probe {name!r}", f"the probes are {', '.join(PROBES)}"
                )
        if self.completions and len(self.completions) != 2:
            raise UsageError(f"--completions: expected SEEN,FRESH, found {len(self.completions)} tasks")
        if self.templates and len(self.templates) != 2:
            raise UsageError(f"--templates: expected ORIGINALS,VARIANTS, found {len(self.templates)} tasks")
        if "order" in self.probes and self.shuffles > most_shuffles(self.shard_rows):
            raise UsageError(
                f"--shuffles {self.shuffles}: --shard-rows {self.shard_rows} allows "
                f"{most_shuffles(self.shard_rows)}, for no two orders of a group may be the same"
            )
        if self.reference_args and not self.reference_kind:
            raise UsageError("--reference-args has no effect without --reference-model")

    @property
    def pair_of_completions(self) -> tuple[str, ...]:
        """The tasks of the completion probe; none where nobody has named them."""
        return self.completions or COMPLETIONS.get(self.seen, ())

    @cached_property
    def observer(self) -> ConsoleObserver:
        """Where progress and warnings go."""
        return ConsoleObserver(judge({}), wilson_interval)

    def model(self, kind: str, args: str) -> Model:
        """A model; nothing is loaded yet."""
        setup = Setup(self.concurrency, self.observer.note, debug=bool(os.environ.get("RESIT_DEBUG")))
        return create(kind, parse_model_args(args), setup)

    def tasks(self, *names: str) -> list[Task]:
        """Tasks by name, the generated sets with the seed that was given."""
        chosen = select(names, include_path=self.include_path)
        return reseeded(chosen.tasks, self.fresh_seed, self.variants)


def carry_out(wanted: Probing) -> None:
    """Measure what the folder still lacks. Raises ResitError; typer.Exit with 130 after an interrupt."""
    with wanted.model(wanted.kind, wanted.model_args) as model:
        _probe(wanted, model)


def _probe(wanted: Probing, model: Model) -> None:
    asked = _asked(wanted, model)
    jsonl.make_folder(wanted.folder)
    jsonl.write_atomic(wanted.folder / report.RECORD, json.dumps(asked.as_json(), indent=2).encode() + b"\n")
    if "gap" in asked.probes:
        _run(wanted, model, report.ANSWERS, (asked.seen, asked.fresh), wanted.limit)
    if "templates" in asked.probes:
        _run(wanted, model, report.TEMPLATES, (asked.originals, asked.variants), None)
    if "completion" in asked.probes:
        _run(wanted, model, report.COMPLETION, asked.completions, wanted.limit)
    passages = list(_passages(wanted, asked))
    if passages:
        _measure(wanted, model, passages, wanted.folder)
        if wanted.reference_kind:
            reference = wanted.model(wanted.reference_kind, wanted.reference_args)
            texts = [passage for passage in passages if not passage.key.startswith("order|")]
            _measure(wanted, reference, texts, wanted.folder / report.REFERENCE, moments=False)


def _asked(wanted: Probing, model: Model) -> report.Asked:
    """What is carried out, and what is not, with the reason."""
    skipped: dict[str, str] = {}
    for probe in ("likelihood", "order"):
        if probe in wanted.probes and not isinstance(model, LikelihoodModel):
            skipped[probe] = f"{wanted.kind} gives no log-probabilities of texts"
    if "completion" in wanted.probes and not wanted.pair_of_completions:
        skipped["completion"] = f"no completion task is known for {wanted.seen}; name two with --completions"
    seen, fresh = wanted.pair_of_completions or ("", "")
    originals, variants = wanted.templates or TEMPLATES
    return report.Asked(
        model=model.name,
        probes=tuple(probe for probe in wanted.probes if probe not in skipped),
        seen=wanted.seen,
        fresh=wanted.fresh,
        rule=wanted.rule,
        originals=originals,
        variants=variants,
        completions=(seen, fresh),
        skipped=skipped,
    )


def _run(wanted: Probing, model: Model, folder: str, names: Sequence[str], limit: int | None) -> None:
    """One run of two tasks, in a folder of its own."""
    chosen = replace(select(names, include_path=wanted.include_path), tasks=tuple(wanted.tasks(*names)))
    settings = Settings(limit=limit, chat=chat_options(wanted.chat and folder != report.COMPLETION, None))
    observer = ConsoleObserver(judge({task.name: task.rules for task in chosen.tasks}), wilson_interval)
    args = parse_model_args(wanted.model_args)
    job = Job(model, wanted.kind, args, chosen, settings, wanted.folder / folder, observer)
    outcome, _ = perform(job)
    status, message = exit_status(outcome, max_error_share=0.01)
    if status == INTERRUPTED:
        raise typer.Exit(INTERRUPTED)
    if status:
        where = f"the errors are in {job.path() / 'generations.jsonl'}; the same command again retries them"
        raise TooManyErrors(message, where)


def _passages(wanted: Probing, asked: report.Asked) -> Iterator[Passage]:
    """The texts whose likelihoods the probes need."""
    if "likelihood" in asked.probes:
        sets: dict[str, tuple[str, int | None]] = {
            "seen": (asked.seen, wanted.limit),
            "fresh": (asked.fresh, wanted.limit),
        }
        if "templates" in asked.probes:
            sets |= {"originals": (asked.originals, None), "variants": (asked.variants, None)}
        for group, (name, limit) in sets.items():
            (task,) = wanted.tasks(name)
            for document in limited(task.documents(), limit):
                yield from _texts(group, document)
    if "order" in asked.probes:
        (task,) = wanted.tasks(asked.seen)
        rows = [_question(document) for document in limited(task.documents(), wanted.limit)]
        for number, shard in enumerate(shards(rows, wanted.shard_rows, wanted.shuffles, wanted.fresh_seed)):
            for order, text in enumerate((shard.published, *shard.shuffled)):
                yield Passage(report.order_key(number, order), text)


def _texts(group: str, document: Document) -> Iterator[Passage]:
    """The question, and the question with its solution where the data set has one."""
    question, answer = _question(document), document.fields.get("answer")
    pair = str(document.fields["template"]) if group in ("originals", "variants") else ""
    yield Passage(report.key_of(group, "question", pair, document.doc_hash), question)
    if isinstance(answer, str) and "####" in answer:
        text = f"{question}\n{answer}"
        yield Passage(report.key_of(group, "question and solution", pair, document.doc_hash), text)


def _question(document: Document) -> str:
    question = document.fields.get("question")
    if not isinstance(question, str):
        raise UsageError(
            "the likelihood and order probes read a field `question`, which this data set does not have",
            "leave them out with --probes",
        )
    return question


def _measure(
    wanted: Probing, model: Model, passages: Sequence[Passage], folder: Path, *, moments: bool = True
) -> None:
    said = time.monotonic()

    def progress(done: int, planned: int) -> None:
        nonlocal said
        if time.monotonic() - said > SAY_EVERY or done == planned:
            said = time.monotonic()
            typer.echo(f"{model.name}: log-probabilities of {done} of {planned} texts", err=True)

    with model:
        outcome = measure(model, passages, folder, progress, moments=moments)
    if outcome.errored:
        wanted.observer.note(
            f"{outcome.errored} texts could not be measured; see {folder / report.LIKELIHOODS}"
        )
    if outcome.planned and outcome.errored == outcome.planned - outcome.reused > 0:
        raise ResitError("no text could be measured", f"the reasons are in {folder / report.LIKELIHOODS}")


def show_folder(folder: Path, confidence: float, as_json: bool) -> None:
    """Print what a folder's measurements say. Raises UsageError."""
    from resit.cli.statistics import print_json, printer
    from resit.reports.memorisation_table import likelihood_table, memorisation_lines, memorisation_table

    found = report.read_memorisation(folder, confidence)
    if as_json:
        print_json(_plain(found.as_json()))
        return
    show, say = printer()
    show(memorisation_table(found))
    if found.contrasts:
        say("")
        show(likelihood_table(found))
    say("")
    for line in memorisation_lines(found):
        say(line)


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    return dict(json.loads(json.dumps(value)))
