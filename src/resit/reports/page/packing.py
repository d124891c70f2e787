"""Packs texts into the page: deflated JSON in base64, in blocks that the browser opens when it needs them."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from resit.reports.page.choosing import rank, representatives, samples_each
from resit.reports.page.data import Detail, Held, PromptText, Turn
from resit.reports.page.details import detail_side
from resit.reports.page.gathering import Gathered
from resit.reports.page.prompts import SharedBeginning, prompt_text, turns
from resit.reports.page.source import Answered
from resit.reports.page.summary import ScoredRun

BUDGET = 2_750_000
"""Characters that texts may take in the file: with rows, scripts and charts it stays below 4 MB."""
BLOCK = 150_000
"""Characters of JSON from which on a block is closed."""

Lead = str | list[Turn] | None


@dataclass(slots=True)
class Entry:
    """A question's texts before they are packed."""

    detail: Detail
    leads: list[Lead]
    """One a run: what stands between the shared beginning of the prompt and the question."""
    order: tuple[int, int]
    texts: int = 0


@dataclass(slots=True)
class Packed:
    """The texts that a file holds."""

    cap: int
    """Samples of each question that were taken at most."""
    of: int
    """Texts that the runs hold in all."""
    blocks: list[str] = field(default_factory=list)
    details: dict[str, int] = field(default_factory=dict)
    """Row id to the block that holds its detail."""
    leads: dict[str, int] = field(default_factory=dict)
    """Row id to the block that holds what leads up to the question."""
    texts: int = 0
    without_leads: int = 0
    """Questions whose exemplars did not fit."""
    spent: int = 0

    def add(self, values: Mapping[str, Any], places: dict[str, int], budget: int) -> bool:
        """Add a block; False where it does not fit."""
        text = deflated(values)
        if self.spent + len(text) > budget:
            return False
        places.update(dict.fromkeys(values, len(self.blocks)))
        self.blocks.append(text)
        self.spent += len(text)
        return True

    def held(self) -> Held:
        """What the page says about it."""
        words = []
        if self.texts < self.of:
            words.append(
                f"This file holds {self.texts} of {self.of} texts: of each question and run at most "
                f"{self.cap}, first one for each answer, the most frequent first; questions on which runs or "
                "rules differ come before wrong ones, these before right ones. Counts and votes are of all "
                "samples."
            )
        if self.without_leads:
            words.append(
                f"It leaves out the exemplars of {self.without_leads} questions, drawn anew for each."
            )
        if words:
            words.append("`resit view` shows everything.")
        return Held(texts=self.texts, of=self.of, rule=" ".join(words))


def pack(runs: Sequence[ScoredRun], gathered: Mapping[str, Gathered], budget: int) -> Packed:
    """The texts of all tasks, as many as fit into `budget` characters, the telling ones first."""
    total = sum(len(lengths) for found in gathered.values() for lengths in found.lengths)
    packed = Packed(samples_each(gathered.values(), budget), total)
    entries = [e for task, found in gathered.items() for e in _entries(runs, task, found, packed.cap)]
    entries.sort(key=lambda entry: entry.order)
    for block in _blocks([(entry, entry.detail) for entry in entries]):
        details = {entry.detail["id"]: entry.detail for entry in block}
        if packed.add(details, packed.details, budget):
            packed.texts += sum(entry.texts for entry in block)
    led = [entry for entry in entries if any(entry.leads) and entry.detail["id"] in packed.details]
    for block in _blocks([(entry, entry.leads) for entry in led]):
        leads = {entry.detail["id"]: entry.leads for entry in block}
        packed.without_leads += 0 if packed.add(leads, packed.leads, budget) else len(block)
    return packed


def _blocks(entries: Sequence[tuple[Entry, Any]]) -> list[list[Entry]]:
    """The entries in blocks of about `BLOCK` characters."""
    blocks: list[list[Entry]] = []
    size = BLOCK
    for entry, value in entries:
        if size >= BLOCK:
            blocks.append([])
            size = 0
        blocks[-1].append(entry)
        size += len(ascii_json(value))
    return blocks


def _entries(runs: Sequence[ScoredRun], task: str, found: Gathered, cap: int) -> list[Entry]:
    entries: dict[str, Entry] = {}
    rule = found.rows.rules.index(found.quoted) if found.quoted in found.rows.rules else 0
    for index, run in enumerate(runs):
        if run.about(task) is None:
            continue
        rules = run.source.rules(task)
        for item in run.source.answered(task):
            key = item.question.document.doc_hash
            if key not in entries:
                order = (rank(found.rows.rows[key], rule) if found.rows.rules else 0, len(entries))
                entries[key] = Entry(_detail(found, item, len(runs)), [None] * len(runs), order)
            entry = entries[key]
            prompt = prompt_text(item.question, found.shared[index])
            chosen = representatives(item.scores, found.quoted, cap)
            side = detail_side(item, _own(prompt), rules, chosen)
            entry.detail["sides"][index] = side
            entry.leads[index] = prompt["lead"]
            entry.texts += sum(sample["error"] is None for sample in side["samples"])
    return list(entries.values())


def _own(prompt: PromptText) -> PromptText:
    """The prompt without the parts that are kept elsewhere."""
    return PromptText(shared="", lead=None if prompt["lead"] else "", own=prompt["own"])


def _detail(found: Gathered, item: Answered, runs: int) -> Detail:
    document, target = item.question.document, item.question.target
    return Detail(
        id=found.rows.rows[document.doc_hash]["id"],
        task=item.question.task,
        doc_id=document.doc_id,
        doc_hash=document.doc_hash,
        target=target if isinstance(target, str) else " | ".join(target),
        fields=dict(document.fields),
        sides=[None] * runs,
    )


def packed_rows(gathered: Mapping[str, Gathered], packed: Packed) -> str:
    """All rows, each task's shared prompt beginnings by run, and where the texts are."""
    return deflated(
        {
            "rows": {task: list(found.rows.rows.values()) for task, found in gathered.items()},
            "shared": {
                task: [_shared(shared) for shared in found.shared] for task, found in gathered.items()
            },
            "details": packed.details,
            "leads": packed.leads,
        }
    )


def _shared(shared: SharedBeginning) -> str | list[Turn]:
    cut = shared.cut()
    return (shared.text or "")[:cut] if isinstance(cut, int) else turns(cut)


def deflated(value: Any) -> str:
    """JSON, deflated, in base64: what the browser's `DecompressionStream("deflate")` takes."""
    return base64.b64encode(zlib.compress(ascii_json(value).encode("ascii"), 9)).decode("ascii")


def ascii_json(value: Any) -> str:
    """JSON that any parser takes: numbers that JSON has no word for are null, other values their text."""
    try:
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=str, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=True, separators=(",", ":"), default=str)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
