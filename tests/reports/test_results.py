"""What the table is made of: intervals, counts, and what is kept out of a score."""

from __future__ import annotations

import pytest

from resit.records import SampleScore, Verdict
from resit.reports.results import RuleTally, only_tasks


def sample(correct: float, extracted: str | None = "1", reason: str = "") -> SampleScore:
    return SampleScore("t", 0, "h", 0, {"rule": Verdict("rule", extracted, correct, reason=reason)})


def test_an_answer_that_grading_gave_up_on_is_counted_apart() -> None:
    tally = RuleTally()
    for question in (sample(1.0), sample(0.0, None), sample(0.0, "9^9", "overrun")):
        tally.add([question], "rule")
    summary = tally.summary()
    assert (summary["score"], summary["questions"], summary["overrun"]) == (0.5, 2, 1)
    assert summary["unextracted"] == 1


def test_one_sample_a_question_has_wilsons_interval() -> None:
    tally = RuleTally()
    for index in range(30):
        tally.add([sample(float(index < 27))], "rule")
    summary = tally.summary()
    assert summary["interval"] == "wilson"
    assert (summary["ci_low"], summary["ci_high"]) == (
        pytest.approx(0.7438, abs=5e-5),
        pytest.approx(0.9654, abs=5e-5),
    )


def test_several_samples_are_clustered_by_question() -> None:
    tally = RuleTally()
    for scores in ((1, 0, 1, 0), (1, 1, 0, 0), (0, 1, 1, 1)):
        tally.add([sample(float(score)) for score in scores], "rule")
    summary = tally.summary()
    assert summary["score"] == pytest.approx(0.5833, abs=5e-5)
    assert summary["standard_error"] == pytest.approx(0.0833, abs=5e-5)
    assert (summary["questions"], summary["samples"]) == (3, 12)
    assert summary["interval"] == "clustered by question"


def test_results_of_some_tasks_leave_nothing_of_the_others() -> None:
    results = {
        "results": {"a": 1, "b": 2},
        "config": {"model": "m"},
        "group_subtasks": {"a": [], "b": []},
        **{
            key: {"a": 1, "b": 2}
            for key in ("configs", "versions", "n-shot", "higher_is_better", "n-samples")
        },
        "resit": {"version": "1", "tasks": {"a": 1, "b": 2}},
    }
    shown = only_tasks(results, ["b"])
    assert shown["results"] == {"b": 2}
    assert shown["resit"] == {"version": "1", "tasks": {"b": 2}}
    assert shown["config"] == {"model": "m"}
