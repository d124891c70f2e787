from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from resit.errors import AssetError, UsageError
from resit.models import create
from resit.records import Request

Ask = Callable[..., Request]


def line(doc_id: int, repeat: int, finish_reason: str, **fields: object) -> dict[str, object]:
    return {
        "task": "t",
        "doc_id": doc_id,
        "doc_hash": f"hash{doc_id}",
        "repeat": repeat,
        "seed": 5,
        "finish_reason": finish_reason,
        **fields,
    }


LINES = [
    line(0, 0, "stop", text="two Q: more"),
    line(0, 0, "stop", text="written later"),
    line(0, 1, "length", text="long", completion_tokens=7, a_field_of_tomorrow=1),
    line(1, 0, "error", error="lost"),
    line(1, 0, "stop", text="healed"),
]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "generations.jsonl"
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in LINES) + b'{"task": "t", "torn')
    return path


def test_answers_again(ask: Ask, journal: Path) -> None:
    model = create("replay", {"file": str(journal.parent)})
    requests = [ask(doc_id=0, stop=("Q:",)), ask(doc_id=0, repeat=1), ask(doc_id=1)]
    cut, long, healed = model.generate(requests)
    assert (cut.text, cut.stop) == ("two ", "Q:")
    assert (long.text, long.finish_reason, long.completion_tokens) == ("long", "length", 7)
    assert (healed.text, healed.error) == ("healed", None)


def test_documents_are_found_by_content_and_keep_the_asked_number(ask: Ask, journal: Path) -> None:
    from dataclasses import replace

    request = ask(doc_id=0)
    moved = replace(request.question.document, doc_id=41)
    (answer,) = create("replay", {"file": str(journal)}).generate(
        [replace(request, question=replace(request.question, document=moved))]
    )
    assert (answer.doc_id, answer.text) == (41, "two Q: more")


def test_what_is_not_there_is_an_error_not_an_answer(ask: Ask, journal: Path) -> None:
    (answer,) = create("replay", {"file": str(journal)}).generate([ask(doc_id=7)])
    assert answer.error is not None
    assert "t 7" in answer.error


def test_identity_follows_the_answers(journal: Path) -> None:
    before = create("replay", {"file": str(journal)}).identity()
    journal.write_bytes(journal.read_bytes().replace(b"healed", b"other!"))
    assert create("replay", {"file": str(journal)}).identity() != before


def test_missing_and_corrupt_journals(tmp_path: Path) -> None:
    with pytest.raises(AssetError, match="cannot be read"):
        create("replay", {"file": str(tmp_path / "none.jsonl")})
    (tmp_path / "bad.jsonl").write_bytes(b"nonsense\n")
    with pytest.raises(UsageError, match="line 1"):
        create("replay", {"file": str(tmp_path / "bad.jsonl")})
    (tmp_path / "other.jsonl").write_bytes(b'{"some": "object"}\n')
    with pytest.raises(UsageError, match="not a journal"):
        create("replay", {"file": str(tmp_path / "other.jsonl")})


def test_a_journal_cannot_encode(journal: Path) -> None:
    with pytest.raises(UsageError, match="cannot tell"):
        create("replay", {"file": str(journal)}).encode("x")
