"""What several probes together say about whether a model has seen its exam, each with its uncertainty.

A folder holds what was measured: `answers/`, `templates/` and `completion/` are runs, `likelihoods.jsonl` the
log-probabilities of texts, `reference/` those of a model to compare with, `memorisation.json` what was asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from resit import jsonl
from resit.errors import UsageError
from resit.probes.contrast import Contrast, contrast, paired_contrast
from resit.probes.order import OrderTest, order_test
from resit.probes.signals import SIGNALS, Reading
from resit.records import TokenLikelihoods
from resit.reports.gaps import Gap, gap_of_runs
from resit.reports.paired_gaps import paired_gap_of_runs
from resit.stats import holm

RECORD = "memorisation.json"
LIKELIHOODS = "likelihoods.jsonl"
ANSWERS, TEMPLATES, COMPLETION, REFERENCE = "answers", "templates", "completion", "reference"
RECALL = "recall_rouge_l"
HEADLINES = ("reference_ratio", "min_k_plus_plus", "min_k")
"""The signal that speaks for the likelihoods: the first of these that could be computed."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a memorisation folder was asked to measure, as `memorisation.json` keeps it."""

    model: str
    probes: tuple[str, ...]
    seen: str
    fresh: str
    rule: str = "robust"
    originals: str = ""
    variants: str = ""
    completions: tuple[str, str] = ("", "")
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Probes that were not carried out, and why."""

    def as_json(self) -> dict[str, Any]:
        """As it is written."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Sign:
    """One probe's outcome, for the summary."""

    probe: str
    p_value: float
    """One-sided: small when the data speak for memorisation."""
    p_holm: float
    """Adjusted for all probes of the folder (Holm 1979)."""


@dataclass(frozen=True, slots=True)
class Memorisation:
    """Every probe's result; None where it was not carried out."""

    asked: Asked
    gap: Gap | None = None
    templates: Gap | None = None
    completion: Gap | None = None
    contrasts: tuple[Contrast, ...] = ()
    order: OrderTest | None = None
    alpha: float = 0.05

    @property
    def headline(self) -> Contrast | None:
        """The contrast that speaks for the likelihoods: of questions, paired where templates allow it."""
        of_questions = [found for found in self.contrasts if found.part == "question"]
        paired = [found for found in of_questions if found.paired_by] or of_questions
        by_signal = {found.signal: found for found in paired}
        return next((by_signal[signal] for signal in HEADLINES if signal in by_signal), None)

    @property
    def signs(self) -> list[Sign]:
        """One a probe, with p-values adjusted for their number."""
        found = [
            (probe, gap.result.p_greater)
            for probe, gap in (
                ("gap", self.gap),
                ("templates", self.templates),
                ("completion", self.completion),
            )
            if gap is not None
        ]
        if self.headline is not None:
            found.append(("likelihood", self.headline.p_greater))
        if self.order is not None:
            found.append(("order", self.order.p_value))
        adjusted = holm([p for _, p in found])
        return [Sign(probe, p, q) for (probe, p), q in zip(found, adjusted, strict=True)]

    def as_json(self) -> dict[str, Any]:
        """One object; probes that were not carried out are left out."""
        gaps = {"gap": self.gap, "templates": self.templates, "completion": self.completion}
        return {
            "asked": self.asked.as_json(),
            "alpha": self.alpha,
            "signs": [asdict(sign) for sign in self.signs],
            **{name: gap.as_json() for name, gap in gaps.items() if gap is not None},
            **({"likelihoods": [found.as_json() for found in self.contrasts]} if self.contrasts else {}),
            **({"order": asdict(self.order)} if self.order is not None else {}),
        }


def read_memorisation(folder: Path, confidence: float = 0.95) -> Memorisation:
    """What a folder's files say. Raises UsageError where there is no such folder or a file is damaged."""
    asked = read_asked(folder)
    contrasts, order = _from_likelihoods(folder, asked, confidence)
    return Memorisation(
        asked=asked,
        gap=_gap(folder / ANSWERS, asked.seen, asked.fresh, asked, confidence),
        templates=_templates(folder / TEMPLATES, asked, confidence),
        completion=_gap(folder / COMPLETION, *asked.completions, asked, confidence, rule=RECALL),
        contrasts=contrasts,
        order=order,
        alpha=1 - confidence,
    )


