"""`resit probe loglikelihood`, from its files to its figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from resit.cli import likelihoods
from resit.records import Passage, TokenLikelihoods

Command = Callable[..., Any]


class Reader:
    """Every character is a token of log-probability -1, a vowel the likeliest; texts with `!` fail."""

    name = "reader"

    def __init__(self) -> None:
        self.passages: list[Passage] = []

    def loglikelihoods(
        self, passages: Iterable[Passage], moments: bool = False
    ) -> Iterator[TokenLikelihoods]:
        self.passages = list(passages)
        for passage in reversed(self.passages):
            if "!" in passage.text:
                yield TokenLikelihoods(passage.key, error="too loud")
                continue
            vowels = tuple(character in "aeiou" for character in passage.text)
            yield TokenLikelihoods(passage.key, tuple(passage.text), (-1.0,) * len(vowels), vowels)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Reader:
    found = Reader()
    monkeypatch.setattr(likelihoods, "create", lambda *_: found)
    return found


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.jsonl"
    lines = [{"text": "abce"}, {"key": "after", "text": " é", "context": "So"}, {"text": "no!"}]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n", encoding="utf-8")
    return path


def test_one_object_has_every_text_in_its_order_and_the_sums(
    command: Command, reader: Reader, texts: Path
) -> None:
    found = command("probe", "loglikelihood", texts, "--json").json
    assert [line["key"] for line in found["texts"]] == ["1", "after", "3"]
    first = found["texts"][0]
    assert (first["total"], first["tokens"], first["per_token"], first["likeliest"]) == (-4.0, 4, -1.0, 0.5)
    assert found["texts"][1]["characters"] == 2
    assert found["texts"][2] == {"key": "3", "error": "too loud"}
    assert (found["measured"], found["errored"], found["total"], found["tokens"]) == (2, 1, -6.0, 6)
    assert reader.passages[1] == Passage("after", " é", "So")


def test_the_object_is_the_same_whatever_the_terminals_encoding(
    command: Command, reader: Reader, tmp_path: Path
) -> None:
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"key": "après", "text": "abc"}\n', encoding="utf-8")
    outcome = command("probe", "loglikelihood", texts, "--json")
    assert outcome.out.isascii()
    assert outcome.json["texts"][0]["key"] == "après"


def test_lines_come_as_they_finish_with_their_tokens(command: Command, reader: Reader, texts: Path) -> None:
    outcome = command("probe", "loglikelihood", texts, "--jsonl", "--tokens")
    lines = [json.loads(line) for line in outcome.out.splitlines()]
    assert [line["key"] for line in lines] == ["3", "after", "1"]
    assert lines[2]["pieces"] == ["a", "b", "c", "e"]
    assert lines[2]["greedy"] == [True, False, False, True]


def test_the_table(command: Command, reader: Reader, texts: Path) -> None:
    outcome = command("probe", "loglikelihood", texts)
    assert outcome.status == 0
    assert "50.0%" in outcome.out
    assert "too loud" in outcome.out
    assert "all 2: 6 tokens, -6.00 nats in total, -1.0000 a token, -1.0000 a character" in outcome.out
    assert "1 could not be measured" in outcome.out


def test_a_tasks_documents(command: Command, reader: Reader, tmp_path: Path) -> None:
    rows = [{"question": "How many?", "answer": "Two.\n#### 2"}, {"question": "And?", "answer": "#### 3"}]
    for split in ("test", "train"):
        lines = [json.dumps({**row, "question": f"{split} {row['question']}"}) for row in rows]
        (tmp_path / f"{split}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    files = {split: str(tmp_path / f"{split}.jsonl") for split in ("test", "train")}
    (tmp_path / "own.yaml").write_text(
        json.dumps(
            {
                "task": "own",
                "dataset_path": "json",
                "dataset_kwargs": {"data_files": files},
                "test_split": "test",
                "doc_to_text": "{{question}}",
                "doc_to_target": "{{answer}}",
                "output_type": "generate_until",
            }
        ),
        encoding="utf-8",
    )
    task = ("--task", "own", "--include-path", tmp_path)
    outcome = command(
        "probe", "loglikelihood", *task, "--parts", "question,whole,solution", "-L", 1, "--json"
    )
    assert outcome.status == 0, outcome.err
    assert reader.passages == [
        Passage("own/0/question", "test How many?"),
        Passage("own/0/whole", "test How many?\nTwo.\n#### 2"),
        Passage("own/0/solution", "Two.\n#### 2", "test How many?\n"),
    ]
    command("probe", "loglikelihood", *task, "--split", "train", "--json")
    assert [p.text for p in reader.passages][::2] == ["train How many?", "train And?"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "expected an object"),
        ("[1]", "expected an object with a text"),
        ('{"text": 5}', "expected an object with a text"),
        ('{"text": "a", "context": 1}', "both strings"),
        ('{"text": "a", "key": "x"}\n{"text": "b", "key": "x"}', "line 2: the key 'x' is there twice"),
        ("", "expected texts, found none"),
    ],
)
def test_ill_formed_files_say_where(command: Command, tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "t.jsonl").write_text(line, encoding="utf-8")
    outcome = command("probe", "loglikelihood", tmp_path / "t.jsonl")
    assert outcome.status == 2
    assert message in outcome.err


def test_what_contradicts_is_refused(command: Command, texts: Path) -> None:
    assert "either a file of texts or --task" in command("probe", "loglikelihood").err
    assert "no effect without --task" in command("probe", "loglikelihood", texts, "--split", "train").err
    assert "--parts: expected some of" in command("probe", "loglikelihood", "-t", "gsm8k", "--parts", "x").err


def test_a_model_without_probabilities_is_refused(command: Command, texts: Path) -> None:
    outcome = command("probe", "loglikelihood", texts, "-M", "scripted")
    assert (outcome.status, outcome.out) == (2, "")
    assert "gives no log-probabilities" in outcome.err


def test_failing_altogether_is_an_error(command: Command, reader: Reader, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"text": "ah!"}', encoding="utf-8")
    outcome = command("probe", "loglikelihood", tmp_path / "t.jsonl", "--jsonl")
    assert outcome.status == 1
    assert "no text could be measured: too loud" in outcome.err
