"""`resit probe overlap`, from the command line to its sentences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

QUESTION = (
    "Ada has 12 boxes with 7 pencils each; she gives 9 pencils to Ben. How many pencils does Ada have left?"
)
TASK = """\
task: pencils
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/test.jsonl, train: {folder}/train.jsonl}}}}
test_split: test
training_split: train
fewshot_split: train
num_fewshot: 1
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer}}}}"
metric_list: [{{metric: exact_match}}]
"""


@pytest.fixture
def task(tmp_path: Path) -> Path:
    rows = [{"question": QUESTION, "answer": "75"}, {"question": "How many?", "answer": "2"}]
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    leak = {"question": f"{QUESTION} Say why.", "answer": "75"}
    (tmp_path / "train.jsonl").write_text(json.dumps(leak) + "\n", encoding="utf-8")
    path = tmp_path / "pencils.yaml"
    path.write_text(TASK.format(folder=tmp_path), encoding="utf-8")
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    lines = [{"text": "nothing of interest"}, {"text": f"so: {QUESTION.lower()}"}]
    (folder / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return folder


def test_what_is_found_is_named(command, task: Path, corpus: Path) -> None:
    done = command("probe", "overlap", corpus, "--tasks", task)
    assert done.status == 0
    assert "1 of 2 questions share 13 words in a row with the text (1 of them all such sequences)" in done.out
    assert "1 questions have fewer than 13 words" in done.out
    assert f"{corpus}/a.jsonl, line 2: 'ada has 12 boxes" in done.out.replace("\n", "")
    found = command("probe", "overlap", corpus, "--tasks", task, "--json").json
    assert (found["questions"], found["found"], found["whole"], found["too_short"], found["texts"]) == (
        2,
        1,
        1,
        1,
        2,
    )
    assert found["overlaps"][0]["question"] == "pencils 0"


def test_exemplars_are_looked_at_when_asked(command, task: Path) -> None:
    found = command("probe", "overlap", "--exemplars", "--tasks", task, "--json").json
    assert found["overlaps"][0]["place"] == "exemplar 0 of pencils"


def test_bad_input_is_named(command, task: Path, tmp_path: Path) -> None:
    nothing = command("probe", "overlap", "--tasks", task)
    assert (nothing.status, "expected files or folders" in nothing.err) == (2, True)
    absent = command("probe", "overlap", tmp_path / "absent", "--tasks", task)
    assert (absent.status, "there is no such file" in absent.err) == (6, True)
