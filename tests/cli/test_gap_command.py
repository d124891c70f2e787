from __future__ import annotations

import csv
import json
from types import SimpleNamespace

import pytest

from resit import stats
from resit.reports.page.summary import Pair, ScoredRun, gaps_of
from resit.reports.results import read_results


def single(pattern, prefix="q"):
    answers = {"1": "18", "0": "20", "-": None, "!": "!"}
    return {f"{prefix}{number}": [answers[mark]] for number, mark in enumerate(pattern)}


def scores(right, n, prefix):
    return single("1" * right + "0" * (n - right), prefix)


@pytest.mark.parametrize(
    ("words", "idle"),
    [
        (("gap", "--counts", "5/10", "3/10", "--n-seen", "3"), "--n-seen has no effect with --counts"),
        (("gap", "a", "b", "--seen-column", "x"), "--seen-column has no effect with run folders"),
        (("gap", "a", "b", "--versus", "c", "d", "--margin", "0.1"), "--margin has no effect with --versus"),
        (("compare", "--discordant", "4", "5", "--n", "20", "--unpaired"), "--unpaired has no effect"),
        (("compare", "--counts", "5/10", "3/10", "--exact"), "--exact has no effect with --counts"),
        (("compare", "a", "b", "--n", "7"), "--n has no effect without --discordant"),
    ],
)
def test_an_option_without_effect_is_refused(command, words, idle):
    done = command(*words)
    assert done.status == 2
    assert idle in done.err


class TestCounts:
    def test_json(self, command):
        found = command("gap", "--counts", "1055/1319", "964/1205", "--json").json
        assert found["difference"] == pytest.approx(1055 / 1319 - 964 / 1205)
        assert round(found["standard_error"], 4) == 0.0159
        assert round(100 * found["minimum_detectable_effect"], 2) == 4.47
        assert found["ci_low"] < 0 < found["ci_high"]
        assert found["p_value"] == pytest.approx(0.992, abs=1e-3)

    def test_answers_that_are_all_alike_confirm_no_margin_of_nothing(self, command):
        few = command("gap", "--counts", "10/10", "10/10", "--json").json
        assert few["standard_error"] == 0
        assert few["confirmable_margin"] == pytest.approx(
            stats.confirmable_margin(stats.gap_error(11 / 12, 12, 11 / 12, 12))
        )

    def test_the_table_fits_80_columns(self):
        from rich.console import Console

        from resit.reports.gap_table import gap_table
        from resit.reports.gaps import gap_of_counts

        gap = gap_of_counts((1055, 1319), (964, 1205), model="a-model-with-a-rather-long-name-instruct-8B")
        console = Console(width=80)
        with console.capture() as captured:
            console.print(gap_table(gap, gap))
        rows = [line.split("  ") for line in captured.get().splitlines()]
        cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
        assert ["seen", "80.0 % of 1319", "80.0 % of 1319"] in cells
        assert ["interval", "−3.1 to +3.1", "−3.1 to +3.1"] in cells
        assert ["detectable", "4.5", "4.5"] in cells

    def test_in_words(self, command):
        shown = command("gap", "--counts", "1055/1319", "964/1205")
        assert shown.status == 0
        assert "Not distinguishable" in shown.out
        assert "this design can see gaps above 4.5 points." in shown.out
        assert "memoris" not in shown.out  # nothing was found, so nothing is explained

    def test_a_gap_is_not_called_memorisation(self, command):
        shown = command("gap", "--counts", "1055/1319", "844/1205").out
        assert "seen scores 9.9 points above fresh" in shown
        assert "A gap adds up memorisation and any difference in difficulty between the two sets" in shown

    def test_equivalence(self, command):
        words = ["gap", "--counts", "1055/1319", "964/1205", "--margin"]
        assert "The gap lies within 3.0 points (two one-sided tests, p = 0.030)." in command(*words, 0.03).out
        not_shown = command(*words, 0.01).out
        assert "Not shown to lie within 1.0 points" in not_shown
        assert "would confirm a margin of 4.7 points" in not_shown
        found = command(*words, 0.03, "--json").json["equivalence"]
        assert (found["equivalent"], found["margin"]) == (True, 0.03)
        assert found["p_value"] == stats.gap_tost(1055, 1319, 964, 1205, 0.03).p_value


