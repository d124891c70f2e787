"""How a verifier is judged."""

from __future__ import annotations

import numpy as np
import pytest

from resit.stats import separation
from resit.verifiers.quality import judge
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
