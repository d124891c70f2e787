"""Every format says every rule's score with its interval, the counts, the digests and the warnings."""

from __future__ import annotations

import csv
import io
import json
import struct
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from resit.cli.reporting import FORMATS, write_report
from resit.errors import UsageError
from resit.reports.results import read_results
from resit.reports.tables.markdown import escaped
from resit.reports.tables.papers import latex_text

MODEL = 'm_1 & <b>50%</b> | `x` {y}\\z "q"'


@pytest.fixture
def run(scored: Callable[..., Path]) -> Path:
    return scored("one", model=MODEL)


def written(run: Path, format: str, *more: Path) -> bytes:
    (path,) = write_report([run, *more], None, format)
    assert path == run / f"report.{FORMATS[format].ending}"
    return path.read_bytes()


def about(run: Path) -> Any:
    results = read_results(run)
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    return results["resit"]["tasks"]["sums"], record["digest"]


def test_json_holds_what_the_results_hold(run: Path) -> None:
    task, digest = about(run)
    whole = json.loads(written(run, "json"))
    (result,) = whole["results"]
    for score in result["scores"]:
        rule = task["rules"][score["rule"]]
        assert (score["score"], score["low"], score["high"]) == (
            rule["score"],
            rule["ci_low"],
            rule["ci_high"],
        )
        assert (score["questions"], score["unextracted"]) == (rule["questions"], rule["unextracted"])
    assert [score["rule"] for score in result["scores"] if score["quoted"]] == ["strict-match"]
    assert (result["model"], result["identity_digest"]) == (MODEL, digest)
    assert result["protocol_digest"] == task["protocol_digest"]
    assert result["counts"] == {
        "questions": 5,
        "questions_planned": 6,
        "samples": 5,
        "planned": 6,
        "errored": 1,
        "missing": 0,
        "truncated": 0,
    }
    assert [w["message"] for w in result["warnings"]] == [w["message"] for w in task["warnings"]]
    assert result["protocol"]


def test_csv_has_a_row_for_each_rule(run: Path) -> None:
    task, digest = about(run)
    rows = list(csv.DictReader(io.StringIO(written(run, "csv").decode())))
    assert [row["rule"] for row in rows] == ["strict-match", "robust"]
    for row in rows:
        rule = task["rules"][row["rule"]]
        assert [float(row[key]) for key in ("score", "ci_low", "ci_high")] == [
            rule["score"],
            rule["ci_low"],
            rule["ci_high"],
        ]
        assert (row["errored"], row["planned"], row["identity_digest"], row["model"]) == (
            "1",
            "6",
            digest,
            MODEL,
        )
        assert all(warning["message"] in row["warnings"] for warning in task["warnings"])


@pytest.mark.parametrize("name", ["=cmd()", "+1", "-1", "@x"])
def test_csv_holds_no_formula(scored: Callable[..., Path], name: str) -> None:
    rows = list(csv.DictReader(io.StringIO(written(scored("one", model=name), "csv").decode())))
    assert {row["model"] for row in rows} == {f"'{name}"}


def test_junit_is_a_suite_with_a_case_for_each_rule(run: Path) -> None:
    task, digest = about(run)
    root = ET.fromstring(written(run, "junit"))
    (suite,) = root.findall("testsuite")
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    assert list(cases) == ["strict-match", "robust", "all samples measured"]
    assert (suite.get("tests"), suite.get("errors"), suite.get("failures")) == ("3", "1", "0")
    told = {p.get("name"): p.get("value") for p in cases["robust"].findall("properties/property")}
    assert float(told["score"] or "") == task["rules"]["robust"]["score"]
    assert float(told["ci_low"] or "") == task["rules"]["robust"]["ci_low"]
    error = cases["all samples measured"].find("error")
    assert error is not None
    assert error.get("message") == "1 of 6 samples errored, 0 are missing"
    whole = {p.get("name"): p.get("value") for p in suite.findall("properties/property")}
    assert (whole["identity_digest"], whole["model"]) == (digest, MODEL)
    assert all(warning["message"] in (suite.findtext("system-out") or "") for warning in task["warnings"])