class TestRuns:
    def test_two_runs(self, command, scored_run):
        seen = scored_run("m-gsm8k", scores(80, 100, "s"), model="m")
        fresh = scored_run("m-gsm1k", scores(50, 90, "f"), task="gsm1k", model="m")
        found = command("gap", seen, fresh, "--json").json
        expected = stats.gap_test(80, 100, 50, 90)
        assert found["p_value"] == expected.p_value
        assert (found["model"], found["seen"], found["fresh"]) == ("m", "gsm8k", "gsm1k")
        assert found["protocol_differences"] == []
        assert "gsm8k scores 24.4 points above gsm1k" in command("gap", seen, fresh).out

    def test_one_gap_correlates_with_nothing(self, command, scored_run):
        seen = scored_run("m-gsm8k", scores(80, 100, "s"), model="m")
        fresh = scored_run("m-gsm1k", scores(50, 90, "f"), task="gsm1k", model="m")
        refused = command("gap", seen, fresh, "--correlate", "loglik.csv")
        assert (refused.status, refused.out) == (2, "")
        assert "--correlate needs several models" in refused.err

    def test_one_run_with_both_tasks(self, command, scored_run):
        run = scored_run("m", scores(8, 10, "s"), more={"gsm1k": scores(5, 10, "f")})
        words = ["gap", run, "--seen-task", "gsm8k", "--fresh-task", "gsm1k", "--json"]
        assert command(*words).json["difference"] == pytest.approx(0.3)
        assert "name --seen-task and --fresh-task" in command("gap", run).err
        assert "holds 2 tasks, so one must be named" in command("gap", run, run).err

    def test_repeats_are_compared_by_question(self, command, scored_run):
        seen = scored_run("a", {f"s{i}": ["18"] * (i % 5) + ["20"] * (4 - i % 5) for i in range(50)})
        fresh = scored_run(
            "b", {f"f{i}": ["18"] * (i % 3) + ["20"] * (4 - i % 3) for i in range(40)}, task="gsm1k"
        )
        found = command("gap", seen, fresh, "--margin", 0.5, "--json").json
        means = [(i % 5) / 4 for i in range(50)], [(i % 3) / 4 for i in range(40)]
        assert found["p_value"] == stats.unpaired_difference(*means).p_value
        assert found["equivalence"]["p_value"] == stats.unpaired_tost(*means, 0.5).p_value

    def test_what_limits_a_gap_is_said(self, command, scored_run):
        seen = scored_run("a", single("110!", "q"), protocol={"num_fewshot": 5})
        fresh = scored_run("b", single("1100", "q"), task="gsm1k", protocol={"num_fewshot": 8})
        refused = command("gap", seen, fresh)
        assert refused.status == 3
        assert "gsm8k of a and gsm1k of b were asked differently: num_fewshot: 5 against 8" in refused.err
        assert "--across-protocols" in refused.err
        folder = ["gap", seen.parent, "--seen-task", "gsm8k", "--fresh-task", "gsm1k"]
        assert "no model with scores on both sets" in command(*folder).err
        shown = command("gap", seen, fresh, "--across-protocols").out
        assert (
            "asked differently, which moves a gap by itself: model: a against b; num_fewshot: 5 against 8"
            in shown
        )
        assert "3 questions are on both sides" in shown
        assert "1 samples have no verdict; they do not count as wrong." in shown

    def test_a_table_takes_only_halves_that_were_asked_alike(self, command, scored_run):
        seen = scored_run("a8", single("110", "s"), model="a", protocol={"num_fewshot": 5})
        scored_run("a1", single("100", "f"), task="gsm1k", model="a", protocol={"num_fewshot": 8})
        words = ["gap", seen.parent, "--seen-task", "gsm8k", "--fresh-task", "gsm1k"]
        refused = command(*words)
        assert refused.status == 3
        assert "num_fewshot: 5 against 8" in refused.err
        assert command(*words, "--across-protocols").status == 0

    def test_two_models(self, command, scored_run):
        runs = [
            scored_run("a8", single("1" * 90 + "0" * 10, "s"), model="a"),
            scored_run("a1", single("1" * 60 + "0" * 40, "f"), task="gsm1k", model="a"),
            scored_run("b8", single("1" * 85 + "0" * 15, "s"), model="b"),
            scored_run("b1", single("1" * 80 + "0" * 20, "f"), task="gsm1k", model="b"),
        ]
        words = ["gap", *runs[:2], "--versus", *runs[2:]]
        found = command(*words, "--json").json
        expected = stats.difference_of(stats.paired_counts(5, 0, 100), stats.paired_counts(0, 20, 100))
        assert found["difference"] == pytest.approx(0.25)
        assert found["p_value"] == expected.p_value
        assert found["standard_error"] < 0.05  # pairing within the sets; unpaired it would be .087
        assert "The gap of a is 25.0 points larger than that of b" in command(*words).out

    def test_folder_of_runs(self, command, scored_run, tmp_path):
        for model, right in (("a", 50), ("b", 78), ("c", 80), ("d", 20), ("e", 79)):
            scored_run(f"runs/{model}8", scores(80, 100, "s"), model=model)
            scored_run(f"runs/{model}1", scores(right, 100, "f"), task="gsm1k", model=model)
        scored_run("runs/only-seen", scores(80, 100, "s"), model="f")
        words = ["gap", tmp_path / "runs", "--seen-task", "gsm8k", "--fresh-task", "gsm1k"]
        found = command(*words, "--json").json
        assert [entry["model"] for entry in found["models"]] == ["d", "a", "b", "e", "c"]
        assert (found["significant"], found["significant_holm"]) == (2, 2)
        assert found["median_gap"] == pytest.approx(0.02)
        file = tmp_path / "loglik.csv"
        file.write_text("a,-0.4\nb,-0.6\nc,-0.7\nd,-0.3\ne,-0.65\n", encoding="utf-8")
        correlated = command(*words, "--correlate", file, "--json").json
        assert {entry["coefficient"]: round(entry["value"], 6) for entry in correlated["correlations"]}[
            "spearman"
        ] == 1
        file.write_text("a,-0.4\nb,nan\n", encoding="utf-8")
        assert "'nan' is not finite" in command(*words, "--correlate", file).err
        file.write_text("a," + "9" * 200_000, encoding="utf-8")
        assert "expected two columns" in command(*words, "--correlate", file).err
        assert "2 of 5 models have a two-sided p below .05" in command(*words).out
        scored_run("runs/again", scores(80, 100, "s"), model="a")
        assert "a has two runs of gsm8k" in command(*words).err