def read_asked(folder: Path) -> Asked:
    """What a folder was asked to measure. Raises UsageError."""
    try:
        found = jsonl.decode((folder / RECORD).read_bytes())
        return Asked(
            **{**found, "probes": tuple(found["probes"]), "completions": tuple(found["completions"])}
        )
    except FileNotFoundError:
        raise UsageError(f"{folder} holds no {RECORD}", "name a folder of `resit memorisation`") from None
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{folder / RECORD} is damaged: {error}") from None


def _gap(
    run: Path, seen: str, fresh: str, asked: Asked, confidence: float, rule: str | None = None
) -> Gap | None:
    if not (run / "results.json").exists():
        return None
    return gap_of_runs(run, run, seen, fresh, rule=rule or asked.rule, confidence=confidence)


def _templates(run: Path, asked: Asked, confidence: float) -> Gap | None:
    if not (run / "results.json").exists():
        return None
    return paired_gap_of_runs(
        run, run, "template", asked.originals, asked.variants, rule=asked.rule, confidence=confidence
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """What a passage's key says: which set it is of, what part of the document, and its group."""

    group: str
    part: str
    pair: str
    document: str


def key_of(group: str, part: str, pair: str, document: str) -> str:
    """The key of a text: its set (`seen`, `fresh`, `originals`, `variants`), part, template and document."""
    return "|".join((group, part, pair, document))


def order_key(shard: int, order: int) -> str:
    """The key of a shard of rows in some order; 0 is the published one."""
    return f"order|{shard}|{order}"


def _from_likelihoods(
    folder: Path, asked: Asked, confidence: float
) -> tuple[tuple[Contrast, ...], OrderTest | None]:
    if not (folder / LIKELIHOODS).exists():
        return (), None
    reference = dict(_measured(folder / REFERENCE / LIKELIHOODS))
    values: dict[tuple[str, str, str], dict[Hashable, list[float]]] = defaultdict(lambda: defaultdict(list))
    orders: dict[int, dict[int, float]] = defaultdict(dict)
    for key, (text, found) in _measured(folder / LIKELIHOODS):
        if key.startswith("order|"):
            _, shard, order = key.split("|")
            orders[int(shard)][int(order)] = found.total
            continue
        place = _Place(*key.split("|", 3))
        beside = reference.get(key)
        reading = Reading(text, found, beside[1] if beside and beside[0] == text else None)
        for name, signal in SIGNALS.items():
            value = signal(reading)
            if value is not None:
                values[place.part, name, place.group][place.pair or place.document].append(value)
    return tuple(_contrasts(values, confidence)), _order(orders) if "order" in asked.probes else None


def _measured(path: Path) -> Iterator[tuple[str, tuple[str, TokenLikelihoods]]]:
    """Each measured text by its key; of several lines for one key the last counts."""
    if not path.exists():
        return
    found = {}
    for line in jsonl.read(path):
        value = line.value
        if value is None or "key" not in value or value.get("error"):
            continue
        mean, deviation = (tuple(value[name]) if name in value else None for name in ("mean", "deviation"))
        likelihoods = TokenLikelihoods(
            value["key"], logprobs=tuple(value.get("logprobs", ())), mean=mean, deviation=deviation
        )
        found[value["key"]] = (value.get("text", ""), likelihoods)
    yield from found.items()


def _contrasts(
    values: Mapping[tuple[str, str, str], Mapping[Hashable, Sequence[float]]], confidence: float
) -> Iterator[Contrast]:
    for part in dict.fromkeys(part for part, _, _ in values):
        for signal in SIGNALS:
            seen, fresh = values.get((part, signal, "seen")), values.get((part, signal, "fresh"))
            if seen and fresh:
                flat = [[x for one in side.values() for x in one] for side in (seen, fresh)]
                yield contrast(signal, part, flat[0], flat[1], confidence)
            first, second = values.get((part, signal, "originals")), values.get((part, signal, "variants"))
            if first and second:
                yield paired_contrast(signal, part, first, second, confidence, by="template")


def _order(orders: Mapping[int, Mapping[int, float]]) -> OrderTest | None:
    """The test over the shards of which every order was measured."""
    most = max((len(shard) for shard in orders.values()), default=0)
    whole = [shard for shard in orders.values() if len(shard) == most and 0 in shard]
    if most < 2 or len(whole) < 2:
        return None
    return order_test(
        [shard[0] for shard in whole], [[shard[at] for at in sorted(shard) if at] for shard in whole]
    )
