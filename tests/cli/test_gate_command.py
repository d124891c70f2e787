from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from resit import stats


def single(pattern, prefix="q"):
    answers = {"1": "18", "0": "20", "-": None, "!": "!"}
    return {f"{prefix}{number}": [answers[mark]] for number, mark in enumerate(pattern)}


def discordant(better, worse, n=1319):
    """(run, baseline) patterns with that many questions better and worse in the run."""
    same = "1" * (n - better - worse)
    return "1" * better + "0" * worse + same, "0" * better + "1" * worse + same


@pytest.fixture
def gate(command, scored_run):
    def judge(better, worse, *words, n=1319):
        mine, theirs = discordant(better, worse, n)
        run = scored_run(f"run-{better}-{worse}-{n}", single(mine))
        baseline = scored_run(f"base-{better}-{worse}-{n}", single(theirs))
        return command("gate", run, "--baseline", baseline, *words)

    return judge


class TestMargin:
    @pytest.mark.parametrize(
        ("better", "worse", "margin", "status", "outcome"),
        [
            (0, 0, 0.01, 0, "pass"),
            (10, 10, 0.01, 0, "pass"),
            (200, 50, 0.01, 0, "pass"),  # much discordance, but clearly better
            (5, 60, 0.01, 4, "fail"),
            (50, 200, 0.01, 4, "fail"),
            (10, 24, 0.012, 4, "undecided"),  # -1.06 points, limits about -1.8 and -.3; sees 1.1
            (60, 70, 0.01, 2, "refused"),  # sees 2.2 points
            (0, 0, 0.002, 2, "refused"),  # 2.6 of 1319 questions: no test can tell
        ],
    )
    def test_outcomes(self, gate, better, worse, margin, status, outcome):
        found = gate(better, worse, "--margin", margin, "--json")
        assert (found.status, found.json["outcome"]) == (status, outcome)
        check = found.json["checks"][0]
        limits = stats.paired_score_interval(better, worse, 1319, 0.9)
        assert (check["low"], check["high"]) == pytest.approx(limits)
        assert check["bound"] == -margin

    def test_a_failure_is_a_failure_at_any_size_but_a_small_pass_is_refused(self, gate):
        assert gate(0, 20, "--margin", 0.01, n=20).status == 4
        small = gate(0, 0, "--margin", 0.01, n=50)
        assert small.status == 2
        assert "50 questions cannot show 1.0 points, whatever they say; about 400 would" in small.out
        assert "the design cannot see the margin" in small.err

    def test_refusal_says_how_many_questions_it_takes(self, gate):
        check = gate(60, 70, "--margin", 0.01, "--json").json["checks"][0]
        factor = stats.effect_factor(0.05, sides=1)
        assert check["questions_needed"] == stats.questions_needed(0.01, 130 / 1319, factor)
        assert check["minimum_detectable_effect"] == pytest.approx(factor * (130 / 1319 / 1319) ** 0.5)

    def test_cannot_tell_may_be_let_through(self, gate):
        told = gate(10, 24, "--margin", 0.012)
        assert told.status == 4
        assert "cannot tell" in told.out
        assert "the gate cannot tell" in told.err
        assert gate(11, 25, "--margin", 0.012, "--allow-undecided").status == 0

    def test_readable(self, gate):
        shown = gate(5, 60, "--margin", 0.01)
        assert "fails" in shown.out
        assert "worse by more than the margin" in shown.out
        assert shown.err == "error: the gate's condition does not hold\n"

    def test_type_one_error(self):
        """A run worse by exactly the margin passes, and fails, in at most about 5 % of repetitions."""
        import numpy as np

        rng = np.random.default_rng(0)
        passed = failed = 0
        for better, worse, _ in rng.multinomial(1319, [0.03, 0.05, 0.92], size=2000):
            low, high = stats.paired_score_interval(int(better), int(worse), 1319, 0.9)
            passed += low > -0.02
            failed += high < -0.02
        assert passed / 2000 < 0.06
        assert failed / 2000 < 0.06

    def test_repeats(self, command, scored_run):
        answers = {f"q{i}": ["18"] * (i % 5) + ["20"] * (4 - i % 5) for i in range(400)}
        worse = {key: ["20", *found[1:]] for key, found in answers.items()}
        run, baseline = scored_run("run", worse), scored_run("base", answers)
        assert command("gate", run, "--baseline", baseline, "--margin", 0.02).status == 4
        assert command("gate", baseline, "--baseline", run, "--margin", 0.02).status == 0

    def test_unmeasured_questions_hold_a_pass_back(self, command, scored_run):
        run = scored_run("run", single("!" * 30 + "1" * 1289))
        baseline = scored_run("base", single("1" * 1319))
        held = command("gate", run, "--baseline", baseline, "--margin", 0.01)
        assert held.status == 4
        assert "30 of the baseline's questions are not measured in the run" in held.out
        assert "asks again what errored or is missing" in held.err
        let = command("gate", run, "--baseline", baseline, "--margin", 0.01, "--allow-undecided")
        assert let.status == 4
        words = ["gate", run, "--baseline", baseline, "--margin", 0.01, "--max-unmeasured", 0.05]
        assert command(*words).status == 0

    def test_unmeasured_samples_of_measured_questions_hold_a_pass_back(self, command, scored_run):
        run = scored_run("run", {f"q{i}": ["18", "!", "!", "!"] for i in range(200)})
        baseline = scored_run("base", {f"q{i}": ["18"] * 4 for i in range(200)})
        words = ["gate", run, "--baseline", baseline, "--margin", 0.05]
        held = command(*words)
        assert held.status == 4
        assert "600 samples have no verdict, too many for a pass" in held.out
        assert command(*words, "--allow-undecided").status == 4
        assert command(*words, "--max-unmeasured", 0.75).status == 0

    def test_questions_that_both_runs_lack_hold_a_pass_back(self, command, scored_run):
        run, baseline = (scored_run(name, single("1" * 133), planned=200) for name in ("run", "base"))
        held = command("gate", run, "--baseline", baseline, "--margin", 0.05)
        assert held.status == 4
        assert "67 samples have no verdict, too many for a pass" in held.out