class TestPublishedTable:
    """tables/gsm1k_table1.csv, with the numbers of peers.md 4.7."""

    @pytest.fixture
    def table(self, shared):
        return shared / "tables" / "gsm1k_table1.csv"

    def test_from_the_printed_z(self, command, table):
        words = ["gap", "--csv", table, "--z-column", "z_published", "--gap-column", "diff"]
        found = command(*words, "--json").json
        assert found["recomputed"] == {"agree": 63, "of": 63}
        assert found["significant"] == 19
        assert found["significant_holm"] == 3
        assert found["significant_benjamini_hochberg"] == 11
        kept = {entry["model"] for entry in found["models"] if entry["p_holm"] < 0.05}
        assert kept == {"math-shepherd-mistral-7b-rl", "Yi-6B-Chat", "Meta-Llama-3-8B-Instruct"}
        shown = command(*words).out
        assert (
            "19 of 63 models have a two-sided p below .05; 3 remain after Holm, 11 after Benjamini" in shown
        )
        assert "63 of 63 printed gaps follow from the printed scores" in shown

    def test_recomputed_from_the_printed_accuracies(self, command, table):
        words = ["gap", "--csv", table, "--n-seen", 1319, "--n-fresh", 1250]
        found = command(*words, "--json").json
        assert found["significant"] == 18
        assert found["significant_holm"] == 4
        assert found["significant_benjamini_hochberg"] == 11

    def test_correlation_with_the_log_likelihood(self, command, table):
        words = ["gap", "--csv", table, "--gap-column", "diff", "--correlate", "char_norm_loglik"]
        by_name = {entry["coefficient"]: entry for entry in command(*words, "--json").json["correlations"]}
        rho = by_name["spearman"]
        assert (round(rho["value"], 3), rho["n"]) == (0.264, 45)
        assert rho["p_value"] == pytest.approx(0.079, abs=5e-4)
        assert rho["ci_low"] < 0 < rho["ci_high"]
        assert (rho["ci_low"], rho["ci_high"]) == pytest.approx((-0.03, 0.53), abs=0.03)
        shown = command(*words).out
        assert "Spearman's rho = 0.264, p = 0.079" in shown
        assert "the interval contains 0, so no link is shown" in shown

    def test_the_correlation_hangs_on_three_models(self, command, table, tmp_path):
        """Without the likelihoods below -.9 rho falls from .264 to .176."""
        kept = [
            line
            for line in table.read_text(encoding="utf-8").splitlines()
            if not line.split(",")[7].startswith("-0.9")
        ]
        path = csv_file(tmp_path, "\n".join(kept))
        words = ["gap", "--csv", path, "--gap-column", "diff", "--correlate", "char_norm_loglik", "--json"]
        rho = command(*words).json["correlations"][0]
        assert (rho["n"], round(rho["value"], 3)) == (42, 0.176)
        assert rho["p_value"] == pytest.approx(0.27, abs=0.006)

    def test_the_repositorys_own_gaps(self, shared):
        """n = 52, rho = .288, p = .039."""
        tables = shared / "tables"
        likelihoods = dict(
            line.split("\t") for line in (tables / "averages.tsv").read_text(encoding="utf-8").splitlines()
        )
        gaps = dict(
            line.split(",") for line in (tables / "scale_diff.csv").read_text(encoding="utf-8").splitlines()
        )
        pairs = [(float(likelihoods[name]), float(gap)) for name, gap in gaps.items() if name in likelihoods]
        found = stats.correlation(*zip(*pairs, strict=True))
        assert (found.n, round(found.value, 3), round(found.p_value, 3)) == (52, 0.288, 0.039)


