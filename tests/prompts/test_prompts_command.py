"""`resit prompts`: exactly what is sent, one JSON object a line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from resit.cli import app
from resit.errors import UsageError

TASK = """\
task: own
dataset_path: json
test_split: test
num_fewshot: 1
doc_to_text: "Q: {{q}}\\nA:"
doc_to_target: "{{a}}"
fewshot_config: {sampler: first_n, samples: [{q: x, a: y}, {q: X, a: Y}]}
"""


@pytest.fixture
def task(tmp_path: Path) -> str:
    rows = [{"q": f"{i}?\u2028é", "a": f"{i}"} for i in range(4)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    path = tmp_path / "own.yaml"
    path.write_text(
        f"{TASK}dataset_kwargs: {{data_files: {{test: {tmp_path / 'rows.jsonl'}}}}}\n", encoding="utf-8"
    )
    return str(path)


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["prompts", *words])


def lines(*words: str) -> list[dict[str, Any]]:
    result = run(*words, "--jsonl")
    assert result.exit_code == 0, result.exception
    return [json.loads(line) for line in result.stdout_bytes.split(b"\n") if line]


def test_every_question_on_a_line_of_its_own(task: str) -> None:
    found = lines(task)
    assert [line["doc_id"] for line in found] == [0, 1, 2, 3]
    assert list(found[0]) == ["task", "doc_id", "repeat", "prompt", "target", "prompt_sha256"]
    for line in found:
        assert line["prompt"] == f"Q: x\nA: y\n\nQ: {line['doc_id']}?\u2028é\nA:"
        assert line["prompt_sha256"] == hashlib.sha256(line["prompt"].encode()).hexdigest()
        assert (line["target"], line["repeat"]) == (str(line["doc_id"]), 0)


@pytest.mark.parametrize(
    ("words", "prompt"),
    [
        (["--limit", "1", "--num-fewshot", "0"], "Q: 0?\u2028é\nA:"),
        (["--limit", "1", "--num_fewshot", "2"], "Q: x\nA: y\n\nQ: X\nA: Y\n\nQ: 0?\u2028é\nA:"),
        (["--limit", "0.25", "--system_instruction", "SYS"], "SYSQ: x\nA: y\n\nQ: 0?\u2028é\nA:"),
    ],
)
def test_options_change_the_prompt(task: str, words: list[str], prompt: str) -> None:
    (line,) = lines(task, *words)
    assert line["prompt"] == prompt


def test_chat_turns_are_messages(task: str) -> None:
    (line,) = lines(task, "--limit", "1", "--apply_chat_template")
    assert [message["role"] for message in line["messages"]] == ["user", "assistant", "user"]
    text = json.dumps(line["messages"], ensure_ascii=False)
    assert line["prompt_sha256"] == hashlib.sha256(text.encode()).hexdigest()
    (one,) = lines(task, "--limit", "1", "--apply_chat_template", "--fewshot_as_multiturn", "false")
    assert [message["role"] for message in one["messages"]] == ["user"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gsm8k_cott"], "Did you mean 'gsm8k_cot'"),
        (["TASK", "--fewshot_as_multiturn", "true"], "needs --apply_chat_template"),
        (["TASK", "--fewshot_as_multiturn", "maybe"], "expected true or false"),
        (["TASK", "--limit", "0"], "--limit must be a number above 0"),
        (["TASK", "--model-args", "pretrained=m"], "--model-args says nothing without --model"),
        (["TASK", "--num_fewshot", "3"], "3 exemplars are needed, 2 are available"),
    ],
)
def test_what_cannot_be_asked(task: str, words: list[str], said: str) -> None:
    result = run(*[task if word == "TASK" else word for word in words], "--jsonl")
    assert isinstance(result.exception, UsageError)
    assert said in str(result.exception)


def test_for_people_one_question_is_shown(task: str) -> None:
    text = run(task).stdout
    assert text.count("own document") == 1
    assert "    | Q: x\n    | A: y\n    | \n" in text
    assert "  reference: '0'\n" in text


def test_as_one_object(task: str) -> None:
    found = json.loads(run(task, "--json").stdout)
    assert [line["doc_id"] for line in found["prompts"]] == [0, 1, 2, 3]


def test_the_exemplars_follow_the_seed(tmp_path: Path, task: str) -> None:
    path = tmp_path / "drawn.yaml"
    text = Path(task).read_text(encoding="utf-8").replace("sampler: first_n, ", "")
    path.write_text(text, encoding="utf-8")
    by_seed = {
        seed: [line["prompt"] for line in lines(str(path), "--seed", seed)] for seed in ("1", "2", "0,1,3,1")
    }
    assert by_seed["1"] == by_seed["0,1,3,1"]
    assert by_seed["1"] != by_seed["2"]
