from __future__ import annotations

import pytest

from resit import stats


def single(pattern, prefix="q"):
    answers = {"1": "18", "0": "20", "-": None, "!": "!"}
    return {f"{prefix}{number}": [answers[mark]] for number, mark in enumerate(pattern)}


A = "1" * 70 + "0" * 45 + "1" * 985 + "0" * 219
B = "0" * 70 + "1" * 45 + "1" * 985 + "0" * 219


@pytest.fixture
def pair(scored_run):
    return scored_run("a", single(A)), scored_run("b", single(B))


def test_paired_by_content_whatever_the_order(command, scored_run):
    first = single("1100110")
    second = dict(reversed(single("1010110").items()))
    found = command("compare", scored_run("a", first), scored_run("b", second), "--json").json
    assert (found["difference"], found["questions"]) == (0, 7)
    assert [flip["doc_id"] for flip in found["better_in_first"]] == [1]
    assert [flip["doc_id"] for flip in found["better_in_second"]] == [2]


def test_json_has_the_reference_numbers(command, pair):
    found = command("compare", *pair, "--json").json
    assert round(found["difference"], 5) == 0.01895
    assert round(found["standard_error"], 5) == 0.00812
    assert round(found["p_value"], 5) == 0.01988
    assert found["minimum_detectable_effect"] == pytest.approx(0.0228, abs=1e-4)
    assert found["ci_low"] < found["difference"] < found["ci_high"]
    assert (len(found["better_in_first"]), len(found["better_in_second"])) == (70, 45)
    assert round(command("compare", *pair, "--exact", "--json").json["p_value"], 5) == 0.02479


def test_counts_say_the_same_as_runs(command, pair):
    by_runs = command("compare", *pair, "--json").json
    by_counts = command("compare", "--discordant", 70, 45, "--n", 1319, "--json").json
    assert {key: by_runs[key] for key in by_counts} == by_counts


def test_unpaired_counts(command):
    found = command("compare", "--counts", "1055/1319", "1030/1319", "--json").json
    assert found["p_value"] == pytest.approx(0.2315, abs=5e-4)


def test_readable(command, pair):
    shown = command("compare", *pair, "--flips", 2, "--bootstrap")
    assert shown.status == 0
    assert (
        "a scores 1.9 points above b (95 % interval +0.3 to +3.5 points, p = 0.020, McNemar mid-p)."
        in shown.out
    )
    assert "70 questions are better in a, 45 in b" in shown.out
    assert "Better in a: 70 questions, the first 2" in shown.out
    assert "this design can see gaps above 2.3 points" in shown.out
    assert "Bootstrap over questions: 95 % interval" in shown.out


def test_no_difference_is_not_called_equal(command, scored_run):
    shown = command("compare", scored_run("a", single("10" * 100)), scored_run("b", single("01" + "10" * 99)))
    assert "Not distinguishable (0.0 points" in shown.out
    # 2.80 sqrt(.01/200) would be 2.0 points, but fewer than five of 200 questions reach no significance
    assert "this design can see gaps above 2.5 points" in shown.out
    assert "equal" not in shown.out


def test_bootstrap_is_seeded(command, pair):
    first, second = (command("compare", *pair, "--bootstrap", "--json").json for _ in range(2))
    assert first == second
    assert (first["bootstrap_ci_low"], first["bootstrap_ci_high"]) == pytest.approx(
        (first["ci_low"], first["ci_high"]), abs=2e-3
    )


def test_there_is_no_bootstrap_of_differences_that_are_all_alike(command, scored_run):
    """Resampling them would give the interval 0 to 0."""
    runs = [scored_run(name, single("1" * 30)) for name in "ab"]
    for more in ([], ["--unpaired"]):
        found = command("compare", *runs, "--bootstrap", "--json", *more).json
        assert "bootstrap_ci_low" not in found
        assert found["ci_low"] < 0 < found["ci_high"]


def test_repeats_use_the_question_level_test(command, scored_run):
    first = {f"q{i}": ["18"] * (i % 5) + ["20"] * (4 - i % 5) for i in range(50)}
    second = {f"q{i}": ["18"] * (i % 3) + ["20"] * (4 - i % 3) for i in range(50)}
    found = command("compare", scored_run("a", first), scored_run("b", second), "--json").json
    means = [[(i % 5) / 4 for i in range(50)], [(i % 3) / 4 for i in range(50)]]
    assert found["test"] == "paired t over questions"
    assert found["p_value"] == pytest.approx(stats.paired_difference(*means).p_value)


def test_the_table_fits_80_columns(pair, scored_run):
    from rich.console import Console

    from resit.reports.comparison import compare_many
    from resit.reports.comparison_table import comparison_table

    long_name = scored_run("a-model-with-a-rather-long-name-instruct-8B", single(B))
    console = Console(width=80)
    with console.capture() as captured:
        console.print(comparison_table(compare_many([pair[0], long_name, pair[1]])))
    lines = captured.get().splitlines()
    assert lines[0].split() == ["A", "−", "B", "n", "A", "B", "Points", "Interval", "p", "adjusted"]
    assert "1319  80.0 %  78.1 %    +1.9  +0.3 to +3.5  0.0199    0.0398" in lines[1]


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"resit": 3}', '{"resit": {"tasks": []}}', '{"resit": {"tasks": {"gsm8k": 3}}}']
)
def test_damaged_results_are_named(command, pair, text):
    (pair[1] / "results.json").write_text(text, encoding="utf-8")
    refused = command("compare", *pair)
    assert refused.status == 2
    assert f"{pair[1] / 'results.json'} is damaged" in refused.err
    assert "resit score" in refused.err


