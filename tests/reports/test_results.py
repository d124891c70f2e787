"""What the table is made of: intervals, counts, and what is kept out of a score."""

from __future__ import annotations

import pytest

from resit.records import QuestionScore, SampleScore, Verdict
from resit.reports.claims import accuracy, collect
from resit.reports.results import RuleTally, TaskTally, only_tasks


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


def test_a_question_counts_once_however_many_samples_of_it_are_there() -> None:
    """Errored and missing samples leave questions with unequal numbers; every report takes the same mean."""
    tally, samples = RuleTally(), []
    for number in range(30):
        several = [
            SampleScore("t", number, f"h{number}", repeat, {"rule": Verdict("rule", "1", float(number < 10))})
            for repeat in range(8 if number < 10 else 1)
        ]
        tally.add(several, "rule")
        samples += several
    summary, claim = tally.summary(), accuracy(collect(samples, "t", "rule")).estimate
    assert summary["score"] == pytest.approx(1 / 3)
    assert (summary["score"], summary["standard_error"]) == (claim.value, claim.standard_error)
    assert (summary["ci_low"], summary["ci_high"]) == (claim.ci_low, claim.ci_high)
    assert summary["ci_low"] < summary["score"] < summary["ci_high"]


def test_a_vote_says_how_many_questions_have_the_samples_for_it() -> None:
    tally = TaskTally()
    for number in range(10):
        metrics = {"exact_match,maj@8": 1.0} if number < 4 else {}
        tally.add(
            QuestionScore(
                "t", number, f"h{number}", (sample(1.0),), {}, {"exact_match,first": 1.0, **metrics}
            )
        )
    assert tally.partial() == {"exact_match,maj@8": 4}


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
