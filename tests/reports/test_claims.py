from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resit import jsonl, stats
from resit.errors import UsageError
from resit.records import SampleScore, Verdict
from resit.reports import claims
from resit.reports.repeats import question_votes, repeat_lines, repeats_json
from resit.reports.scores import score_line
from resit.stats import QuestionVotes


def sample(question, repeat, answer, right, *, error=None, truncated=False, task="gsm8k"):
    verdicts = {} if error else {"robust": Verdict("robust", answer, float(right))}
    return SampleScore(task, question, f"h{question}", repeat, verdicts, truncated, error)


def run(*questions, gold="18"):
    """One list of answers a question."""
    return [
        sample(number, repeat, answer, answer == gold)
        for number, answers in enumerate(questions)
        for repeat, answer in enumerate(answers)
    ]


def test_single_samples():
    samples = run(*[["18"]] * 964, *[["20"]] * 200, *[[None]] * 41)
    scores = claims.collect(samples, "gsm8k", "robust")
    claim = claims.accuracy(scores)
    assert claim.estimate.value == pytest.approx(0.8)
    assert (claim.estimate.ci_low, claim.estimate.ci_high) == stats.wilson_interval(964, 1205)
    assert (claim.estimate.questions, claim.estimate.samples, claim.unextracted) == (1205, 1205, 41)
    assert claim.estimate.method == "Wilson"
    assert "k" not in claim.as_json()
    assert claim.as_json()["value"] == pytest.approx(0.8)
    assert claims.sampling_claims(scores) == []


def test_failed_requests_are_a_class_of_their_own():
    """FC-REP-01: 120 right, 70 wrong, 10 failed."""
    samples = run(*[["18"]] * 120, *[["20"]] * 70)
    samples += [sample(190 + i, 0, None, False, error="429") for i in range(10)]
    scores = claims.collect(samples, "gsm8k", "robust")
    assert claims.accuracy(scores).estimate.value == pytest.approx(0.632, abs=5e-4)
    assert claims.share_of_all(scores) == pytest.approx(0.6)
    assert (scores.errored, scores.samples) == (10, 190)


def test_an_answer_that_grading_gave_up_on_is_neither_wrong_nor_missing():
    samples = run(*[["18"]] * 8)
    given_up = {"robust": Verdict("robust", "9^9^9", 0.0, reason="overrun")}
    samples += [SampleScore("gsm8k", 8 + i, f"h{8 + i}", 0, given_up) for i in range(2)]
    scores = replace(claims.collect(samples, "gsm8k", "robust"), planned=11)
    assert claims.accuracy(scores).estimate.value == 1.0
    assert (scores.samples, scores.overrun, scores.missing, scores.unmeasured) == (8, 2, 1, 3)
    assert claims.share_of_all(scores) == pytest.approx(8 / 11)
    assert claims.accuracy(scores).as_json()["overrun"] == 2


def test_missing_generations_do_not_shrink_the_denominator_unseen():
    """FC-STAT-06: 228 expected, 128 present, 64 right."""
    scores = claims.collect(run(*[["18"]] * 64, *[["20"]] * 64), "gsm8k", "robust")
    scores = replace(scores, planned=228)
    assert claims.accuracy(scores).missing == 100
    assert claims.accuracy(scores).estimate.value == 0.5
    assert claims.share_of_all(scores) == pytest.approx(64 / 228)


def test_repeats():
    """FC-SC-01, with a second question."""
    scores = claims.collect(
        run(["30", "18", "18", "18", "17"], ["20", None, "20", "18", "20"]), "gsm8k", "robust"
    )
    found = {(claim.metric, claim.k): claim.estimate for claim in claims.sampling_claims(scores)}
    assert found["pass", 5].value == 1
    assert found["pass", 1].value == pytest.approx(0.4)
    assert found["pass_pow", 2].value == pytest.approx((3 / 10 + 0) / 2)
    assert found["maj", 5].value == 0.5
    assert found["maj", 3].value == pytest.approx(
        (stats.maj_at_k([3, 1, 1], 3) + stats.maj_at_k([1, 3], 3, 0, 1)) / 2
    )
    assert found["consistency", None].value == pytest.approx(0.6)
    assert max(k for _, k in found if k) == 5
    assert found["maj", 5].samples == 10
    assert {key for key in found if key[1] == 2} == {("pass", 2), ("pass_pow", 2), ("maj", 2)}


def test_only_the_k_that_every_question_allows():
    scores = claims.collect(run(["18"] * 4, ["18", "20"]), "gsm8k", "robust")
    assert {claim.k for claim in claims.sampling_claims(scores)} == {1, 2, None}
    assert {claim.k for claim in claims.sampling_claims(scores, ks=(2, 64))} == {2, None}


def test_votes_go_by_number_not_by_text():
    verdicts = [Verdict("x", text, 0.0) for text in ("1,000", "1000", "1000.0", "$1,000", "1e3", "20")]
    found = question_votes(verdicts)
    assert found == QuestionVotes(0, (5, 1), 0)


def test_a_class_is_right_when_a_rule_accepts_one_spelling_only():
    verdicts = (
        Verdict("x", "1000", 1.0),
        Verdict("x", "1,000.", 0.0),
        Verdict("x", "7", 0.0),
        Verdict("x", None, 0.0),
    )
    assert question_votes(verdicts) == QuestionVotes(2, (1,), 1)


@given(st.lists(st.sampled_from(["18", "18.0", "20", "twenty", "x", "", None]), min_size=1, max_size=12))
def test_every_sample_votes_once_or_abstains(answers):
    verdicts = tuple(Verdict("x", answer, float(answer in ("18", "18.0"))) for answer in answers)
    votes = question_votes(verdicts)
    assert votes.samples == len(answers)
    assert votes.abstentions == answers.count(None)
    assert votes.right == sum(answer in ("18", "18.0") for answer in answers)


