"""A measured memorisation folder with its questions dealt out anew: which are called seen is drawn by a seed.

Nothing is computed here. The files are copied with other names for the sets, and Resit reads the copy as it
reads any folder, so that what is tried is what users get.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from resit import jsonl
from resit.reports import memorisation as report

Line: TypeAlias = dict[str, Any]
PAIRED = ("originals", "variants")


@dataclass(frozen=True, slots=True)
class Deal:
    """Who plays which part under one seed."""

    seen: frozenset[str]
    """Hashes of the questions that are called seen; the other half is called fresh."""
    swapped: frozenset[str]
    """Templates whose original and variant change places."""
    templates: Mapping[str, str]
    """By the hash of a paired question, its template."""

    def group(self, group: str, pair: str, document: str) -> str:
        """What a set of a question is called now."""
        if group in PAIRED:
            return PAIRED[(group == PAIRED[0]) == (pair in self.swapped)]
        return "seen" if document in self.seen else "fresh"

    def task(self, tasks: Sequence[str], task: str, document: str) -> str:
        """Which of two tasks a question belongs to now."""
        if document in self.templates:
            return tasks[(task == tasks[0]) == (self.templates[document] in self.swapped)]
        return tasks[document not in self.seen]


def deal(folder: Path, seed: int) -> Deal:
    """Halve the pool of a folder's questions at random, and flip a coin for each template."""
    chance = random.Random(f"split {seed}")
    pool: dict[str, None] = {}
    templates: dict[str, str] = {}
    for line in lines(folder / report.LIKELIHOODS):
        if line["key"].startswith("order|"):
            continue
        group, _, pair, document = line["key"].split("|", 3)
        if group in PAIRED:
            templates[document] = pair
        else:
            pool[document] = None
    seen = chance.sample(sorted(pool), len(pool) // 2)
    swapped = [template for template in sorted(set(templates.values())) if chance.random() < 0.5]
    return Deal(frozenset(seen), frozenset(swapped), templates)


def dealt(source: Path, target: Path, dealing: Deal, orders: Iterable[Line]) -> None:
    """Write the folder as if the deal were how it was asked, with other texts for the order probe."""
    asked = report.read_asked(source)

    def renamed(line: Line) -> Line:
        group, part, pair, document = line["key"].split("|", 3)
        return {**line, "key": report.key_of(dealing.group(group, pair, document), part, pair, document)}

    def kept(folder: Path) -> list[Line]:
        return [renamed(line) for line in without_orders(folder)]

    target.mkdir(parents=True)
    shutil.copy(source / report.RECORD, target)
    write(target / report.LIKELIHOODS, [*kept(source), *orders])
    write(target / report.REFERENCE / report.LIKELIHOODS, kept(source / report.REFERENCE))
    pairs = {
        report.ANSWERS: (asked.seen, asked.fresh),
        report.COMPLETION: asked.completions,
        report.TEMPLATES: (asked.originals, asked.variants),
    }
    for run, tasks in pairs.items():
        _run(source / run, target / run, partial(dealing.task, tasks))


def _run(source: Path, target: Path, task_of: Callable[[str, str], str]) -> None:
    target.mkdir()
    shutil.copy(source / "results.json", target)
    for name in ("scores.jsonl", "prompts.jsonl"):
        found = lines(source / name)
        write(target / name, [{**line, "task": task_of(line["task"], line["doc_hash"])} for line in found])


def without_orders(folder: Path) -> list[Line]:
    """A folder's likelihoods, less those of the order probe; none where it has none."""
    path = folder / report.LIKELIHOODS
    return [line for line in lines(path) if not line["key"].startswith("order|")] if path.exists() else []


def lines(path: Path) -> list[Line]:
    """The objects of a JSON Lines file."""
    return [line.value for line in jsonl.read(path) if line.value is not None]


def write(path: Path, found: Iterable[Line]) -> None:
    """A JSON Lines file, its folder made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(jsonl.encode(line) + b"\n" for line in found))
