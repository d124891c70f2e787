from __future__ import annotations

import gzip
import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resit.errors import AssetError, UsageError
from resit.probes import corpus, overlap
from resit.probes.corpus import texts
from resit.probes.ngrams import grams, normalised
from resit.probes.overlap import Scan

QUESTION = (
    "Ada has 12 boxes with 7 pencils each; she gives 9 pencils to Ben. How many pencils does Ada have left?"
)


def naive(text: str, n: int) -> list[str]:
    """The n-grams by the plain definition."""
    words = [word for word in re.split(r"[^a-z0-9]+", text.lower()) if word]
    return [" ".join(words[at : at + n]) for at in range(len(words) - n + 1)]


def scan(question: str, *found: str, n: int = 13) -> overlap.Overlap:
    looking = Scan({"q": question}, n)
    looking.read((f"text {number}", text.encode()) for number, text in enumerate(found))
    return looking.overlaps[0]


WORDY = st.text(alphabet="abAB12 ,.$\n", max_size=60)


@given(WORDY, st.integers(1, 4))
def test_the_ngrams_are_those_of_the_definition(text: str, n: int) -> None:
    found = grams(normalised(text.encode()), n)
    assert [found.words(at).decode() for at in range(len(found.hashes))] == naive(text, n)
    assert len(set(found.hashes.tolist())) == len(set(naive(text, n)))


@given(WORDY, st.lists(WORDY, max_size=6), st.integers(1, 4), st.integers(1, 40))
def test_what_is_found_is_what_the_definition_finds(
    question: str, found: list[str], n: int, block: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlap, "BLOCK", block)
        looked = scan(question, *found, n=n)
    wanted = naive(question, n)
    there = {gram for text in found for gram in naive(text, n)}
    assert looked.grams == len(wanted)
    assert looked.found == {at for at, gram in enumerate(wanted) if gram in there}


def test_case_punctuation_and_curly_quotes_do_not_hide_a_question() -> None:
    disguised = QUESTION.upper().replace(";", " —").replace("12", "“12”").replace(" ", "\u00a0\n ")
    looked = scan(QUESTION, "something else", f"before {disguised} after")
    assert looked.share == 1
    assert looked.first_place == "text 1"
    assert looked.first_words == "ada has 12 boxes with 7 pencils each she gives 9 pencils to"


def test_a_number_that_differs_breaks_the_ngrams_across_it() -> None:
    looked = scan(QUESTION, QUESTION.replace("9 pencils", "8 pencils"))
    assert looked.found == set(), "every 13-gram of this question crosses the number"


def test_no_ngram_spans_two_texts() -> None:
    words = QUESTION.split()
    assert scan(QUESTION, " ".join(words[:12]), " ".join(words[12:])).share == 0


def test_a_question_of_few_words_is_too_short_to_be_looked_for() -> None:
    looked = scan("How many?", "How many?")
    assert (looked.grams, looked.share) == (0, 0)
    assert looked.as_json() == {"question": "q", "ngrams": 0, "found": 0, "share": 0}


def test_ngrams_of_no_words_are_refused() -> None:
    with pytest.raises(UsageError, match="n=0"):
        Scan({"q": QUESTION}, 0)


FORMS = {
    "train.jsonl": json.dumps({"id": 3, "turns": [{"role": "user", "text": QUESTION}]}) + "\n",
    "train.txt": f"Some words first.\n{QUESTION}\nAnd some after.",
    "notes": QUESTION,
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("packed", [False, True])
def test_files_are_read(tmp_path: Path, name: str, packed: bool) -> None:
    file = tmp_path / (f"{name}.gz" if packed else name)
    file.write_bytes(gzip.compress(FORMS[name].encode()) if packed else FORMS[name].encode())
    looking = Scan({"q": QUESTION})
    looking.read(texts(tmp_path))
    assert looking.overlaps[0].share == 1
    assert looking.overlaps[0].first_place.startswith(str(file))


def test_parquet_is_read(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = arrow.table({"text": ["nothing"] * 2000 + [QUESTION], "other": [QUESTION] * 2001})
    parquet.write_table(table, tmp_path / "part.parquet")
    looking = Scan({"q": QUESTION})
    looking.read(texts(tmp_path / "part.parquet", ["text"]))
    assert looking.overlaps[0].first_place.endswith("part.parquet, row 2001")
    with pytest.raises(UsageError, match="no record has a field 'body'"):
        list(texts(tmp_path / "part.parquet", ["body"]))


def test_only_the_named_fields_count(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps({"text": "nothing", "meta": QUESTION}) + "\n", encoding="utf-8")
    for fields, share in (([], 1), (["meta"], 1), (["text"], 0)):
        looking = Scan({"q": QUESTION})
        looking.read(texts(file, fields))
        assert looking.overlaps[0].share == share
    with pytest.raises(UsageError, match="no record has a field 'body'"):
        list(texts(file, ["body"]))


def test_a_question_across_the_pieces_of_a_plain_file_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "_PIECE", 64)
    monkeypatch.setattr(corpus, "_SHARED", 200)
    file = tmp_path / "long.txt"
    file.write_text("filler " * 100 + QUESTION + " filler" * 100, encoding="utf-8")
    looking = Scan({"q": QUESTION})
    looking.read(texts(file))
    assert looking.overlaps[0].share == 1


def test_bad_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(AssetError, match="there is no such file"):
        list(texts(tmp_path / "absent"))
    with pytest.raises(AssetError, match="holds no files"):
        list(texts(tmp_path))
    (tmp_path / "bad.jsonl").write_text('{"text": "x"}\n{oops\n', encoding="utf-8")
    with pytest.raises(AssetError, match=r"bad\.jsonl, line 2: no JSON"):
        list(texts(tmp_path))
    (tmp_path / "bad.jsonl").unlink()
    (tmp_path / "bad.txt.gz").write_bytes(b"no gzip")
    with pytest.raises(AssetError, match="cannot read"):
        list(texts(tmp_path))


def test_real_questions_in_shuffled_text_are_all_found_and_no_others(shared: Path) -> None:
    lines = (shared / "mirror/gsm8k/test.jsonl").read_text(encoding="utf-8").splitlines()
    questions = {str(number): json.loads(line)["question"] for number, line in enumerate(lines)}
    planted = set(random.Random(5).sample(sorted(questions), 40))
    looking = Scan(questions)
    looking.read((name, f"so: {questions[name]}\n".encode()) for name in planted)
    whole = {one.question for one in looking.overlaps if one.share == 1}
    assert planted <= whole
    assert len({one.question for one in looking.overlaps if one.found} - planted) <= 5, "twins in the set"
