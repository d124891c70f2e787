"""What `resit tasks show` tells of a task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from resit import assets
from resit.errors import AssetError, UsageError
from resit.prompts import questions
from resit.records import Message, Prompt
from resit.tasks import Task, aligned, pairs, protocol_digest


def card(task: Task) -> dict[str, Any]:
    """The task's protocol, provenance, licence and first prompt, as JSON."""
    config, own = task.config, task.config.resit
    sampling = task.sampling()
    return {
        "name": task.name,
        "about": own.about,
        "status": own.status,
        "record": own.record,
        "alignment": [_measured(record) for record in aligned.records(task.name)],
        "source": task.source,
        "version": (config.metadata or {}).get("version"),
        "tags": list(config.tags),
        "pairs": [pair.name for pair in pairs().values() if task.name in (pair.seen, pair.fresh)],
        "reference": own.reference.model_dump() if own.reference else None,
        "deviations": list(own.deviations),
        "data": _data(task),
        "exemplars": _exemplars(task),
        "repeats": task.repeats,
        "sampling": {
            "max_tokens": sampling.max_tokens,
            "temperature": sampling.temperature,
            "stop": list(sampling.stop),
            **({"calculator": True} if sampling.calculator else {}),
            **sampling.extra,
        },
        **_scoring(task),
        **_from_data(task),
    }


def _measured(record: aligned.Record) -> dict[str, Any]:
    """A record of alignment in short; what it does not hold is left out."""
    of = record.model or record.responses
    shown = {
        "kind": record.kind,
        "verdict": record.verdict,
        "reference": f"{record.reference.implementation} {record.reference.version}",
        "of": of.name if of else record.twin or None,
        "n": record.n,
        "same_texts": record.same_texts,
        "scores": {rule: [scores.ours, scores.theirs] for rule, scores in record.rules.items()},
        "date": record.date,
    }
    return {key: value for key, value in shown.items() if value not in (None, {})}


def _data(task: Task) -> dict[str, Any]:
    config = task.config
    entry = next(
        (
            a
            for a in assets.catalogue().values()
            for d in a.datasets
            if config.dataset_path in (d.path, *d.aliases)
        ),
        None,
    )
    own = config.resit.data
    return {
        "dataset_path": config.dataset_path,
        "dataset_name": config.dataset_name,
        "split": config.asked_split,
        "licence": own.licence if own else entry.licence if entry else None,
        "licence_stated_in": own.stated_in if own else entry.licence_stated_in if entry else None,
    }


def _exemplars(task: Task) -> dict[str, Any] | None:
    config, source = task.config, task.config.resit.exemplars
    if not config.num_fewshot:
        return None
    sampler = config.fewshot_config.sampler
    where = source.model_dump(exclude_unset=True) if source else {"split": config.shot_split or "samples"}
    return {"count": config.num_fewshot, "sampler": str(getattr(sampler, "name", sampler)), "from": where}


def _scoring(task: Task) -> dict[str, Any]:
    rules = task.rules
    return {
        "filters": {
            chain.name: [{"function": step.function, **step.kwargs} for step in chain.steps]
            for chain in rules.filters
        },
        "metrics": [metric.name for metric in rules.metrics],
        "rules": list(rules.named),
        "options": dict(rules.options),
        "headline": rules.headline,
        "own_scorer": rules.process_results is not None,
    }


def _from_data(task: Task) -> dict[str, Any]:
    """What needs the rows: their number, the protocol's digest, a prompt; or why they cannot be had."""
    try:
        first = next(questions(task), None)
        digest = protocol_digest(task)
    except (AssetError, UsageError) as error:
        return {"documents": None, "protocol_digest": None, "prompt": None, "no_prompt": str(error)}
    return {
        "documents": len(task.documents()),
        "protocol_digest": digest,
        "prompt": plain(first.prompt) if first else None,
        "target": first.target if first else None,
    }


def plain(prompt: Prompt) -> str | list[dict[str, str]]:
    """A prompt as JSON: text, or messages."""
    return prompt if isinstance(prompt, str) else [_message(message) for message in prompt]


def _message(message: Message) -> dict[str, str]:
    return {"role": message.role, "content": message.content}


def lines(shown: Mapping[str, Any]) -> Iterator[str]:
    """The card for people; what is empty is left out."""
    yield f"{shown['name']}  {shown['about']}"
    for key in (
        "status",
        "record",
        "source",
        "version",
        "documents",
        "repeats",
        "headline",
        "protocol_digest",
    ):
        if shown.get(key) not in (None, "", 0):
            yield f"  {key.replace('_', ' ')}: {shown[key]}"
    for record in shown["alignment"]:
        of = f" {record['of']}" if "of" in record else ""
        n = f", {record['n']} questions" if "n" in record else ""
        yield f"  measured: {record['kind']}{of}: {record['verdict']} with {record['reference']}{n}"
    for key in ("tags", "pairs", "metrics", "rules"):
        if shown[key]:
            yield f"  {key}: {', '.join(shown[key])}"
    for key in ("reference", "data", "exemplars", "sampling", "options"):
        if shown[key]:
            told = ((name, value) for name, value in shown[key].items() if value is not None)
            yield f"  {key}: " + "; ".join(f"{name} {_setting(name, value)}" for name, value in told)
    for name, steps in shown["filters"].items():
        yield f"  filter {name}: " + ", ".join(_step(step) for step in steps)
    yield from (f"  deviation: {text}" for text in shown["deviations"])
    if shown["prompt"] is None:
        yield f"  no rendered prompt: {shown.get('no_prompt', 'the split is empty')}"
        return
    yield "  first prompt:"
    yield from indented(shown["prompt"])
    yield "  reference answer:"
    yield from indented(str(shown["target"]))


def _setting(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {inner}" for key, inner in value.items())
    return repr(value) if name == "stop" else str(value)


def _step(step: Mapping[str, Any]) -> str:
    settings = " ".join(f"{key}={value!r}" for key, value in step.items() if key != "function")
    return f"{step['function']} {settings}".strip()


def indented(prompt: str | list[dict[str, str]]) -> Iterator[str]:
    """A prompt with a bar before each line; chat turns are headed by their role."""
    for message in [{"role": "", "content": prompt}] if isinstance(prompt, str) else prompt:
        if message["role"]:
            yield f"    [{message['role']}]"
        yield from (f"    | {line}" for line in message["content"].split("\n"))
