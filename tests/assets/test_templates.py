"""gsm_templates: originals and variants of the same templates."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from resit import assets
from resit.assets import fresh, templates
from resit.errors import AssetError, UsageError

try:
    fresh.generator()
except AssetError as absent:
    pytest.skip(str(absent), allow_module_level=True)


@pytest.fixture
def mirrored(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESIT_MIRROR", str(shared / "mirror"))


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{3,}", text.lower()))


def test_every_template_has_evidence_and_an_original_of_its_own() -> None:
    found = templates.originals()
    assert len(found) >= 80
    assert len({one.row for one in found.values()}) == len(found)
    for one in found.values():
        assert 0 <= one.row < 1319
        assert one.similarity >= 1.25 * one.next
        assert len(one.question) == 16


@pytest.mark.usefixtures("mirrored")
def test_both_splits_hold_the_same_templates_in_the_same_order() -> None:
    originals = assets.load("resit/gsm_templates", None, "originals", seed=5)
    variants = assets.load("resit/gsm_templates", None, "variants", seed=5)
    order = [row["template"] for row in originals.rows]
    assert len(order) >= 75
    assert [row["template"] for row in variants.rows] == [one for one in order for _ in range(4)]
    gsm8k = assets.rows("openai/gsm8k", "main", "test")
    by_template = {row["template"]: row for row in originals.rows}
    for row in originals.rows:
        assert (row["question"], row["answer"]) == tuple(gsm8k[row["original"]].values())
    for row in variants.rows:
        original = by_template[row["template"]]
        assert row["original"] == original["original"]
        assert row["question"] != original["question"]
        assert len(words(row["question"]) & words(original["question"])) >= 4, "the same story"
    assert len({row["question"] for row in variants.rows}) == len(variants.rows)


@pytest.mark.usefixtures("mirrored")
def test_the_seed_decides_the_variants_and_the_identity_says_their_digest() -> None:
    def made(seed: int) -> assets.LoadedSplit:
        return assets.load("gsm_templates", None, "variants", seed=seed, variants=1)

    one, again, other = made(1), made(1), made(2)
    assert one.rows == again.rows
    shared = {row["question"] for row in one.rows} & {row["question"] for row in other.rows}
    assert len(shared) < 5
    assert one.identity["digest"] != other.identity["digest"]
    assert {"seed", "variants", "generator"} <= set(one.identity)


def test_what_is_left_out_is_named() -> None:
    rows: list[dict[str, Any]] = [{"question": "?", "answer": "#### 1"}] * 1319
    with pytest.raises(AssetError, match="is not that of template"):
        templates.generate("originals", lambda: rows)


@pytest.mark.usefixtures("mirrored")
def test_a_template_whose_original_cannot_be_confirmed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "steps_hold", lambda solution: "shrimp" not in solution)
    found = assets.load("resit/gsm_templates", None, "originals")
    assert found.dropped["template 0: a step of the original does not hold"] == 1
    assert 0 not in {row["template"] for row in found.rows}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"split": "test"}, "has no split 'test'"),
        ({"variants": 0}, "expected variants to be a whole number"),
        ({"seed": "x"}, "expected seed to be a whole number"),
        ({"size": 3}, "unknown option size"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        assets.load("resit/gsm_templates", None, **{"split": "variants", **options})
