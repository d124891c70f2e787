from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from resit.errors import ResitError, UsageError
from resit.models import Model, Setup, create
from resit.records import Message, Request

Ask = Callable[..., Request]


def texts(model: Model, requests: Iterable[Request]) -> dict[int, str]:
    return {answer.doc_id: answer.text for answer in model.generate(requests)}


def test_lm_evals_dummy_answer(ask: Ask) -> None:
    assert texts(create("dummy"), [ask()]) == {0: "lol"}


def test_the_text_is_filled_in(ask: Ask) -> None:
    model = create("scripted", {"text": "{doc_id}/{repeat}/{seed}: {target} {other}"})
    assert texts(model, [ask(doc_id=4, repeat=2, seed=9)]) == {4: "4/2/9: 2 {other}"}


def test_stop_strings_are_cut_and_named(ask: Ask) -> None:
    model = create("scripted", {"text": "The answer is 2.\n\nQ: next"})
    (answer,) = model.generate([ask(stop=("Q:", "\n\n"))])
    assert (answer.text, answer.stop, answer.finish_reason) == ("The answer is 2.", "\n\n", "stop")


def test_answers_from_a_file_by_document_and_repeat(ask: Ask, tmp_path: Path) -> None:
    lines = [
        {"doc_id": 0, "text": "zero"},
        {"doc_id": 1, "texts": ["a", "b"]},
        {"doc_id": 0, "task": "u", "text": "U"},
    ]
    path = tmp_path / "answers.jsonl"
    path.write_bytes(b"\n".join(json.dumps(line).encode() for line in lines) + b"\n\n")
    model = create("scripted", {"file": str(path), "text": "else"})
    requests = [ask(doc_id=0), ask(doc_id=1), ask(doc_id=1, repeat=1), ask(doc_id=0, task="u"), ask(doc_id=9)]
    assert [answer.text for answer in model.generate(requests)] == ["zero", "a", "b", "U", "else"]


@pytest.mark.parametrize(
    "content", ["not json\n", '{"doc_id": 1}\n', '["list"]\n', '{"doc_id": "x", "text": ""}\n']
)
def test_an_ill_formed_file_names_its_line(tmp_path: Path, content: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"doc_id": 0, "text": "ok"}\n' + content, encoding="utf-8")
    with pytest.raises(UsageError, match="line 2"):
        create("scripted", {"file": str(path)})


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        create("scripted", {"file": str(tmp_path / "none.jsonl")})


def test_injected_errors_are_not_answers(ask: Ask) -> None:
    model = create("scripted", {"error_docs": "1;3"})
    answers = list(model.generate([ask(doc_id=i) for i in range(5)]))
    assert [answer.doc_id for answer in answers if answer.error] == [1, 3]
    assert all(answer.finish_reason == "error" and not answer.text for answer in answers if answer.error)


def test_documents_that_fail_are_numbers() -> None:
    with pytest.raises(UsageError, match="error_docs: expected numbers such as 3;5;8, found 'three'"):
        create("scripted", {"error_docs": "three"})


def test_a_fatal_failure_after_some_answers(ask: Ask) -> None:
    stream = create("scripted", {"fatal_after": "2"}).generate(ask(doc_id=i) for i in range(5))
    assert [next(stream).doc_id, next(stream).doc_id] == [0, 1]
    with pytest.raises(ResitError, match="after 2 answers"):
        next(stream)


def test_requests_are_pulled_one_by_one(ask: Ask) -> None:
    pulled = []

    def requests() -> Iterator[Request]:
        for i in range(10):
            pulled.append(i)
            yield ask(doc_id=i)

    next(create("scripted").generate(requests()))
    assert pulled == [0]


def test_delays_overlap(ask: Ask) -> None:
    model = create("scripted", {"delay": "0.2"}, Setup(concurrency=10))
    asked: list[int] = []

    def requests() -> Iterator[Request]:
        for i in range(20):
            asked.append(i)
            yield ask(doc_id=i)

    stream = model.generate(requests())
    assert next(stream).doc_id == 0
    assert len(asked) == 10, "the first answer came while nine others were waiting for theirs"
    assert len(list(stream)) == 19


def test_identity_is_the_script_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"doc_id": 0, "text": "x"}\n', encoding="utf-8")
    same = create("scripted", {"file": str(path), "delay": "1"}).identity()
    assert create("scripted", {"file": str(path)}, Setup(concurrency=3)).identity() == same
    path.write_text('{"doc_id": 0, "text": "y"}\n', encoding="utf-8")
    assert create("scripted", {"file": str(path)}).identity() != same


def test_encode_shows_turns() -> None:
    model = create("scripted")
    assert model.encode("plain").text == "plain"
    assert model.encode((Message("user", "a"), Message("assistant", "b"))).text == "user: a\nassistant: b"