def test_shares_have_no_votes():
    samples = [sample(0, repeat, "18", 0.5) for repeat in range(2)]
    assert claims.sampling_claims(claims.collect(samples, "gsm8k", "robust")) == []


def test_repeats_are_put_in_order():
    samples = [sample(0, 1, "20", False), sample(0, 0, "18", True)]
    scores = claims.collect(samples, "gsm8k", "robust")
    assert [verdict.extracted for verdict in scores.questions["h0"].verdicts] == ["18", "20"]


def test_truncated_samples_are_counted():
    samples = [sample(0, 0, None, False, truncated=True), sample(1, 0, "18", True)]
    scores = claims.collect(samples, "gsm8k", "robust")
    assert (scores.truncated, scores.unextracted) == (1, 1)


@pytest.mark.parametrize(
    ("samples", "rule", "message"),
    [
        (run(["18"]), "loose", "no verdicts of the rule 'loose'"),
        ([], "robust", "no measured sample of task 'gsm8k'"),
        ([sample(0, 0, None, False, error="429")], "robust", "no measured sample"),
        ([sample(0, 0, "18", True, task="other")], "robust", "no measured sample"),
    ],
)
def test_nothing_to_claim(samples, rule, message):
    with pytest.raises(UsageError, match=message):
        claims.collect(samples, "gsm8k", rule)


def test_self_consistency_of_lm_eval_is_one_draw_of_the_exact_vote(shared):
    """lm-eval's maj@8 (the first 8 of 64, first seen wins a tie) scatters around the exact expectation."""
    import json

    found = [
        json.loads(line)
        for line in (shared / "golden" / "scoring" / "self_consistency.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    ]
    logs = {name for row in found for name in row["from"]}
    gold, answers = {}, {}
    for name in logs:
        for line in (shared / "logs" / f"{name}.jsonl").read_bytes().split(b"\n"):
            if line:
                row = json.loads(line)
                gold[row["doc_id"]] = row["gold"]
                answers[name, row["doc_id"]] = _last_number(row["response"])
    exact, first = [], []
    for row in found:
        drawn = [answers[name, row["doc_id"]] for name in row["from"]]
        right = [answer == gold[row["doc_id"]] for answer in drawn]
        votes = stats.count_votes(drawn, right)
        exact.append(stats.maj_at_k(votes.counts, 8, 0, votes.abstentions))
        head = stats.count_votes(drawn[:8], right[:8])
        first.append(stats.maj_at_k(head.counts, 8, 0, head.abstentions))
    difference = stats.paired_difference(first, exact)
    assert abs(difference.difference) < 3 * difference.standard_error
    assert stats.standard_error(exact) < stats.standard_error(first)


def _last_number(text):
    import re

    found = re.findall(r"-?\d[\d,]*(?:\.\d+)?", text)
    return found[-1].replace(",", "") if found else None


def test_results_keep_the_whole_curve():
    questions = [["18"] * 3 + ["20"] * 2, ["20", None, "20", "18", "20"]]
    verdicts = [
        [Verdict("robust", answer, float(answer == "18")) for answer in answers] for answers in questions
    ]
    scores = [[verdict.correct for verdict in found] for found in verdicts]
    found = repeats_json(scores, [question_votes(question) for question in verdicts])
    assert [point["k"] for point in found["maj"]] == [1, 2, 3, 4, 5]
    assert found["maj"][4]["value"] == 0.5
    assert found["pass"][4]["value"] == 1
    assert found["consistency"]["value"] == pytest.approx(0.6)
    results = {"resit": {"tasks": {"gsm8k": {"rules": {"robust": {"repeats": found}, "single": {}}}}}}
    lines = list(repeat_lines(results))
    assert [line.partition(":")[0] for line in lines] == [
        f"gsm8k, robust, {m}" for m in ("pass@k", "pass^k", "maj@k")
    ]
    assert "0.5000 ± 0.5000 (k = 5)" in lines[2]
    assert "(k = 3)" not in lines[2]


def test_single_samples_have_no_curve():
    assert repeats_json([[1.0], [0.0]], [QuestionVotes(1), QuestionVotes(0, (1,))]) == {}


def test_intervals_on_request(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    samples = run(*[["18"]] * 48, *[["20"]] * 2)
    (folder / "scores.jsonl").write_bytes(b"".join(jsonl.encode(score_line(s)) + b"\n" for s in samples))
    results = {"resit": {"tasks": {"gsm8k": {"rules": {"robust": {"ci_low": 0, "interval": "wilson"}}}}}}
    row = claims.with_intervals(results, folder, "clopper-pearson")["resit"]["tasks"]["gsm8k"]["rules"][
        "robust"
    ]
    assert (row["ci_low"], row["ci_high"]) == stats.clopper_pearson_interval(48, 50)
    assert row["interval"] == "Clopper-Pearson"
    assert (
        results["resit"]["tasks"]["gsm8k"]["rules"]["robust"]["ci_low"] == 0
    )  # what was given stays as it was

    (folder / "scores.jsonl").write_bytes(
        b"".join(jsonl.encode(score_line(s)) + b"\n" for s in run(["18", "20"], ["20", "20"]))
    )
    with pytest.raises(UsageError, match="needs one right-or-wrong sample a question"):
        claims.with_intervals(results, folder, "clopper-pearson")
    drawn = claims.with_intervals(results, folder, "bootstrap")["resit"]["tasks"]["gsm8k"]["rules"]["robust"]
    assert "bootstrap" in drawn["interval"]
