"""`resit/gsm_templates`: GSM8K test questions beside fresh variants of the same template.

The templates of reasoning-gym's gsm_symbolic were made from GSM8K test questions; `templates.yaml` says
which, with the evidence. An original and its variants are the same problem with other names and numbers: what
a model gains on the originals it has read, not understood. Both splits hold the same templates, in the same
order.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from resit.assets.fresh import GENERATOR, Generated, distrust, generator, row_of, steps_hold, stream
from resit.assets.splits import GSM_TEMPLATES, SEED, VARIANTS
from resit.errors import AssetError, UsageError

DRAWS_PER_VARIANT = 4000
"""Items of the generator that may be drawn: it takes its templates by turns of chance."""

Rows = Callable[[], list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Original:
    """The question that a template was made from."""

    row: int
    """In GSM8K's test split, from 0."""
    question: str
    """First 16 digits of the sha256 of its text."""
    similarity: float
    next: float
    """Similarity of the question that comes next."""


@cache
def originals() -> Mapping[int, Original]:
    """By template, the question that it was made from."""
    text = Path(__file__).with_name("templates.yaml").read_text(encoding="utf-8")
    return {template: Original(**entry) for template, entry in yaml.safe_load(text).items()}


def generate(split: str, gsm8k: Rows, *, seed: int = SEED, variants: int = VARIANTS) -> Generated:
    """The rows of a split: `originals` (one a template) or `variants` (so many a template).

    A row is `question`, `answer`, `template` and `original`, the row of GSM8K's test split; `gsm8k` gives
    that split's rows. Templates without an original, or of which not enough trustworthy variants were drawn,
    or whose original's own solution does not hold, are in neither split; `dropped` names them. Raises
    AssetError without reasoning-gym or when GSM8K's rows are not the ones that were matched, UsageError for a
    bad option.
    """
    if split not in ("originals", "variants"):
        raise UsageError(f"{GSM_TEMPLATES} has no split {split!r}; it has originals, variants")
    for name, value, least in (("seed", seed, None), ("variants", variants, 1)):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or (least is not None and value < least):
            raise UsageError(f"{GSM_TEMPLATES}: expected {name} to be a whole number, found {value!r}")
    published = gsm8k()
    dropped: Counter[str] = Counter()
    made = _variants(
        seed, variants, {published[one.row]["question"] for one in originals().values()}, dropped
    )
    rows: list[dict[str, Any]] = []
    for template, original in originals().items():
        row = _original(template, original, published)
        if not steps_hold(_plain(row["answer"])):
            dropped[f"template {template}: a step of the original does not hold"] += 1
        elif len(made[template]) < variants:
            dropped[f"template {template}: {len(made[template])} variants"] += 1
        else:
            rows += [row] if split == "originals" else [_of(row, one) for one in made[template]]
    return Generated(rows, _made_by(seed, variants), dict(sorted(dropped.items())))


def _made_by(seed: int, variants: int) -> dict[str, Any]:
    import importlib.metadata

    version = importlib.metadata.version("reasoning-gym")
    return {"generator": f"reasoning-gym {version} {GENERATOR}", "seed": seed, "variants": variants}


def _original(template: int, original: Original, published: list[dict[str, Any]]) -> dict[str, Any]:
    row = published[original.row]
    if hashlib.sha256(row["question"].encode()).hexdigest()[:16] != original.question:
        raise AssetError(
            f"{GSM_TEMPLATES}: row {original.row} of GSM8K's test split is not that of template {template}",
            "the data set in use is another edition; unset RESIT_MIRROR or fetch it again",
        )
    found = {"question": row["question"], "answer": row["answer"]}
    return {**found, "template": template, "original": original.row}


def _of(original: Mapping[str, Any], variant: Mapping[str, Any]) -> dict[str, Any]:
    return {**variant, "original": original["original"]}


def _variants(
    seed: int, count: int, published: set[str], dropped: Counter[str]
) -> Mapping[int, list[dict[str, Any]]]:
    """By template, distinct trustworthy variants that are no published question."""
    made: dict[int, list[dict[str, Any]]] = defaultdict(list)
    owed = dict.fromkeys(originals(), count)
    items = generator().create_dataset(
        GENERATOR, seed=stream("variants", seed), size=DRAWS_PER_VARIANT * count
    )
    for index, template in enumerate(items.task_indices):
        if template not in owed:
            continue
        item = items[index]
        reason, row = distrust(item), row_of(item, template)
        same = {one["question"] for one in made[template]} | published
        if not reason and row["question"] in same:
            reason = "duplicate"
        if reason:
            dropped[reason] += 1
            continue
        made[template].append(row)
        if len(made[template]) == count:
            del owed[template]
            if not owed:
                break
    return made


def _plain(answer: str) -> str:
    """A published solution without its calculator annotations and without its last line."""
    return re.sub(r"<<.*?>>", "", answer.rpartition("####")[0])
