"""Scoring again says what changed; a growing run is scored as it grows; disagreements are listed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from resit.cli.rescoring import show_changes, show_disagreements, watch_run
from resit.cli.scoring import rules_of, score_folder
from resit.errors import ResitError, UsageError
from resit.reports.changes import change_lines, changes_since, scores_kept
from resit.runs.folder import RunFolder
from resit.tasks import load

Sit = Callable[..., Any]
Exam = Callable[..., Path]


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.jsonl"
    texts = [
        {"doc_id": doc, "texts": [f"#### {2 * doc + 2}", f"The answer is {2 * doc + 2}"]} for doc in range(4)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in texts), "utf-8")
    return path


def rescored(folder: Path) -> list[str]:
    """What scoring again says."""
    run = RunFolder.existing(folder)
    with scores_kept(folder) as before:
        assert before is not None
        results = score_folder(run, rules_of(run))
        lines = list(change_lines(before, results, changes_since(before, folder)))
    assert not list(folder.glob("*.before")), "nothing is left behind"
    return lines


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, which can be made read-only even for root."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"cannot mount a tmpfs: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_run_on_a_read_only_disk_is_refused_clearly(disk: Path, exam: Exam, sit: Sit) -> None:
    sit(disk / "run", exam())
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    run = RunFolder.existing(disk / "run")
    with pytest.raises(ResitError, match="cannot write"), scores_kept(run.path):
        score_folder(run, rules_of(run))


def test_nothing_changed(tmp_path: Path, exam: Exam, sit: Sit, answers: Path) -> None:
    sit(tmp_path / "run", exam(), model=f"file={answers}")
    assert rescored(tmp_path / "run") == ["nothing changed against the scores before"]


def test_a_changed_rule_shows_its_scores_and_the_verdicts_it_flips(
    tmp_path: Path, exam: Exam, sit: Sit, answers: Path
) -> None:
    task, run = exam(), tmp_path / "run"
    sit(run, task, model=f"file={answers}")
    text = task.read_text("utf-8")
    task.write_text(text.replace("#### (", "The answer is ("), encoding="utf-8")
    assert rescored(run) == [
        "sums, exact_match,strict-match: 1.0000 -> 0.0000 (4 verdicts turned right, 4 wrong; document/repeat "
        "0/0, 0/1, 1/0, 1/1, 2/0, …)"
    ]
    task.write_text(text, encoding="utf-8")
    assert rescored(run)[0].startswith("sums, exact_match,strict-match: 0.0000 -> 1.0000")


def test_new_and_old_rules_are_named(tmp_path: Path, exam: Exam, sit: Sit, answers: Path) -> None:
    task, run = exam(), tmp_path / "run"
    sit(run, task, model=f"file={answers}")
    task.write_text(task.read_text("utf-8").replace("strict-match", "stern"), encoding="utf-8")
    assert rescored(run) == [
        "sums, exact_match,stern: new",
        "sums, exact_match,strict-match: no longer scored",
    ]


def test_a_grown_run_has_new_samples_and_a_shrunk_one_lost_some(
    tmp_path: Path, exam: Exam, sit: Sit, answers: Path
) -> None:
    task, run = exam(), tmp_path / "run"
    sit(run, task, model=f"file={answers}", limit=2)
    kept = [(run / name).read_bytes() for name in ("results.json", "scores.jsonl")]
    sit(run, task, model=f"file={answers}")
    for name, data in zip(("results.json", "scores.jsonl"), kept, strict=True):
        (run / name).write_bytes(data)
    assert rescored(run) == ["sums: 4 samples are new"]
    journal = run / "generations.jsonl"
    journal.write_bytes(b"\n".join(journal.read_bytes().split(b"\n")[:3]) + b"\n")
    assert rescored(run) == ["sums: 5 samples are gone"]


@pytest.mark.parametrize("lost", ["results.json", "scores.jsonl"])
def test_without_scores_there_is_nothing_to_compare(tmp_path: Path, exam: Exam, sit: Sit, lost: str) -> None:
    sit(tmp_path / "run", exam())
    (tmp_path / "run" / lost).unlink()
    with scores_kept(tmp_path / "run") as before:
        assert before is None


@pytest.mark.parametrize("damage", [b"{\n", b'{"task": 1}\n'])
def test_damaged_scores_are_rebuilt_and_said_to_have_been(
    tmp_path: Path, exam: Exam, sit: Sit, damage: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    _, results = sit(tmp_path / "run", exam())
    scores = tmp_path / "run" / "scores.jsonl"
    good = scores.read_bytes()
    scores.write_bytes(damage + good)
    with scores_kept(tmp_path / "run") as before:
        assert before is not None
        scores.write_bytes(good)
        show_changes(before, tmp_path / "run", results, as_json=False)
    assert "what changed cannot be told: the scores before were damaged in line 1" in capsys.readouterr().out


def test_changes_go_to_standard_error_beside_json(
    tmp_path: Path, exam: Exam, sit: Sit, capsys: pytest.CaptureFixture[str]
) -> None:
    _, results = sit(tmp_path / "run", exam())
    with scores_kept(tmp_path / "run") as before:
        assert before is not None
        show_changes(before, tmp_path / "run", results, as_json=True)
    assert capsys.readouterr() == ("", "nothing changed against the scores before\n")


def test_a_rule_that_is_broken_now_is_told_and_the_old_one_not_used(
    tmp_path: Path, exam: Exam, sit: Sit
) -> None:
    task, run = exam(), tmp_path / "run"
    sit(run, task)
    text = task.read_text("utf-8")
    task.write_text(text.replace("take_first", "take_frist"), encoding="utf-8")
    with pytest.raises(UsageError, match="take_frist"):
        score_folder(RunFolder(run), rules_of(RunFolder(run)))
    task.unlink()
    results = score_folder(RunFolder(run), rules_of(RunFolder(run)))
    assert results["results"]["sums"]["exact_match,strict-match"] == 1.0, (
        "without the file, the recorded rules"
    )


# watching


class Clock:
    """Instead of waiting, lets the run grow by what comes next."""

    def __init__(self, *growth: Callable[[], object]) -> None:
        self.growth = list(growth)
        self.waits: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)
        if not self.growth:
            raise KeyboardInterrupt
        self.growth.pop(0)()


def test_a_growing_run_is_scored_when_it_has_grown_and_until_it_is_complete(
    tmp_path: Path, exam: Exam, sit: Sit, capsys: pytest.CaptureFixture[str]
) -> None:
    task, whole, run = exam(questions=3), tmp_path / "whole", tmp_path / "run"
    sit(whole, task)
    lines = (whole / "generations.jsonl").read_bytes().split(b"\n")[:-1]
    run.mkdir()
    for name in ("run.json", "prompts.jsonl"):
        (run / name).write_bytes((whole / name).read_bytes())

    def grow(count: int) -> None:
        (run / "generations.jsonl").write_bytes(b"".join(line + b"\n" for line in lines[:count]))

    clock = Clock(lambda: grow(2), lambda: None, lambda: grow(5), lambda: grow(6), lambda: grow(0))
    rules = {t.name: t.rules for t in load([str(task)])}
    watch_run(RunFolder(run), rules, 7, as_json=True, pause=clock)
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [r["resit"]["tasks"]["sums"]["samples"]["scored"] for r in shown] == [2, 5, 6]
    assert clock.waits == [7] * 4, "it looks every seven seconds and stops when the run is complete"


def test_watching_ends_on_ctrl_c_and_not_while_a_sample_is_owed(
    tmp_path: Path, exam: Exam, sit: Sit, capsys: pytest.CaptureFixture[str]
) -> None:
    task = exam()
    sit(tmp_path / "run", task, model="text=#### {target},error_docs=1")
    clock = Clock()
    watch_run(RunFolder(tmp_path / "run"), {t.name: t.rules for t in load([str(task)])}, 1, True, clock)
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert clock.waits == [1]


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_an_interval_of_nothing_is_refused(tmp_path: Path, seconds: float) -> None:
    with pytest.raises(UsageError, match="--watch: expected a number of seconds above 0"):
        watch_run(RunFolder(tmp_path), {}, seconds, False)


# disagreements


def test_disagreements_are_counted_and_listed(
    tmp_path: Path, exam: Exam, sit: Sit, answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task, run = exam(), tmp_path / "run"
    sit(run, task, model=f"file={answers}")
    rules = {t.name: t.rules for t in load([str(task)])}
    show_disagreements(RunFolder(run), rules, as_json=True)
    found = json.loads(capsys.readouterr().out)["tasks"]["sums"]
    counts = {"strict-match": {"marker missing": {"reference_right": 4, "other_right": 0}}}
    assert found["counts"] == counts
    assert [(one["doc_id"], one["repeat"]) for one in found["samples"]] == [(doc, 1) for doc in range(4)]
    assert found["samples"][0]["robust"] == {"extracted": "2", "correct": 1.0}
    show_disagreements(RunFolder(run), rules, as_json=False)
    shown = capsys.readouterr().out
    assert "sums 0/1, marker missing: strict-match reads nothing (wrong); robust reads '2' (right)" in shown


def test_rules_that_agree_are_said_to(
    tmp_path: Path, exam: Exam, sit: Sit, capsys: pytest.CaptureFixture[str]
) -> None:
    task = exam()
    sit(tmp_path / "run", task)
    show_disagreements(RunFolder(tmp_path / "run"), {t.name: t.rules for t in load([str(task)])}, False)
    assert "sums: the rules agree on every sample" in capsys.readouterr().out


def test_the_verb(tmp_path: Path, exam: Exam, sit: Sit) -> None:
    sit(tmp_path / "run", exam())
    words = [sys.executable, "-m", "resit", "score", str(tmp_path / "run")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("nothing changed against the scores before")
    done = subprocess.run([*words, "--watch", "0.1", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["resit"]["tasks"]["sums"]["samples"]["missing"] == 0
