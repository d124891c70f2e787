"""A run in the shapes that other programs read, and back."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resit.cli.exporting import export_run
from resit.cli.scoring import rules_of, score_folder
from resit.errors import ResitError, UsageError
from resit.prompts import ChatOptions
from resit.reports.exports.lm_eval import file_time, lm_eval_settings, sanitized
from resit.runs.folder import RunFolder
from resit.runs.imports import from_jsonl, from_lm_eval
from resit.runs.imports.writer import File, Origin, Part, import_run
from resit.tasks import Task, load

FOREIGN = Path(__file__).parent / "foreign"
TIME = "2026-11-30T10-38-58.490896"

Sit = Callable[..., Any]
Exam = Callable[..., Path]


def exported(run: Path, shape: str, target: Path) -> list[Path]:
    folder = RunFolder.existing(run)
    return export_run(folder, rules_of(folder), shape, target)


def taken_in(reader: Any, path: Path, task: Task, target: Path) -> dict[str, Any]:
    """The results of a file that is imported and scored."""
    settings = reader.generation_kwargs(path) if reader is from_lm_eval else None
    part = Part(task, [File(path, reader.entries(path))], settings)
    return score_folder(import_run(target, Origin("test", "x"), [part]), {task.name: task.rules})


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """Answers that are right, wrong, empty, not in Unicode, and one repeat more right than the other."""
    texts = {
        0: ["#### 2", "no"],
        1: ["", "#### 4 \u2028 x"],
        2: ["\ud800 #### 6\0", "#### 6"],
        3: ["#### 1", "so\n#### 8"],
    }
    path = tmp_path / "answers.jsonl"
    path.write_text(
        "".join(json.dumps({"doc_id": doc, "texts": both}) + "\n" for doc, both in texts.items()), "utf-8"
    )
    return path


@pytest.mark.parametrize("chat", [None, ChatOptions()])
def test_a_run_exported_to_lm_evals_shape_and_imported_again_scores_the_same(
    tmp_path: Path, exam: Exam, sit: Sit, answers: Path, chat: ChatOptions | None
) -> None:
    task, run = exam(), tmp_path / "run"
    _, results = sit(run, task, model=f"file={answers}", chat=chat, seed=7)
    _, samples = exported(run, "lm-eval", tmp_path / "out")
    again = taken_in(from_lm_eval, samples, load([str(task)])[0], tmp_path / "again")
    assert again["results"] == results["results"]
    assert again["resit"]["tasks"]["sums"]["rules"] == results["resit"]["tasks"]["sums"]["rules"]
    assert (tmp_path / "again" / "scores.jsonl").read_bytes() == (run / "scores.jsonl").read_bytes()
    protocols = [r["resit"]["tasks"]["sums"]["protocol_digest"] for r in (results, again)]
    assert protocols[0] == protocols[1], "the prompts and settings show that it is the same protocol"


def test_a_run_exported_to_json_lines_and_imported_again_scores_the_same(
    tmp_path: Path, exam: Exam, sit: Sit, answers: Path
) -> None:
    task, run = exam(), tmp_path / "run"
    sit(run, task, model=f"file={answers},error_docs=3")
    (path,) = exported(run, "jsonl", tmp_path / "out")
    taken_in(from_jsonl, path, load([str(task)])[0], tmp_path / "again")
    assert (tmp_path / "again" / "scores.jsonl").read_bytes() == (run / "scores.jsonl").read_bytes()
    for file in ("prompts.jsonl", "generations.jsonl"):
        ours, theirs = (
            [json.loads(x) for x in (p / file).read_bytes().splitlines()] for p in (run, tmp_path / "again")
        )
        assert [line | {"seed": 0} for line in ours] == [line | {"seed": 0} for line in theirs]


def test_lm_evals_own_file_comes_out_again_field_by_field(tmp_path: Path) -> None:
    """Its samples imported and exported are the same lines, settings aside: those are written resolved."""
    source = FOREIGN / "lm_eval" / f"samples_sums_{TIME}.jsonl"
    data = tmp_path / "sums.jsonl"
    lines = [json.loads(line) for line in source.read_bytes().split(b"\n") if line]
    rows = [line["doc"] for line in lines if line["filter"] == "strict-match"]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    path = tmp_path / "sums.yaml"
    path.write_text((FOREIGN / "sums.yaml").read_text("utf-8").replace("SUMS", str(data)), encoding="utf-8")
    taken_in(from_lm_eval, source, load([str(path)])[0], tmp_path / "run")
    written = exported(tmp_path / "run", "lm-eval", tmp_path / "out")
    ours, theirs = written[1].read_bytes().split(b"\n"), source.read_bytes().split(b"\n")
    assert [json.loads(line) for line in ours if line] == lines
    assert [list(json.loads(line)) for line in ours if line] == [list(line) for line in lines], (
        "the same order"
    )
    settings = b'"arg_1": {'
    assert [a.split(settings)[0] for a in ours] == [b.split(settings)[0] for b in theirs], "byte for byte"
    results = json.loads(written[0].read_text("utf-8"))
    expected = json.loads(source.with_name(f"results_{TIME}.json").read_text("utf-8"))
    assert results["task_hashes"] == expected["task_hashes"]
    for key in ("results", "versions", "n-shot", "higher_is_better", "n-samples"):
        assert results[key] == expected[key], key


def test_what_lm_eval_has_no_place_for_is_left_out_and_said(
    tmp_path: Path, exam: Exam, sit: Sit, capsys: pytest.CaptureFixture[str]
) -> None:
    sit(tmp_path / "run", exam(), model="text=x,error_docs=1")
    written = exported(tmp_path / "run", "lm-eval", tmp_path / "out")
    assert [json.loads(line)["doc_id"] for line in written[1].read_text("utf-8").splitlines()] == [0, 2, 3]
    assert "sums: 1 questions without a measured sample are left out" in capsys.readouterr().err


def test_a_vote_with_too_few_samples_keeps_its_texts(tmp_path: Path, exam: Exam, sit: Sit) -> None:
    task = exam()
    text = task.read_text("utf-8").replace("{function: take_first}", "{function: take_first_k, k: 8}")
    task.write_text(text, encoding="utf-8")
    sit(tmp_path / "run", task)
    _, samples = exported(tmp_path / "run", "lm-eval", tmp_path / "out")
    line = json.loads(samples.read_text("utf-8").splitlines()[0])
    assert (line["filtered_resps"], line["metrics"], line["resps"]) == ([], [], [["#### 2", "#### 2"]])


def test_parquet_has_a_row_a_sample_and_columns_for_every_rule(
    tmp_path: Path, exam: Exam, sit: Sit, answers: Path
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pip install 'resit[report]'")
    sit(tmp_path / "run", exam(), model=f"file={answers}", chat=ChatOptions())
    (path,) = exported(tmp_path / "run", "parquet", tmp_path / "out")
    rows = parquet.read_table(path).to_pylist()
    assert len(rows) == 8
    assert [row["strict-match.correct"] for row in rows] == [1, 0, 0, 1, 1, 1, 0, 1]
    assert (rows[0]["strict-match.extracted"], rows[2]["strict-match.extracted"]) == ("2", None)
    assert json.loads(rows[0]["messages"])[0]["role"] == "user"
    assert rows[0]["prompt"] is None
    assert rows[4]["response"] == "\\ud800 #### 6\0", "a lone surrogate is its escape"


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, exam: Exam, sit: Sit, monkeypatch: pytest.MonkeyPatch
) -> None:
    sit(tmp_path / "run", exam())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError) as error:
        exported(tmp_path / "run", "parquet", tmp_path / "out")
    assert error.value.hint == "pip install 'resit[report]'"


def test_an_unknown_shape_and_a_target_that_cannot_be_written(tmp_path: Path, exam: Exam, sit: Sit) -> None:
    sit(tmp_path / "run", exam())
    with pytest.raises(UsageError, match="--format: expected lm-eval, jsonl, parquet, found 'csv'"):
        exported(tmp_path / "run", "csv", tmp_path / "out")
    (tmp_path / "file").write_text("")
    with pytest.raises(ResitError, match="cannot write"):
        exported(tmp_path / "run", "jsonl", tmp_path / "file" / "out")


def test_names_are_made_as_lm_eval_makes_them() -> None:
    assert file_time("2026-11-30T10:38:58+00:00") == "2026-11-30T10-38-58.000000"
    assert file_time("2026-11-30T12:38:58.5+02:00") == "2026-11-30T10-38-58.500000"
    assert sanitized("org/name:v1|x") == "org__name__v1__x"


def test_settings_are_said_in_lm_evals_words() -> None:
    sampling = {
        "stop": ["Q:"],
        "max_tokens": 32,
        "temperature": 0.2,
        "top_p": 0.9,
        "top_k": None,
        "extra": {"n": 1},
    }
    assert lm_eval_settings(sampling) == {
        "until": ["Q:"],
        "max_gen_toks": 32,
        "do_sample": True,
        "temperature": 0.2,
        "top_p": 0.9,
        "n": 1,
    }


@pytest.mark.parametrize(
    ("task", "begins", "ends"),
    [
        ("gsm8k", "2330f4eb", "78ac7"),
        ("gsm8k_cot", "fc360963", "69b3d0"),
        ("gsm8k_cot_self_consistency", "42aabbb8", "45943"),
    ],
)
def test_task_hashes_are_lm_evals_on_the_whole_of_gsm8k(
    shared: Path, tmp_path: Path, sit: Sit, monkeypatch: pytest.MonkeyPatch, task: str, begins: str, ends: str
) -> None:
    monkeypatch.setenv("RESIT_MIRROR", str(shared / "mirror"))
    try:
        sit(tmp_path / "run", task, model="text=lol", repeats=1)
    except ResitError as error:
        if error.exit_status != 6:
            raise
        pytest.skip(f"the exemplars cannot be had here: {error}")
    written = exported(tmp_path / "run", "lm-eval", tmp_path / "out")
    digest = json.loads(written[0].read_text("utf-8"))["task_hashes"][task]
    assert digest.startswith(begins)
    assert digest.endswith(ends)


def test_the_verbs_print_what_they_wrote(tmp_path: Path, exam: Exam, sit: Sit) -> None:
    task, run = exam(), tmp_path / "run"
    sit(run, task)
    words = [sys.executable, "-m", "resit"]
    out = subprocess.run([*words, "export", run, "-f", "lm-eval", "--json"], capture_output=True, check=True)
    results, samples = json.loads(out.stdout)["files"]
    assert (Path(results).parent, Path(results).exists()) == (run / "export", True)
    again = [*words, "import", "lm-eval", samples, "--task", task, "-o", tmp_path / "again", "--json"]
    done = subprocess.run(again, capture_output=True, check=True)
    scores = json.loads((run / "results.json").read_text("utf-8"))["results"]
    assert json.loads(done.stdout)["results"] == scores
    twice = subprocess.run(again, capture_output=True, check=False, text=True)
    assert (twice.returncode, twice.stdout) == (2, "")
    assert "is not an empty folder" in twice.stderr
