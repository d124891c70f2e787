from __future__ import annotations

import pytest

from resit import stats


def test_paired(command):
    found = command("power", "paired", "--n", 1319, "--discordance", 0.1, "--effect", 0.02, "--json").json
    assert round(100 * found["minimum_detectable_effect"], 2) == 2.44
    assert found["questions_needed"] == 1955
    assert found["largest_discordance"] == pytest.approx(
        stats.largest_discordance(0.02, 1319, stats.effect_factor())
    )
    assert found["power_at_effect"] < 0.8


def test_gap(command):
    found = command("power", "gap", "--n", 1319, "--n-fresh", 1205, "--effect", 0.02, "--json").json
    assert round(100 * found["minimum_detectable_effect"], 2) == 4.47
    assert found["impossible"] == ["fresh_questions_needed"]
    shown = command("power", "gap", "--n", 1319, "--n_fresh", 1205, "--effect", 0.02).out
    assert "It sees effects above 4.5 points." in shown
    assert "No number of fresh questions suffices" in shown
    assert "questions on each side" in shown


def test_single(command):
    found = command("power", "single", "--n", 400, "--p", 0.5, "--json").json
    assert found["standard_error"] == 0.025
    assert found["half_width"] == pytest.approx(0.025 * 1.959964, abs=1e-6)


def test_repeats(command):
    words = ["power", "paired", "--n", 1319, "--between", 0.1, "--within", 0.15, "--effect", 0.03]
    found = command(*words, "--json").json
    assert found["repeats_needed"] == 3
    with_three = command(*words, "--repeats", 3, "--json").json
    assert with_three["minimum_detectable_effect"] <= 0.03 < found["minimum_detectable_effect"]
    hopeless = command(*words[:-1], 0.001)
    assert "No number of samples suffices" in hopeless.out


def test_one_sided_sees_more(command):
    words = ["power", "paired", "--n", 1319, "--discordance", 0.1, "--json"]
    assert (
        command(*words, "--one-sided").json["minimum_detectable_effect"]
        < command(*words).json["minimum_detectable_effect"]
    )


def test_a_pair_sees_nothing_that_fewer_than_five_questions_would_show(command):
    words = ["power", "paired", "--n", 100, "--json", "--discordance"]
    assert command(*words, 0.02).json["minimum_detectable_effect"] == 0.05  # 2.80 sqrt(.02/100) is 0.04
    hopeless = command(*words, 0.1, "--effect", 0.04).json
    assert hopeless["impossible"] == ["largest_discordance"]
    assert command("power", "paired", "--discordance", 0.02, "--effect", 0.02, "--json").json == {
        "design": "paired",
        "questions_needed": 385,
    }


class TestMeasured:
    def test_discordance_of_a_pair(self, command, scored_run):
        first = scored_run("a", {f"q{i}": ["18" if i % 4 else "20"] for i in range(100)})
        second = scored_run("b", {f"q{i}": ["18" if i % 5 else "20"] for i in range(100)})
        found = command("power", "paired", "--from", first, "--from", second, "--json").json
        differing = sum(bool(i % 4) != bool(i % 5) for i in range(100)) / 100
        assert found["minimum_detectable_effect"] == pytest.approx(
            stats.minimum_detectable_effect(100, differing)
        )

    def test_variances_of_repeats(self, command, scored_run):
        answers = {f"q{i}": ["18"] * (i % 5) + ["20"] * (4 - i % 5) for i in range(40)}
        run = scored_run("a", answers)
        found = command("power", "single", "--from", run, "--repeats", 4, "--json").json
        scores = [[1.0] * (i % 5) + [0.0] * (4 - i % 5) for i in range(40)]
        assert found["standard_error"] == pytest.approx(stats.clustered_standard_error(scores))

    def test_variances_of_a_pair_of_repeats(self, command, scored_run):
        first = {f"q{i}": ["18"] * (i % 5) + ["20"] * (4 - i % 5) for i in range(40)}
        second = {f"q{i}": ["18"] * (i % 3) + ["20"] * (4 - i % 3) for i in range(40)}
        runs = scored_run("a", first), scored_run("b", second)
        words = ["power", "paired", "--from", runs[0], "--from", runs[1], "--repeats", 4, "--json"]
        error = stats.paired_difference(
            [(i % 5) / 4 for i in range(40)], [(i % 3) / 4 for i in range(40)]
        ).standard_error
        assert command(*words).json["standard_error"] == pytest.approx(error)

    def test_wrong_number_of_runs(self, command, scored_run):
        run = scored_run("a", {"q": ["18"]})
        assert "measured in 2 run(s), found 1" in command("power", "paired", "--from", run).err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["paired"], "expected --n"),
        (["paired", "--n", 1319], "needs --discordance"),
        (["gap", "--n", 10, "--between", 0.1], "belong together"),
        (["single", "--n", 0], "n must be at least 1"),
        (["single", "--n", 10, "--p", 80], "between 0 and 1"),
        (["single", "--n", 10, "--alpha", 5], "need 0 < alpha < 1"),
        (["paired", "--n", 10, "--discordance", 0.01, "--effect", 0.2], "cannot come from a discordance"),
        (["paired", "--discordance", 0.01, "--effect", 0.05], "cannot come from a discordance"),
        (["single", "--n", 10, "--p", 0], "no spread"),
        (["gap", "--n", 10, "--p", 1, "--p-fresh", 0], "no spread"),
        (["single", "--effect", 0], "--effect is a fraction between 0 and 1"),
        (["single", "--effect", 2], "--effect is a fraction between 0 and 1"),
        (["single", "--effect", "nan"], "--effect is a fraction between 0 and 1"),
        (["triple", "--n", 10], "triple"),
        (["single", "--n", "9" * 400], "at most 1,000,000,000,000 questions"),
        (["single", "--effect", 1e-300], "--effect is a fraction between 0 and 1"),
        (["paired", "--n", 100, "--discordance", -1], "--discordance must lie between 0 and 1"),
        (["gap", "--n", 100, "--p-fresh", "nan"], "--p-fresh must lie between 0 and 1"),
        (["single", "--n", 9, "--between", "inf", "--within", 0.1], "--between is a variance"),
        (["single", "--n", 100, "--repeats", 4], "what repeats are worth needs --between"),
        (["single", "--n", 100, "--discordance", 0.1], "--discordance has no effect on a single design"),
        (["paired", "--n", 100, "--p", 0.5], "--p has no effect on a paired design"),
        (["gap", "--n", 100, "--task", "gsm8k"], "--task has no effect without --from"),
        (["single", "--from", "a", "--p", 0.5], "--p is measured in the runs of --from"),
    ],
)
def test_usage(command, words, said):
    refused = command("power", *words)
    assert refused.status == 2
    assert said in refused.err