def csv_file(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_own_columns_in_per_cent(command, tmp_path):
    path = csv_file(tmp_path, "who\told\tnew\nm\t80.0\t70.0\n", "table.tsv")
    words = [
        "gap",
        "--csv",
        path,
        "--seen-column",
        "old",
        "--fresh-column",
        "new",
        "--n-seen",
        100,
        "--n-fresh",
        100,
    ]
    found = command(*words, "--json").json["models"][0]
    assert found["p_value"] == pytest.approx(stats.gap_test(80, 100, 70, 100).p_value)
    assert found["model"] == "m"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "expected run folders, or --counts, or --csv"),
        (["a", "--counts", "1/2", "1/2"], "one of them only"),
        (["a", "b", "c"], "found 3 paths"),
        (["a", "b"], "has no results.json"),
        (["--counts", "3/2", "1/2"], "expected RIGHT/ASKED"),
        (["--counts", "1/2", "1/2", "--margin", 3], "margin is a fraction"),
        (["--csv", "none.csv"], "cannot read none.csv"),
        (["--csv", "TABLE"], "has no column 'gsm8k'"),
        (["--csv", "TABLE", "--model-column", "name"], "has no column 'name'"),
        (
            ["--csv", "TABLE", "--seen-column", "a", "--fresh-column", "b"],
            "line 3: b = 'high' is not a number",
        ),
        (["--csv", "TABLE", "--seen-column", "a", "--fresh-column", "c"], "line 2: the column 'c' is empty"),
        (
            ["--csv", "TABLE", "--seen-column", "a", "--fresh-column", "a", "--z-column", "z"],
            "line 3: z = 'nan' is not a number",
        ),
        (["--counts", "1/" + "9" * 400, "1/2"], "expected RIGHT/ASKED"),
        (["--csv", "TABLE", "--n-seen", "9" * 400], "--n-seen"),
    ],
)
def test_usage(command, tmp_path, words, said):
    table = csv_file(tmp_path, "model,a,b,c,z\nm,0.5,0.4,,1\nn,0.5,high,0.3,nan\n")
    refused = command("gap", *(table if word == "TABLE" else word for word in words))
    assert refused.status == 2
    assert said in refused.err
    assert refused.out == ""