class TestMinScore:
    @pytest.mark.parametrize(
        ("right", "status", "outcome"), [(1100, 0, "pass"), (1000, 4, "fail"), (1055, 4, "undecided")]
    )
    def test_outcomes(self, command, scored_run, right, status, outcome):
        run = scored_run("run", single("1" * right + "0" * (1319 - right)))
        found = command("gate", run, "--min-score", 0.8, "--json")
        assert (found.status, found.json["outcome"]) == (status, outcome)
        check = found.json["checks"][0]
        assert (check["low"], check["high"]) == stats.wilson_interval(right, 1319, 0.9)

    def test_incomplete_runs_do_not_pass(self, command, scored_run):
        run = scored_run("run", single("1" * 900), planned=1319)
        held = command("gate", run, "--min-score", 0.8)
        assert held.status == 4
        assert command("gate", run, "--min-score", 0.8, "--allow-undecided").status == 4
        assert "but 419 samples have no verdict, too many for a pass" in held.out
        assert "told apart" not in held.out

    def test_both_conditions(self, command, scored_run):
        run = scored_run("run", single("1" * 1319))
        found = command("gate", run, "--baseline", run, "--margin", 0.01, "--min-score", 0.999, "--json")
        assert [check["outcome"] for check in found.json["checks"]] == ["pass", "undecided"]
        assert found.status == 4


