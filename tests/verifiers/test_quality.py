"""How a verifier is judged."""

from __future__ import annotations

import math
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from resit.reports.verifier_table import quality_table
from resit.stats import bounded_mean_interval, separation, wilson_interval
from resit.verifiers.quality import auc, judge
from resit.verifiers.solutions import divided, part_of


def test_auc_lead_and_calibration() -> None:
    rng = np.random.default_rng(2)
    truth = rng.uniform(size=400)
    labels = (rng.uniform(size=400) < truth).astype(float)
    logits = np.log(truth / (1 - truth))
    questions = [number // 4 for number in range(400)]
    found = judge(logits, labels, questions, {"length": rng.normal(size=400)})
    verifier, length = found.discriminations
    right = labels == 1
    assert verifier.auc == pytest.approx(separation(logits[right], logits[~right]).auc)
    assert verifier.ci_low < verifier.auc < verifier.ci_high
    assert length.ci_low < 0.5 < length.ci_high
    (lead,) = found.advantages
    assert lead.difference == pytest.approx(verifier.auc - length.auc)
    assert lead.ci_low > 0
    assert (found.questions, found.solutions, found.right) == (100, 400, int(labels.sum()))
    assert found.brier < found.brier_of_share
    assert sum(each.solutions for each in found.calibration) == 400
    assert all(each.ci_low <= each.predicted <= each.ci_high for each in found.calibration[2:8])
    again = judge(logits, labels, questions, {})
    assert again.discriminations[0] == verifier, "seeded"


def test_a_questions_solutions_are_no_independent_evidence() -> None:
    rng = np.random.default_rng(4)
    by_question = rng.normal(size=30)
    labels = np.repeat(rng.uniform(size=30) < 0.5, 16).astype(float)
    logits = np.repeat(by_question, 16)
    one = judge(logits, labels, [number // 16 for number in range(480)], {}).discriminations[0]
    naive = judge(logits, labels, list(range(480)), {}).discriminations[0]
    assert one.ci_high - one.ci_low > 2 * (naive.ci_high - naive.ci_low)


def test_a_calibration_bin_rests_on_its_questions() -> None:
    """Twenty questions with 64 identical solutions: two in each tenth, which is not 128."""
    logits, labels = np.repeat(np.arange(20) / 10, 64), np.repeat(np.arange(20) % 2, 64).astype(float)
    found = judge(logits, labels, [number // 64 for number in range(1280)], {}).calibration
    assert [(each.solutions, each.questions) for each in found] == [(128, 2)] * 10
    assert {(each.observed, each.ci_low, each.ci_high) for each in found} == {
        (0.5, *bounded_mean_interval([0.0, 1.0]))
    }
    assert found[0].predicted == pytest.approx((0.5 + 1 / (1 + math.exp(-0.1))) / 2)
    naive = judge(logits[::64], labels[::64], range(20), {}).calibration
    assert (naive[0].ci_low, naive[0].ci_high) == wilson_interval(1, 2), "one solution a question"


def test_solutions_of_one_question_have_no_interval() -> None:
    found = judge(range(20), [0, 1] * 10, ["a"] * 20, {})
    assert [(each.questions, each.ci_low, each.ci_high) for each in found.calibration] == [
        (1, None, None)
    ] * 10
    shown = Console(file=StringIO(), width=100)
    shown.print(quality_table(found))
    assert "100.0 % of 2" in shown.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("labels", [[1, 0, 0, 0], [0, 1, 1, 1]])
def test_a_single_solution_of_a_kind_has_an_auc(labels: list[float]) -> None:
    found = judge([2.0, 1.0, 0.0, 2.0], labels, [*"abcd"], {"length": [1.0, 2.0, 3.0, 4.0]})
    expected = {1: [5 / 6, 0.0], 0: [1 / 6, 1.0]}[int(labels[0])]
    assert [one.auc for one in found.discriminations] == pytest.approx(expected)


def test_what_is_not_finite_has_no_auc() -> None:
    with pytest.raises(ValueError, match="finite"):
        auc(np.array([1.0, math.nan]), np.array([0.0]))
    with pytest.raises(ValueError, match="each group"):
        auc(np.array([]), np.array([0.0]))


def test_questions_stay_together_and_parts_do_not_depend_on_one_another() -> None:
    from resit.verifiers.solutions import Solution

    solutions = [Solution(f"q{n}", "?", str(r), float(r % 2), r) for n in range(500) for r in range(3)]
    parts = divided(solutions, seed=1)
    keys = {part: {one.question_key for one in found} for part, found in parts.items()}
    assert sum(map(len, parts.values())) == 1500
    assert not keys["train"] & keys["test"]
    assert not keys["train"] & keys["validation"]
    assert 0.63 < len(keys["train"]) / 500 < 0.77
    assert {part_of(key, 1) for key in keys["test"]} == {"test"}
    assert divided(solutions, seed=2)["test"] != parts["test"]