def test_one_question(command, scored_run):
    found = command("compare", scored_run("a", single("-")), scored_run("b", single("1")), "--json")
    assert '"unextracted": 1, "truncated": 0' in found.out
    assert '"unextracted": 0, "truncated": 0' in found.out
    assert (found.json["difference"], found.json["minimum_detectable_effect"]) == (-1, 1)


def test_a_file_is_no_run(command, pair, tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    refused = command("compare", pair[0], tmp_path / "file")
    assert refused.status == 2
    assert f"{tmp_path / 'file'} is a file, not a run's folder" in refused.err


def test_errored_samples_are_neither_right_nor_wrong(command, scored_run):
    first, second = scored_run("a", single("11!1-")), scored_run("b", single("1111!"))
    found = command("compare", first, second, "--json").json
    assert (found["questions"], found["difference"]) == (3, 0)
    assert (found["first"]["errored"], found["second"]["errored"]) == (1, 1)
    assert (found["measured_in_first_only"], found["measured_in_second_only"]) == (1, 1)
    shown = command("compare", first, second).out
    assert "a: 1 samples errored, 0 are missing; neither counts as wrong." in shown
    assert "Left out: 1 questions measured in the first run only, 1 in the second only." in shown


class TestManyRuns:
    def test_each_with_the_first_and_holm(self, command, scored_run):
        runs = [scored_run("a", single(A)), scored_run("b", single(B)), scored_run("c", single("1" * 1319))]
        found = command("compare", *runs, "--json").json["comparisons"]
        assert [(entry["first"]["run"], entry["second"]["run"]) for entry in found] == [
            ("a", "b"),
            ("a", "c"),
        ]
        assert [entry["p_adjusted"] for entry in found] == stats.holm([entry["p_value"] for entry in found])
        shares = command("compare", *runs, "--all-pairs", "--correction", "bh", "--json").json["comparisons"]
        assert len(shares) == 3
        assert [entry["p_adjusted"] for entry in shares] == stats.benjamini_hochberg(
            [entry["p_value"] for entry in shares]
        )

    def test_correction_can_take_a_difference_back(self, command, scored_run):
        same = single(A)
        runs = [
            scored_run("a", same),
            scored_run("b", single(B)),
            scored_run("c", same),
            scored_run("d", same),
        ]
        shown = command("compare", *runs).out
        assert "no longer distinguishable (p = 0.060)" in shown

    def test_every_shared_task(self, command, scored_run):
        more = {"gsm1k": single("1100", "f")}
        runs = [scored_run("a", single("1100"), more=more), scored_run("b", single("1000"), more=more)]
        tasks = [entry["task"] for entry in command("compare", *runs, "--json").json["comparisons"]]
        assert tasks == ["gsm8k", "gsm1k"]
        assert command("compare", *runs, "--tasks", "gsm1k", "--json").json["task"] == "gsm1k"


class TestRefusals:
    def test_other_protocol(self, command, scored_run):
        first = scored_run("a", single("10"), protocol={"num_fewshot": 5, "sampling": {"temperature": 0}})
        second = scored_run("b", single("11"), protocol={"num_fewshot": 0, "sampling": {"temperature": 0.7}})
        refused = command("compare", first, second)
        assert refused.status == 3
        assert refused.out == ""
        assert "num_fewshot: 5 against 0; sampling.temperature: 0 against 0.7" in refused.err
        assert "--across-protocols" in refused.err
        allowed = command("compare", first, second, "--across-protocols")
        assert allowed.status == 0
        assert (
            "Asked differently, so this is no comparison of models alone: num_fewshot: 5 against 0"
            in allowed.out
        )

    def test_different_questions_need_unpaired(self, command, scored_run):
        runs = scored_run("a", single("1100")), scored_run("b", single("1000", "other"))
        refused = command("compare", *runs)
        assert refused.status == 2
        assert "share no measured question" in refused.err
        found = command("compare", *runs, "--unpaired", "--json").json
        assert (found["paired"], found["difference"]) == (False, 0.25)
        assert "better_in_first" not in found

    def test_other_task_by_name(self, command, scored_run):
        runs = scored_run("a", single("1100")), scored_run("b", single("1000"), task="gsm8k_cot")
        assert "share no task" in command("compare", *runs).err
        assert command("compare", *runs, "--second-task", "gsm8k_cot", "--json").json["difference"] == 0.25

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ([], "expected two or more run folders, found 0"),
            (["--discordant", 70, 45], "--discordant needs the number of questions"),
            (["--discordant", 70, 45, "--n", 100], "cannot come from n = 100"),
            (["--discordant", 70, 45, "--n", "9" * 400], "--n: expected at most 1,000,000,000,000"),
            (["--discordant", 7, 4, "--n", 100, "--counts", "1/2", "1/2"], "found both"),
            (["--counts", "5/4", "1/2"], "expected RIGHT/ASKED"),
            (["--counts", "0.8", "1/2"], "expected RIGHT/ASKED"),
            (["--discordant", 7, 4, "--n", 100, "--confidence", 95], "confidence must lie between"),
            (["somewhere", "--counts", "1/2", "1/2"], "either run folders or counts"),
            (["nowhere", "nobody"], "has no results.json"),
        ],
    )
    def test_usage(self, command, words, said):
        refused = command("compare", *words)
        assert refused.status == 2
        assert said in refused.err
        assert refused.out == ""

    def test_unknown_rule_and_task(self, command, pair):
        assert "it has robust, strict-match" in command("compare", *pair, "--rule", "loose").err
        assert "do not share the task 'gsm9k'" in command("compare", *pair, "--tasks", "gsm9k").err