class TestForServers:
    def test_junit(self, gate, tmp_path):
        file = tmp_path / "gate.xml"
        gate(5, 60, "--margin", 0.01, "--junit", file)
        suite = ET.parse(file).getroot().find("testsuite")
        assert suite is not None
        assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
            "tests": "1",
            "failures": "1",
            "errors": "0",
            "skipped": "0",
        }
        failure = suite.find("testcase/failure")
        assert failure is not None
        assert "worse by more than the margin" in (failure.get("message") or "")
        gate(61, 70, "--margin", 0.01, "--junit", file)
        assert ET.parse(file).getroot().find("testsuite/testcase/error") is not None
        gate(10, 24, "--margin", 0.012, "--junit", file, "--allow-undecided")
        assert ET.parse(file).getroot().find("testsuite/testcase/skipped") is not None
        gate(11, 24, "--margin", 0.012, "--junit", file)
        assert ET.parse(file).getroot().find("testsuite/testcase/failure") is not None
        gate(0, 0, "--margin", 0.01, "--junit", file)
        case = ET.parse(file).getroot().find("testsuite/testcase")
        assert case is not None
        assert [child.tag for child in case] == ["system-out"]

    def test_junit_survives_any_name(self, command, scored_run, tmp_path):
        run = scored_run("run\x01<&>", single("1" * 500))
        file = tmp_path / "gate.xml"
        command("gate", run, "--min-score", 0.5, "--junit", file)
        suite = ET.parse(file).getroot().find("testsuite")
        assert suite is not None
        assert suite.get("name") == "resit gate run\N{REPLACEMENT CHARACTER}<&>"

    def test_step_summary_is_appended(self, gate, tmp_path):
        file = tmp_path / "summary.md"
        file.write_text("before\n", encoding="utf-8")
        gate(5, 60, "--margin", 0.01, "--summary", file)
        text = file.read_text(encoding="utf-8")
        assert text.startswith("before\n### resit gate: run-5-60-1319 — fails\n")
        assert "| gsm8k | at most 1.0 points below base-5-60-1319 | 1319 | −4.2 |" in text

    def test_step_summary_of_the_environment(self, scored_run, tmp_path, monkeypatch):
        from typer.testing import CliRunner

        from resit.cli import app

        file = tmp_path / "summary.md"
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(file))
        run = scored_run("run", single("1" * 500))
        assert CliRunner().invoke(app, ["gate", str(run), "--min-score", "0.5"]).exit_code == 0
        assert "passes" in file.read_text(encoding="utf-8")

    def test_a_new_folder(self, gate, tmp_path):
        assert gate(0, 0, "--margin", 0.01, "--junit", tmp_path / "ci" / "gate.xml").status == 0
        assert (tmp_path / "ci" / "gate.xml").exists()

    def test_unwritable(self, gate, tmp_path):
        (tmp_path / "no").touch()
        refused = gate(0, 0, "--margin", 0.01, "--junit", tmp_path / "no" / "gate.xml")
        assert refused.status == 1
        assert "cannot write" in refused.err
        assert "passes" in refused.out, "the verdict is not lost with the file"


class TestRefusals:
    def test_other_protocol(self, command, scored_run):
        run = scored_run("run", single("10"), protocol={"num_fewshot": 5})
        baseline = scored_run("base", single("10"), protocol={"num_fewshot": 8})
        words = ["gate", run, "--baseline", baseline, "--margin", 0.01]
        assert command(*words).status == 3
        assert command(*words, "--across-protocols").status == 2

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ([], "needs --baseline with --margin, or --min-score"),
            (["--margin", 0.01], "belong together"),
            (["--baseline", "RUN"], "belong together"),
            (["--baseline", "RUN", "--margin", 1], "fraction between 0 and 1"),
            (["--min-score", 80], "fraction between 0 and 1"),
            (["--min-score", 0.8, "--alpha", 0.5], "--alpha must lie"),
            (["--min-score", 0.8, "--max-unmeasured", "nan"], "--max-unmeasured is a share"),
            (["--baseline", "a", "--margin", 1e-300], "--margin is a fraction"),
            (["--min-score", 0.8, "--tasks", "gsm9k"], "no scored task 'gsm9k'"),
            (["--min-score", 0.8, "--rule", "loose"], "no verdicts of the rule 'loose'"),
        ],
    )
    def test_usage(self, command, scored_run, words, said):
        run = scored_run("run", single("10"))
        refused = command("gate", run, *(run if word == "RUN" else word for word in words))
        assert refused.status == 2
        assert said in refused.err
        assert refused.out == ""

    def test_no_shared_task(self, command, scored_run):
        run, baseline = scored_run("run", single("10")), scored_run("base", single("10"), task="gsm1k")
        assert "share no task" in command("gate", run, "--baseline", baseline, "--margin", 0.01).err