def test_junit_of_a_whole_run_has_no_error(scored: Callable[..., Path]) -> None:
    suite = ET.fromstring(written(scored("whole", ["#### 2", "#### 4"]), "junit"))[0]
    assert (suite.get("errors"), suite.findall("testcase/error")) == ("0", [])


def test_junit_holds_what_xml_cannot(scored: Callable[..., Path]) -> None:
    assert ET.fromstring(written(scored("one", model="a\x00b\x1b\ud800"), "junit"))[0] is not None


def test_markdown_is_a_table_in_which_names_are_only_text(run: Path) -> None:
    task, digest = about(run)
    text = written(run, "md").decode()
    assert "| **strict-match** | 40.0 % | 11.8 to 76.9 % |" in text
    assert "| robust | 60.0 % | 23.1 to 88.2 % |" in text
    assert "5 of 6 samples measured, 0 cut, 1 errored, 0 missing." in text
    assert f"identity `{digest}`" in text
    assert f"protocol `{task['protocol_digest']}`" in text
    assert "<b>" not in text
    assert escaped(MODEL) in text
    rows = [line for line in text.split("\n") if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {8}


def test_markdown_of_two_runs_compares_them(run: Path, scored: Callable[..., Path]) -> None:
    other = scored("two", ["#### 2", "#### 4", "#### 6", "#### 8", "#### 10", "#### 12"], model="other")
    text = written(run, "md", other).decode()
    assert "## Compared" in text
    compared = json.loads(written(run, "json", other))["comparisons"]
    assert [(one["first"], one["second"], one["rule"]) for one in compared] == [
        (MODEL, "other", "strict-match")
    ]


def test_latex_has_a_row_for_each_rule_between_booktabs_rules(run: Path) -> None:
    task, digest = about(run)
    lines = written(run, "latex").decode().split("\n")
    assert [line for line in lines if line.startswith("\\") and "rule" in line] == [
        r"\toprule",
        r"\midrule",
        r"\bottomrule",
    ]
    rows = lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]
    assert rows == [
        rf"{latex_text(MODEL)} & sums & strict-match & \textbf{{40.0}} & [11.8, 76.9] & 5 \\ "
        f"% protocol {task['protocol_digest'][:12]}, identity {digest[:12]}",
        rf"{latex_text(MODEL)} & sums & robust & 60.0 & [23.1, 88.2] & 5 \\ "
        f"% protocol {task['protocol_digest'][:12]}, identity {digest[:12]}",
    ]


@pytest.mark.parametrize(
    ("text", "set_"),
    [
        ("gsm8k_cot", r"gsm8k\_cot"),
        ("50% & more #1", r"50\% \& more \#1"),
        ("a\\b{c}$d$", r"a\textbackslash{}b\{c\}\$d\$"),
        ("x^2~y", r"x\textasciicircum{}2\textasciitilde{}y"),
        ("<a|b>", r"\textless{}a\textbar{}b\textgreater{}"),
        ("line\nbreak\x00\x1b\ud800", "line break"),
        ("% comment", r"\% comment"),
        ("é 数", "é 数"),
    ],
)
def test_latex_sets_text_as_it_is(text: str, set_: str) -> None:
    assert latex_text(text) == set_


