"""Whatever happens to a run, the same command again ends where an undisturbed run ends."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resit.errors import IdentityMismatch, ResitError, UsageError
from resit.runs.folder import RunFolder
from resit.runs.identity import sample_seed
from resit.runs.lock import FolderLock
from resit.runs.plan import Settings

Sit = Callable[..., Any]
Exam = Callable[..., Path]


def lines(folder: Path, file: str = "generations.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / file).read_bytes().splitlines()]


def samples(folder: Path) -> list[tuple[str, int, int]]:
    return [(line["task"], line["doc_id"], line["repeat"]) for line in lines(folder) if "error" not in line]


def test_a_run_cut_at_every_byte_of_its_journal_ends_the_same(tmp_path: Path, exam: Exam, sit: Sit) -> None:
    task, whole = exam(questions=3, repeats=1), tmp_path / "whole"
    sit(whole, task, model="text=é#### {target}")
    data = (whole / "generations.jsonl").read_bytes()
    results = (whole / "results.json").read_bytes()
    scores = (whole / "scores.jsonl").read_bytes()
    cut_run = tmp_path / "cut"
    for cut in range(len(data) + 1):
        shutil.copytree(whole, cut_run)
        (cut_run / "results.json").unlink()
        (cut_run / "generations.jsonl").write_bytes(data[:cut])
        outcome, _ = sit(cut_run, task, model="text=é#### {target}")
        assert outcome.reused == data[:cut].count(b"\n"), "no finished sample is generated twice"
        assert outcome.reused + outcome.generated == 3
        assert (cut_run / "results.json").read_bytes() == results
        assert (cut_run / "scores.jsonl").read_bytes() == scores
        shutil.rmtree(cut_run)


def test_prompts_cut_at_any_byte_are_written_again(tmp_path: Path, exam: Exam, sit: Sit) -> None:
    task, folder = exam(questions=2), tmp_path / "run"
    sit(folder, task)
    prompts, results = (folder / "prompts.jsonl").read_bytes(), (folder / "results.json").read_bytes()
    for cut in range(0, len(prompts) + 1, 7):
        (folder / "prompts.jsonl").write_bytes(prompts[:cut])
        outcome, _ = sit(folder, task)
        assert outcome.generated == 0
        assert (folder / "prompts.jsonl").read_bytes() == prompts
        assert (folder / "results.json").read_bytes() == results


@pytest.mark.parametrize(
    "line",
    [b'{"task": "sums"}', b'{"task": "sums", "doc_id": 0, "doc_hash": "h", "doc": 5, "target": 3}', b"{"],
)
def test_a_damaged_prompt_is_written_again(tmp_path: Path, exam: Exam, sit: Sit, line: bytes) -> None:
    task, folder = exam(questions=2), tmp_path / "run"
    sit(folder, task)
    first, second, _ = (folder / "prompts.jsonl").read_bytes().split(b"\n")
    results = (folder / "results.json").read_bytes()
    (folder / "prompts.jsonl").write_bytes(first + b"\n" + line + b"\n")
    outcome, _ = sit(folder, task)
    assert outcome.generated == 0
    assert (folder / "prompts.jsonl").read_bytes() == b"\n".join([first, line, second, b""])
    assert (folder / "results.json").read_bytes() == results


def test_an_errored_sample_is_retried_a_truncated_one_is_not(tmp_path: Path, exam: Exam, sit: Sit) -> None:
    task, folder = exam(repeats=1), tmp_path / "run"
    outcome, results = sit(folder, task, model="text=#### {target},error_docs=1;2")
    assert (outcome.errored, results["resit"]["tasks"]["sums"]["samples"]["errored"]) == (2, 2)
    assert results["results"]["sums"]["exact_match,strict-match"] == 1.0, "an error is not a wrong answer"
    outcome, results = sit(folder, task)
    assert (outcome.reused, outcome.generated, outcome.errored) == (2, 2, 0)
    assert results["resit"]["tasks"]["sums"]["questions"] == {"planned": 4, "scored": 4}
    journal = folder / "generations.jsonl"
    cut_short = journal.read_bytes().replace(b'"finish_reason":"stop"', b'"finish_reason":"length"')
    journal.write_bytes(cut_short)
    outcome, results = sit(folder, task)
    assert outcome.generated == 0
    assert results["resit"]["tasks"]["sums"]["samples"]["truncated"] == 4


def test_a_run_grows_by_limit_repeats_and_tasks(tmp_path: Path, exam: Exam, sit: Sit) -> None:
    sums, more, folder = exam(), exam("more", questions=3), tmp_path / "run"
    assert sit(folder, sums, limit=2)[0].generated == 4
    outcome, _ = sit(folder, sums)
    assert (outcome.reused, outcome.generated) == (4, 4)
    outcome, _ = sit(folder, sums, repeats=5)
    assert (outcome.reused, outcome.generated) == (8, 12)
    outcome, results = sit(folder, sums, more)
    assert (outcome.reused, outcome.generated) == (8, 6)
    assert set(results["results"]) == {"sums", "more"}
    done = samples(folder)
    assert len(done) == len(set(done)) == 26


def test_a_fatal_error_keeps_what_was_finished(tmp_path: Path, exam: Exam, sit: Sit) -> None:
    task, folder = exam(), tmp_path / "run"
    with pytest.raises(ResitError):
        sit(folder, task, model="text=#### {target},fatal_after=3")
    assert len(samples(folder)) == 3
    assert sit(folder, task)[0].reused == 3


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"model": "text=other"}, "model.text"),
        ({"seed": 7}, "seed"),
        ({"fewshot_seed": 7}, "fewshot_seed"),
        ({"system_instruction": "Think."}, "system_instruction"),
        ({"gen_kwargs": {"temperature": 0.7}}, "tasks.sums.sampling.temperature"),
        ({"gen_kwargs": {"max_gen_toks": 64}}, "tasks.sums.sampling.max_tokens"),
        ({"num_fewshot": 2}, "tasks.sums.num_fewshot"),
    ],
)
def test_another_identity_is_refused_field_by_field(
    tmp_path: Path, exam: Exam, sit: Sit, change: dict[str, Any], field: str
) -> None:
    task, folder = exam(), tmp_path / "run"
    sit(folder, task)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(IdentityMismatch, match="holds another run") as caught:
        sit(folder, task, **change)
    assert f"\n  {field}: the run has " in str(caught.value)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before, "no file was touched"


def test_changed_questions_are_another_identity(tmp_path: Path, exam: Exam, sit: Sit) -> None:
    folder = tmp_path / "run"
    sit(folder, exam(questions=4))
    with pytest.raises(IdentityMismatch, match=r"tasks\.sums\.dataset\.sha256"):
        sit(folder, exam(questions=5))


def test_another_prompt_for_a_question_on_file_is_refused(tmp_path: Path, exam: Exam, sit: Sit) -> None:
    task, folder = exam(), tmp_path / "run"
    sit(folder, task)
    prompts = folder / "prompts.jsonl"
    text = prompts.read_text(encoding="utf-8").replace("Question: What is 2", "Q: What is 2")
    prompts.write_text(text, encoding="utf-8")
    with pytest.raises(IdentityMismatch, match="has another prompt for sums document 1") as caught:
        sit(folder, task, repeats=3)
    assert "another --output-path" in caught.value.hint


def test_no_repeats_at_all_are_refused() -> None:
    with pytest.raises(UsageError, match="--repeats must be at least 1, found 0"):
        Settings(repeats=0)


def test_scheduling_is_no_identity(tmp_path: Path, exam: Exam, sit: Sit) -> None:
    task, folder = exam(), tmp_path / "run"
    sit(folder, task)
    assert sit(folder, task, model="text=#### {target},delay=0.001")[0].reused == 8


def test_a_second_writer_is_refused_by_name_and_a_dead_ones_lock_is_free(tmp_path: Path) -> None:
    with FolderLock(tmp_path):
        second = FolderLock(tmp_path)
        with pytest.raises(UsageError, match=r"being written by process \d+ on "):
            second.__enter__()
        (tmp_path / ".writer.json").write_text("{", encoding="utf-8")
        with pytest.raises(UsageError, match="being written by another process"):
            second.__enter__()
    (tmp_path / ".writer.json").write_text('{"host": "gone", "pid": 1}', encoding="utf-8")
    with FolderLock(tmp_path):
        pass


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"identity": 5, "tasks": {}}', '{"identity": {}}'])
def test_a_damaged_record_is_named(tmp_path: Path, exam: Exam, sit: Sit, text: str) -> None:
    folder = tmp_path / "run"
    sit(folder, exam())
    (folder / "run.json").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"run\.json is damaged"):
        RunFolder(folder).record()


@pytest.mark.parametrize("below", ["", "run"])
def test_a_file_where_the_folder_should_be_is_a_usage_error(
    tmp_path: Path, exam: Exam, sit: Sit, below: str
) -> None:
    file = tmp_path / "file"
    file.write_text("kept", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be a run folder"):
        sit(file / below, exam())
    assert file.read_text(encoding="utf-8") == "kept"


def test_each_sample_has_a_seed_that_order_does_not_change(tmp_path: Path, exam: Exam, sit: Sit) -> None:
    task = exam(questions=3)
    sit(tmp_path / "a", task, repeats=4)
    sit(tmp_path / "b", task, limit=2, repeats=2)
    seeds = {(line["doc_hash"], line["repeat"]): line["seed"] for line in lines(tmp_path / "a")}
    assert len(set(seeds.values())) == 12
    assert all(seeds[line["doc_hash"], line["repeat"]] == line["seed"] for line in lines(tmp_path / "b"))
    assert sample_seed(1234, "abc", 0) != sample_seed(1234, "abc", 1) != sample_seed(1235, "abc", 1)
