"""score_question and score_task: chains, metrics, named rules, errors, and lm-eval's own scores."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from resit.errors import UsageError
from resit.grading import score_question, score_task
from resit.records import (
    Document,
    FilterChain,
    FilterStep,
    Generation,
    MetricSpec,
    Question,
    QuestionScore,
    ScoringRules,
)

GSM8K_MATCH = MetricSpec(
    "exact_match",
    {
        "ignore_case": True,
        "ignore_punctuation": False,
        "regexes_to_ignore": [",", "\\$", "(?s).*#### ", "\\.$"],
    },
)


def chain(name: str, pattern: str, select: int | None = None, *before: FilterStep, vote: bool = False) -> Any:
    settings: dict[str, Any] = {"regex_pattern": pattern}
    if select is not None:
        settings["group_select"] = select
    last = (FilterStep("majority_vote"),) if vote else ()
    return FilterChain(name, (*before, FilterStep("regex", settings), *last, FilterStep("take_first")))


FLEXIBLE = chain("flexible-extract", "(-?[$0-9.,]{2,})|(-?[0-9]+)", -1)
COT = "The answer is (\\-?[0-9\\.\\,]*[0-9]+)"
MAJ_2 = chain("maj@2", COT, None, FilterStep("take_first_k", {"k": 2}), vote=True)
MAJ_4 = chain("maj@4", COT, None, FilterStep("take_first_k", {"k": 4}), vote=True)
MAJ_ALL = chain("maj@64", COT, vote=True)
FIRST = chain("score-first", COT)


def question(target: str | tuple[str, ...] = "18", **fields: Any) -> Question:
    return Question("t", Document(7, "hash", fields), "prompt", target)


def samples(*texts: str, **settings: Any) -> list[Generation]:
    return [Generation("t", 7, "hash", i, 0, text=text, **settings) for i, text in enumerate(texts)]


def rules(*filters: FilterChain, **settings: Any) -> ScoringRules:
    return ScoringRules(filters, (GSM8K_MATCH,), **settings)


def test_each_sample_gets_every_rules_verdict_and_the_question_the_chains_answers() -> None:
    score = score_question(
        question(), samples("The answer is 3.", "The answer is 18.", "so 18"), rules(FIRST, MAJ_ALL)
    )
    assert (score.task, score.doc_id, score.doc_hash) == ("t", 7, "hash")
    assert [[v.extracted for v in s.verdicts.values()] for s in score.samples] == [
        ["3", "3", "3"],
        ["18", "18", "18"],
        [None, None, "18"],
    ]
    assert list(score.samples[0].verdicts) == ["score-first", "maj@64", "robust"]
    assert score.answers == {"score-first": "3", "maj@64": "3"}  # three different texts: the first one
    assert score.metrics == {"exact_match,score-first": 0.0, "exact_match,maj@64": 0.0}


def test_samples_count_in_the_order_of_their_repeats() -> None:
    generations = samples("The answer is 3.", "The answer is 18.")[::-1]
    assert score_question(question(), generations, rules(FIRST)).answers == {"score-first": "3"}


def test_an_errored_sample_is_listed_and_excluded() -> None:
    generations = samples("The answer is 3.", "The answer is 18.")
    generations[0] = Generation("t", 7, "hash", 0, 0, error="HTTP 500", finish_reason="error")
    score = score_question(question(), generations, rules(FIRST, MAJ_2, MAJ_ALL))
    assert (score.samples[0].verdicts, score.samples[0].error) == ({}, "HTTP 500")
    assert score.answers == {"score-first": "18", "maj@64": "18"}
    assert score.metrics == {"exact_match,score-first": 1.0, "exact_match,maj@64": 1.0}


def test_all_errored_is_no_score_at_all() -> None:
    score = score_question(question(), samples("", error="x"), rules(FIRST, FLEXIBLE))
    assert (score.answers, dict(score.metrics)) == ({}, {})


def test_a_vote_over_more_samples_than_there_are_is_absent_not_zero() -> None:
    score = score_question(question(), samples("The answer is 18.", "The answer is 18."), rules(MAJ_2, MAJ_4))
    assert score.metrics == {"exact_match,maj@2": 1.0}


def test_truncated_is_said_of_the_sample() -> None:
    score = score_question(question(), samples("so 18", finish_reason="length"), rules(FLEXIBLE))
    assert score.samples[0].truncated
    assert score.samples[0].verdicts["flexible-extract"].correct == 1.0
    assert score.samples[0].verdicts["robust"].reason == "truncated"


def test_any_of_several_targets_is_right_for_filters_and_rules() -> None:
    score = score_question(question(("17", "18")), samples("The answer is 18."), rules(FIRST))
    assert score.metrics == {"exact_match,score-first": 1.0}
    assert score.samples[0].verdicts["robust"].correct == 1.0


def test_a_task_without_filters_compares_the_first_response() -> None:
    score = score_question(question(), samples("18", "19"), ScoringRules((), (MetricSpec("exact_match"),)))
    assert (score.answers, score.metrics) == ({"none": "18"}, {"exact_match,none": 1.0})


def test_a_chain_that_does_not_choose_gives_the_share_or_no_metric() -> None:
    loose = FilterChain("all", (FilterStep("lowercase"),))
    texts = samples("A", "a", "b")
    plain = ScoringRules((loose,), (MetricSpec("exact_match"),), named=())
    assert score_question(question("a"), texts, plain).metrics == {"exact_match,all": pytest.approx(2 / 3)}
    score = score_question(question("a"), texts, rules(loose, named=()))
    assert (score.answers, dict(score.metrics)) == ({"all": ["a", "a", "b"]}, {})


def test_one_bad_sample_does_not_end_the_others() -> None:
    picky = chain("third", "([0-9]+)", 2)
    score = score_question(question(), samples("1 2 18", "18"), rules(picky))
    first, second = (sample.verdicts["third"] for sample in score.samples)
    assert (first.extracted, first.correct) == ("18", 1.0)
    assert (second.extracted, second.correct) == (None, 0.0)
    assert "IndexError" in second.reason
    assert dict(score.metrics) == {}  # lm-eval would have ended the run


def process(doc: dict[str, Any], results: list[str]) -> dict[str, Any]:
    if results[0] == "boom":
        raise RuntimeError("no")
    return {"exact_match": int(results[0] == doc["key"]), "length": len(results[0]), "note": "text"}


def test_a_tasks_own_scorer_gives_the_metrics() -> None:
    own = ScoringRules(
        (), (MetricSpec("exact_match"), MetricSpec("length")), named=(), process_results=process
    )
    score = score_question(question(key="ab"), samples("ab", "boom"), own)
    assert score.metrics == {"exact_match,none": 1.0, "length,none": 2.0}
    assert score.samples[0].verdicts["none"].correct == 1.0
    assert "RuntimeError: no" in score.samples[1].verdicts["none"].reason


def test_a_rule_that_can_judge_no_target_has_no_verdict() -> None:
    asked = rules(FIRST, named=("program",), options={"trust_model_code": False})
    (none,) = score_question(question("many"), samples("ans = 9"), asked).samples
    assert list(none.verdicts) == ["score-first"]
    (one,) = score_question(question(("many", "9")), samples("ans = 9"), asked).samples
    assert "--trust-model-code" in one.verdicts["program"].reason


def test_an_answer_that_is_no_text_is_measured_as_it_is() -> None:
    table = FilterStep("map", {"mapping_dict": {"A": 18, "B": 19}, "default_value": 0})
    again = FilterStep("map", {"mapping_dict": {18: 18, 19: 19}})
    asked = ScoringRules((FilterChain("looked up", (table, again)),), (MetricSpec("exact_match"),), named=())
    score = score_question(question("18"), samples("A", "B", "A"), asked)
    found = [sample.verdicts["looked up"] for sample in score.samples]
    assert [(one.extracted, one.correct) for one in found] == [("18", 1.0), ("19", 0.0), ("18", 1.0)]


def test_a_tasks_own_scorer_that_measures_nothing_is_said_to() -> None:
    own = ScoringRules((), (), named=(), process_results=lambda doc, results: {"note": "text"})
    score = score_question(question(), samples("18"), own)
    assert dict(score.metrics) == {}
    assert score.samples[0].verdicts["none"].reason == "not measured"
    assert score.samples[0].verdicts["none"].correct == 0.0


def test_options_reach_the_named_rules() -> None:
    german = rules(FLEXIBLE, options={"language": "de"})
    verdict = (
        score_question(question("1250"), samples("Zusammen 1.250 Euro"), german).samples[0].verdicts["robust"]
    )
    assert verdict.extracted == "1250"


@pytest.mark.parametrize(
    "bad",
    [
        rules(FLEXIBLE, named=("robst",)),
        rules(FLEXIBLE, options={"langauge": "de"}),
        rules(FLEXIBLE, options={"tolerance": "-1"}),
        rules(FLEXIBLE, options={"gold": "sometimes"}),
        ScoringRules((FLEXIBLE,), (MetricSpec("bleu"),)),
    ],
)
def test_unknown_names_are_told_before_anything_is_scored(bad: ScoringRules) -> None:
    with pytest.raises(UsageError):
        score_task(iter(()), bad)


def test_score_task_takes_one_question_at_a_time() -> None:
    taken = []

    def pairs() -> Iterator[tuple[Question, list[Generation]]]:
        for i in range(5):
            taken.append(i)
            yield question(), samples("The answer is 18.")

    scores = score_task(pairs(), rules(FIRST))
    next(scores)
    assert taken == [0]


LOGS = {
    "gsm8k": (chain("strict-match", "#### (\\-?[0-9\\.\\,]+)"), FLEXIBLE),
    "gsm8k_cot": (chain("strict-match", "The answer is (\\-?[0-9\\.\\,]+)."), FLEXIBLE),
    "gsm8k_cot_llama": (
        chain("strict-match", "The final answer is ((-?[$0-9.,]{2,})|(-?[0-9]+))", -1),
        FLEXIBLE,
    ),
}


def read(path: Path) -> list[dict[str, Any]]:
    with path.open("rb") as lines:
        return [json.loads(line) for line in lines]


def targets(shared: Path, task: str) -> list[str]:
    answers = [row["answer"] for row in read(shared / "mirror" / "gsm8k" / "test.jsonl")]
    return answers if task == "gsm8k" else [answer.rpartition("####")[2].strip() for answer in answers]


def score_log(rows: list[dict[str, Any]], golds: list[str], asked: ScoringRules) -> Iterator[QuestionScore]:
    return score_task(
        (
            (
                Question("t", Document(row["doc_id"], "", {}), "", golds[row["doc_id"]]),
                [Generation("t", row["doc_id"], "", 0, 0, text=row["response"])],
            )
            for row in rows
        ),
        asked,
    )


@pytest.mark.parametrize("task", LOGS)
def test_lm_evals_answers_and_scores_on_real_logs(shared: Path, task: str) -> None:
    totals = json.loads((shared / "golden" / "scoring" / "TOTALS.json").read_text(encoding="utf-8"))
    golds = targets(shared, task)
    compared = 0
    for log in sorted((shared / "logs").glob("*.jsonl")):
        wanted = read(shared / "golden" / "scoring" / f"{log.stem}.{task}.jsonl")
        scores = list(score_log(read(log), golds, rules(*LOGS[task], named=())))
        for score, expected in zip(scores, wanted, strict=True):
            for name in ("strict-match", "flexible-extract"):
                found = [score.answers[name], score.metrics[f"exact_match,{name}"]]
                assert found == expected[name], (log.stem, task, score.doc_id)
                verdict = score.samples[0].verdicts[name]
                assert [verdict.extracted or "[invalid]", verdict.correct] == expected[name]
                compared += 1
        for name, right in totals[log.stem][task].items():
            assert sum(score.metrics[f"exact_match,{name}"] for score in scores) == right
    assert compared == 6 * 1319 * 2


def test_lm_evals_self_consistency_on_real_logs(shared: Path) -> None:
    texts = {
        log.stem: [row["response"] for row in read(log)] for log in sorted((shared / "logs").glob("*.jsonl"))
    }
    golds = targets(shared, "gsm8k_cot")
    asked = rules(
        FIRST,
        MAJ_ALL,
        chain("maj@8", COT, None, FilterStep("take_first_k", {"k": 8}), vote=True),
    )
    rows = read(shared / "golden" / "scoring" / "self_consistency.jsonl")
    assert len(rows) == 200
    for row in rows:
        doc = row["doc_id"]
        generations = samples(*(texts[name][doc] for name in row["from"]))
        score = score_question(question(golds[doc]), generations, asked)
        for name in ("score-first", "maj@64", "maj@8"):
            assert [score.answers[name], score.metrics[f"exact_match,{name}"]] == row[name], (doc, name)


def test_robust_is_never_behind_another_rule_on_real_logs(shared: Path) -> None:
    golds = targets(shared, "gsm8k_cot")
    others = (
        "lm_eval_strict",
        "lm_eval_strict_cot",
        "lm_eval_strict_self_consistency",
        "lm_eval_strict_llama",
        "lm_eval_flexible",
        "gsm8k",
    )
    for log in sorted((shared / "logs").glob("*.jsonl")):
        asked = ScoringRules((), (MetricSpec("exact_match"),), named=("robust", *others))
        scores = list(score_log(read(log), golds, asked))
        right = {n: sum(s.samples[0].verdicts[n].correct for s in scores) for n in asked.named}
        assert right["robust"] == max(right.values()), (log.stem, right)