def test_the_model_index_is_what_the_hub_reads(run: Path) -> None:
    hub = pytest.importorskip("huggingface_hub", reason="needs `pip install 'resit[hub]'`")
    task, digest = about(run)
    text = written(run, "model-index").decode()
    card = hub.ModelCard(f"---\n{text}---\n# A model\n")
    assert card.data.model_name == MODEL
    found = card.data.eval_results
    assert [(r.metric_name, r.metric_type, r.metric_value) for r in found] == [
        ("strict-match", "exact_match", task["rules"]["strict-match"]["score"]),
        ("robust", "exact_match", task["rules"]["robust"]["score"]),
    ]
    for result in found:
        rule = task["rules"][result.metric_args["rule"]]
        assert result.metric_args["ci_low"] == rule["ci_low"]
        assert result.metric_args["ci_high"] == rule["ci_high"]
        assert (result.metric_args["errored"], result.metric_args["identity_digest"]) == (1, digest)
        assert (result.task_type, result.dataset_type) == ("text-generation", "json")
        assert result.dataset_split == "test"
    again = hub.ModelCard(str(card))
    assert [r.metric_value for r in again.data.eval_results] == [r.metric_value for r in found]


def test_the_model_index_names_each_metric(run: Path) -> None:
    results = read_results(run)
    results["results"]["sums"] |= {"rougeL,strict-match": 0.5, "rougeL_stderr,strict-match": 0.1}
    (run / "results.json").write_text(json.dumps(results), encoding="utf-8")
    (model,) = yaml.safe_load(written(run, "model-index"))["model-index"]
    metrics = model["results"][0]["metrics"]
    assert {(metric["type"], metric["name"]) for metric in metrics} == {
        ("exact_match", "strict-match"),
        ("rougeL", "strict-match rougeL"),
        ("exact_match", "robust"),
    }


def test_the_model_index_has_one_model_for_its_tasks(scored: Callable[..., Path]) -> None:
    runs = [scored("one", model="m"), scored("two", task="more", model="m"), scored("three", model="n")]
    index = yaml.safe_load(written(runs[0], "model-index", *runs[1:]))["model-index"]
    assert [(model["name"], [r["dataset"]["name"] for r in model["results"]]) for model in index] == [
        ("m", ["sums", "more"]),
        ("n", ["sums"]),
    ]


def test_each_chart_is_a_picture(scored: Callable[..., Path], tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="needs `pip install 'resit[report]'`")
    runs = [scored("one", model="m<1>"), scored("two", model="n")]
    images = write_report(runs, tmp_path / "pictures", "png")
    drawn = write_report(runs, tmp_path / "figure.svg")
    names = ["sums-scores", "sums-lengths"]
    assert images == [tmp_path / "pictures" / f"{name}.png" for name in names]
    assert drawn == [tmp_path / f"figure-{name}.svg" for name in names]
    for path in images:
        content = path.read_bytes()
        assert content[:8] == b"\x89PNG\r\n\x1a\n"
        width, height = struct.unpack(">II", content[16:24])
        assert width > 800
        assert height > 200
    root = ET.fromstring(drawn[0].read_bytes())
    words = "".join(root.itertext())
    assert "m<1>" in words
    assert "strict-match" in words
    assert not [e for e in root.iter() if e.tag.endswith(("script", "image", "foreignObject"))]


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("a.md", b"# "),
        ("a.csv", b"run,"),
        ("a.xml", b"<?xml"),
        ("a.tex", b"\\begin"),
        ("a.yaml", b"model-index"),
    ],
)
def test_the_ending_of_the_file_decides(run: Path, tmp_path: Path, name: str, beginning: bytes) -> None:
    (path,) = write_report([run], tmp_path / name)
    assert path.read_bytes().startswith(beginning)


def test_an_unknown_format_is_refused_with_the_known_ones(run: Path, tmp_path: Path) -> None:
    for call in (lambda: write_report([run], tmp_path / "a.pdf"), lambda: write_report([run], None, "word")):
        with pytest.raises(UsageError, match="html, md, json, csv, junit, model-index, latex, png, svg"):
            call()


def test_standard_output_takes_a_table_and_no_pictures(
    run: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert write_report([run], Path("-"), "csv") == []
    assert capfdbinary.readouterr().out.startswith(b"run,model,task")
    with pytest.raises(UsageError):
        write_report([run], Path("-"), "png")
