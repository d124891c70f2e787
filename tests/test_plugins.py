"""The example package, installed: a backend, a task, a filter and a rule from outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parent.parent / "examples" / "plugin"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--target", str(folder), str(EXAMPLE)], check=True, capture_output=True)
    return folder


def resit(installed: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(installed), **environment}
    command = [sys.executable, "-m", "resit", *words]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def scores(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "scores.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_a_run_by_a_plugins_backend_task_filter_and_rule(installed: Path, tmp_path: Path) -> None:
    pytest.importorskip("reasoning_gym")
    words = ("run", "--model", "abacus", "--tasks", "abacus_sums", "--json")
    right = resit(installed, *words, "-o", str(tmp_path / "right"))
    assert right.returncode == 0, right.stderr
    assert json.loads(right.stdout)["results"]["abacus_sums"]["exact_match,last-word"] == 1
    assert {line["verdicts"]["last_word"]["correct"] for line in scores(tmp_path / "right")} == {1}
    wrong = resit(installed, *words, "--model-args", "off_by=1", "-o", str(tmp_path / "wrong"))
    assert wrong.returncode == 0, wrong.stderr
    assert {line["verdicts"]["last_word"]["correct"] for line in scores(tmp_path / "wrong")} == {0}
    other = resit(installed, *words, "--model-args", "off_by=1", "-o", str(tmp_path / "right"))
    assert (other.returncode, "off_by" in other.stderr) == (3, True)


@pytest.mark.slow
def test_a_plugins_rule_grades(installed: Path) -> None:
    done = resit(installed, "grade", "--answer", "It is 12.", "--gold", "12", "--rule", "last_word", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["correct"]


@pytest.mark.slow
def test_names_of_plugins_are_suggested_and_their_arguments_checked(installed: Path) -> None:
    near = resit(installed, "run", "--model", "abakus", "--tasks", "abacus_sums")
    assert (near.returncode, "did you mean 'abacus'" in near.stderr) == (2, True)
    bad = resit(installed, "run", "--model", "abacus", "--model-args", "of_by=1", "--tasks", "abacus_sums")
    assert (bad.returncode, "has no argument 'of_by'" in bad.stderr) == (2, True)


@pytest.mark.slow
def test_a_plugins_backend_takes_part_in_a_study(installed: Path, tmp_path: Path) -> None:
    data = tmp_path / "sums.jsonl"
    data.write_text(json.dumps({"question": "1 + 1?", "answer": "2"}) + "\n", encoding="utf-8")
    task = {"task": "sums", "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(data)}}}
    shown = {"test_split": "test", "doc_to_text": "{{question}}", "doc_to_target": "{{answer}}"}
    (tmp_path / "sums.yaml").write_text(json.dumps({**task, **shown}), encoding="utf-8")
    study = tmp_path / "study.yaml"
    models = [{"name": "a", "model": "abacus"}]
    study.write_text(json.dumps({"tasks": [str(tmp_path / "sums.yaml")], "models": models}), "utf-8")
    done = resit(installed, "run", str(study), "-o", str(tmp_path / "out"), "--json")
    assert done.returncode == 0, done.stderr
    models[0]["model"] = "abbacus"
    study.write_text(json.dumps({"tasks": [str(tmp_path / "sums.yaml")], "models": models}), "utf-8")
    refused = resit(installed, "run", str(study), "-o", str(tmp_path / "out"))
    assert (refused.returncode, "abacus" in refused.stderr.replace("abbacus", "")) == (2, True)


@pytest.mark.slow
def test_a_plugin_that_cannot_be_imported_is_named(installed: Path, tmp_path: Path) -> None:
    broken = tmp_path / "resit_abacus"
    broken.mkdir()
    (broken / "__init__.py").write_text("")
    (broken / "backend.py").write_text("import nothing_of_that_name\n")
    path = os.pathsep.join((str(tmp_path), str(installed)))
    done = resit(installed, "run", "--model", "abacus", "--tasks", "gsm_fresh", PYTHONPATH=path)
    assert done.returncode == 2
    assert "backend 'abacus' of the package resit-abacus cannot be loaded" in done.stderr
    assert "Traceback" not in done.stderr