class TestPairs:
    """Originals and variants, paired by the field that says what they descend from."""

    @staticmethod
    def run(scored_run, name, patterns, task):
        """A run whose document `<template>.<n>` has a field `template`."""
        answers = {
            f"{template}.{n}": ["18" if mark == "1" else "20"]
            for template, marks in patterns.items()
            for n, mark in enumerate(marks)
        }
        folder = scored_run(name, answers, task=task, model="m")
        lines = [
            json.dumps({"task": task, "doc_hash": key, "doc": {"template": int(key.partition(".")[0])}})
            for key in answers
        ]
        (folder / "prompts.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return folder

    def test_a_template_is_a_pair(self, command, scored_run):
        # differences by hand: 1 - 1/2, 1 - 1, 0 - 1/2, 1 - 0: mean 1/4, sd sqrt(5/12)
        seen = self.run(scored_run, "seen", {1: "1", 2: "1", 3: "0", 4: "1", 9: "1"}, "originals")
        fresh = self.run(scored_run, "fresh", {1: "10", 2: "11", 3: "01", 4: "00", 8: "11"}, "variants")
        found = command("gap", seen, fresh, "--by", "template", "--margin", 0.9, "--json").json
        assert found["difference"] == pytest.approx(0.25)
        assert found["standard_error"] == pytest.approx((5 / 12 / 4) ** 0.5)
        assert (found["seen_score"], found["fresh_score"]) == (0.75, 0.5)
        assert (found["paired_by"], found["unpaired_groups"], found["n_first"]) == ("template", 2, 4)
        assert found["equivalence"]["p_value"] == pytest.approx(
            stats.tost(0.25, (5 / 48) ** 0.5, 0.9, 3).p_value
        )
        shown = command("gap", seen, fresh, "--by", "template").out
        assert "Paired by template: 4 pairs; 2 on one side only are left out." in shown

    def test_a_page_reads_a_pair_as_it_is_declared(self, command, scored_run):
        seen = self.run(scored_run, "seen", {1: "1", 2: "1", 3: "0", 4: "1"}, "originals")
        fresh = self.run(scored_run, "fresh", {1: "10", 2: "11", 3: "01", 4: "00"}, "variants")
        runs = [
            ScoredRun(SimpleNamespace(path=path), read_results(path), path.name) for path in (seen, fresh)
        ]
        (paired,) = gaps_of(runs, [Pair("originals", "variants", by="template")], [])
        (separate,) = gaps_of(runs, [Pair("originals", "variants")], [])
        assert paired.as_json() == command("gap", seen, fresh, "--by", "template", "--json").json
        assert separate.as_json() == command("gap", seen, fresh, "--json").json
        notes: list[str] = []
        assert gaps_of(runs, [Pair("originals", "variants", rule="recall_rouge_l")], notes) == []
        assert "no verdicts of the rule 'recall_rouge_l'" in notes[0]

    def test_pairing_sees_more_than_two_separate_sets(self, command, scored_run):
        hard_and_easy = {template: ("1" if template % 2 else "0") for template in range(40)}
        seen = self.run(scored_run, "seen", hard_and_easy, "originals")
        variants = {template: mark * 3 + "1" for template, mark in hard_and_easy.items()}
        fresh = self.run(scored_run, "fresh", variants, "variants")
        paired = command("gap", seen, fresh, "--by", "template", "--json").json
        separate = command("gap", seen, fresh, "--json").json
        assert paired["minimum_detectable_effect"] < separate["minimum_detectable_effect"] / 3

    def test_what_cannot_be_paired_is_refused(self, command, scored_run):
        seen = self.run(scored_run, "seen", {1: "1", 2: "1"}, "originals")
        other = self.run(scored_run, "other", {7: "1", 8: "0"}, "variants")
        bare = scored_run("bare", single("110"), task="variants", model="m")
        for fresh, by, said in (
            (other, "template", "share 0 values of 'template'"),
            (other, "colour", "has a field 'colour'"),
            (bare, "template", "has no prompts.jsonl"),
        ):
            refused = command("gap", seen, fresh, "--by", by)
            assert refused.status == 2
            assert said in refused.err


@pytest.mark.parametrize(("limit", "said"), [(2**17, "is no CSV table"), (2**20, "is not a number")])
def test_a_cell_without_end(command, tmp_path, limit, said):
    before = csv.field_size_limit(limit)  # of the whole process: reading a data set raises it
    try:
        refused = command(
            "gap", "--csv", csv_file(tmp_path, "model,gsm8k,gsm1k\nm," + "x" * 200_000 + ",1\n")
        )
    finally:
        csv.field_size_limit(before)
    assert refused.status == 2
    assert said in refused.err
    assert len(refused.err) < 1000
