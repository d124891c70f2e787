"""`resit report`: what it needs, what it says, what it leaves alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("vl_convert", reason="needs `pip install 'resit[report]'`")

ROWS = [{"question": f"How much is {i} plus {i}?", "answer": str(2 * i)} for i in range(3)]


LACKING = '{"results": {}, "resit": {"tasks": {"sums": {}}}}'


@pytest.fixture
def run(tmp_path: Path, command: Callable) -> Path:
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    (tmp_path / "sums.yaml").write_text(
        "task: sums\ndataset_path: json\n"
        f"dataset_kwargs: {{data_files: {{test: {tmp_path / 'rows.jsonl'}}}}}\n"
        'test_split: test\ndoc_to_text: "{{question}}"\ndoc_to_target: "{{answer}}"\n'
        'generation_kwargs: {until: ["\\n"]}\n',
        encoding="utf-8",
    )
    model = ("--model", "scripted", "--model-args", "text={target}")
    done = command("run", *model, "--tasks", tmp_path / "sums.yaml", "--output-path", tmp_path / "run")
    assert done.status == 0
    return tmp_path / "run"


def test_the_file_is_written_where_it_is_wanted(command: Callable, run: Path, tmp_path: Path) -> None:
    done = command("report", run, "-o", tmp_path / "page.html")
    assert (done.status, done.out, done.err) == (0, f"{tmp_path / 'page.html'}\n", "")
    assert (tmp_path / "page.html").read_bytes().startswith(b"<!doctype html>")


def test_a_folder_that_is_missing_is_made(command: Callable, run: Path, tmp_path: Path) -> None:
    assert command("report", run, "-o", tmp_path / "new" / "table.md").status == 0
    assert (tmp_path / "new" / "table.md").exists()


def test_without_a_name_it_lies_in_the_run(command: Callable, run: Path) -> None:
    assert command("report", run, "--json").json == {"files": [str(run / "report.html")]}


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda run: (run / "scores.jsonl").unlink(), "not scored yet"),
        (lambda run: (run / "results.json").write_text("{", encoding="utf-8"), "its scores are damaged"),
        (lambda run: (run / "scores.jsonl").write_bytes(b"{}\n"), "its scores are damaged"),
        (lambda run: (run / "results.json").write_text(LACKING, encoding="utf-8"), "its scores are damaged"),
    ],
)
def test_a_run_without_good_scores_is_scored_first(
    command: Callable, run: Path, damage: Callable[[Path], object], why: str
) -> None:
    before = (run / "results.json").read_bytes()
    damage(run)
    done = command("report", run)
    assert (done.status, done.err) == (0, f"{run}: {why}; scoring it\n")
    assert (run / "results.json").read_bytes() == before


def test_a_run_that_grew_is_scored_first(command: Callable, run: Path) -> None:
    journal = run / "generations.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:2]))
    command("score", run)
    with journal.open("ab") as file:
        file.write(lines[2])
    done = command("report", run)
    assert done.err == f"{run}: it has samples that are not scored; scoring it\n"
    assert command("report", run).err == ""


def test_what_is_no_run_is_named(command: Callable, tmp_path: Path) -> None:
    done = command("report", tmp_path / "none")
    assert done.status == 2
    assert "is not a run folder" in done.err
    assert "Traceback" not in done.err


def test_a_run_without_samples_is_named(command: Callable, run: Path) -> None:
    (run / "generations.jsonl").write_bytes(b"")
    (run / "scores.jsonl").unlink()
    done = command("report", run)
    assert done.status == 2
    assert f"{run} holds no samples of sums" in done.err


def test_an_unknown_format_is_named(command: Callable, run: Path) -> None:
    done = command("report", run, "--format", "pdf")
    assert done.status == 2
    assert "--format: expected html" in done.err


def test_a_target_that_cannot_be_written_is_named(command: Callable, run: Path, tmp_path: Path) -> None:
    (tmp_path / "no").touch()
    done = command("report", run, "-o", tmp_path / "no" / "such" / "folder" / "page.html")
    assert done.status == 1
    assert "cannot write" in done.err
