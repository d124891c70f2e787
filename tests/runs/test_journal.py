"""The journal keeps every finished sample, whatever is cut, torn, damaged or full."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resit import jsonl
from resit.errors import ResitError, UsageError
from resit.records import Generation, Insertion
from resit.runs.journal import AppendFile, JournalIndex, from_line, to_line


def sample(doc: int, repeat: int = 0, text: str = "#### 1", error: str | None = None) -> Generation:
    return Generation("t", doc, f"hash{doc}", repeat, seed=doc, text=text, error=error)


def write(path: Path, *samples: Generation) -> None:
    file = AppendFile(path)
    for generation in samples:
        file.append(to_line(generation))
    file.close()


def stored(path: Path, doc: int) -> list[Generation]:
    index = JournalIndex(path)
    with index.reader() as reader:
        return reader.samples(index.offsets("t", f"hash{doc}"))


any_text = st.text(st.characters(exclude_categories=()), max_size=40)  # lone surrogates and NUL included


@given(
    text=any_text,
    stop=st.none() | any_text,
    seconds=st.none() | st.floats(0, 1e6),
    tokens=st.none() | st.integers(0, 10**9),
    insertions=st.none()
    | st.lists(st.builds(Insertion, st.integers(0), any_text, any_text, st.none() | any_text)),
)
def test_a_line_gives_back_the_sample_it_was_made_from(
    text: str,
    stop: str | None,
    seconds: float | None,
    tokens: int | None,
    insertions: list[Insertion] | None,
) -> None:
    generation = Generation(
        "t",
        3,
        "h",
        2,
        7,
        text,
        "length",
        stop,
        prompt_tokens=tokens,
        completion_tokens=tokens,
        seconds=seconds,
    )
    if insertions is not None:
        generation = replace(generation, insertions=tuple(insertions), uncalculated=len(insertions))
    raw = jsonl.encode(to_line(generation))
    assert b"\n" not in raw
    assert from_line(jsonl.decode(raw)) == generation


def test_every_cut_keeps_the_whole_lines_and_takes_new_ones(tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    write(whole, *(sample(doc, text=f"line {doc} \u2028 é\n🦆 #### {doc}") for doc in range(4)))
    data = whole.read_bytes()
    ends = [i + 1 for i, byte in enumerate(data) if byte == 10]
    for cut in range(len(data) + 1):
        path = tmp_path / f"{cut}.jsonl"
        path.write_bytes(data[:cut])
        kept = sum(end <= cut for end in ends)
        assert len(JournalIndex(path)) == kept
        write(path, sample(9))
        index = JournalIndex(path)
        assert len(index) == kept + 1
        assert index.problems == []
        assert path.read_bytes().startswith(data[: ends[kept - 1]] if kept else b"")


def test_damage_in_the_middle_is_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    write(path, sample(0), sample(1), sample(2))
    lines = path.read_bytes().split(b"\n")
    lines[1] = b"\x00\xff" + lines[1][5:]
    path.write_bytes(b"\n".join(lines))
    index = JournalIndex(path)
    assert [index.finished("t", f"hash{doc}") for doc in range(3)] == [{0}, set(), {0}]
    assert len(index.problems) == 1
    assert "line 2" in index.problems[0]
    assert "owed again" in index.problems[0]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"[1]", "expected a JSON object, found list"),
        (b'{"task": "t"}', "no 'doc_id'"),
        (b'{"task": "t", "doc_id": 1, "doc_hash": "h", "repeat": "0"}', "'repeat' must be a whole number"),
        (b'{"task": "t", "doc_id": 1, "doc_hash": "h", "repeat": -1}', "from 0 up, found -1"),
        (b'{"task": "t", "doc_id": 1, "doc_hash": "h", "repeat": true}', "from 0 up, found True"),
        (b"[" * 100_000, "recursion"),
    ],
)
def test_a_line_that_is_no_sample_is_a_problem_not_a_crash(
    tmp_path: Path, line: bytes, complaint: str
) -> None:
    path = tmp_path / "g.jsonl"
    path.write_bytes(line + b"\n")
    assert complaint in JournalIndex(path).problems[0]


def test_a_retried_error_is_healed_and_a_later_duplicate_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    write(
        path,
        sample(0, error="reset"),
        sample(0, text="first"),
        sample(0, text="second"),
        sample(1, error="x"),
    )
    index = JournalIndex(path)
    assert index.finished("t", "hash0") == {0}
    assert index.finished("t", "hash1") == frozenset()
    assert [generation.text for generation in stored(path, 0)] == ["first"]
    assert [generation.error for generation in stored(path, 1)] == ["x"]


def test_an_error_without_words_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    write(path, sample(0, error=""))
    index = JournalIndex(path)
    assert (index.finished("t", "hash0"), index.count("t")) == (frozenset(), 0), "owed again, not finished"


def test_samples_come_by_rising_repeat(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    write(path, *(sample(0, repeat, text=str(repeat)) for repeat in (3, 0, 2, 1)))
    assert [generation.text for generation in stored(path, 0)] == ["0", "1", "2", "3"]


def test_samples_are_counted_by_task(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    write(path, sample(0), sample(0, 1), sample(1, error="HTTP 500"))
    index = JournalIndex(path)
    assert (index.count("t"), index.count("other"), len(index)) == (2, 0, 2)


def test_a_journal_that_is_gone_is_told(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    write(path, sample(0))
    index = JournalIndex(path)
    path.write_bytes(b"")
    with index.reader() as reader:
        assert reader.samples([]) == []
        with pytest.raises(ResitError, match="is empty or gone, but had samples a moment ago"):
            reader.samples(index.offsets("t", "hash0"))
    assert len(JournalIndex(tmp_path / "none.jsonl")) == 0


def test_a_disk_that_keeps_nothing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = AppendFile(tmp_path / "g.jsonl")

    def fails(number: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("resit.runs.journal.SYNC_SECONDS", -1.0)  # at once
    monkeypatch.setattr("os.fsync", fails)
    with pytest.raises(ResitError, match="Input/output error"):
        file.append(to_line(sample(0)))
    monkeypatch.undo()
    file.close()
    assert len(JournalIndex(tmp_path / "g.jsonl")) == 1


def test_fields_of_a_later_format_are_ignored() -> None:
    line = {**to_line(sample(1)), "logprobs": [1, 2]}
    assert from_line(line) == sample(1)


@pytest.mark.parametrize("insertions", [3, [3], [{}], [{"at": 1}], {"at": 1}])
def test_misshapen_insertions_are_a_problem_of_their_line(insertions: object) -> None:
    line = {**to_line(sample(1)), "insertions": insertions}
    with pytest.raises((ValueError, TypeError)):
        from_line(line)


@settings(max_examples=50)
@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_an_exception(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("bytes") / "g.jsonl"
    path.write_bytes(data)
    index = JournalIndex(path)
    assert len(index) + len(index.problems) <= data.count(b"\n")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a small tmpfs: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(file: AppendFile) -> None:
    """Write until the disk is full."""
    for doc in range(1, 1000):
        file.append(to_line(sample(doc, text="x" * 1000)))


def test_a_full_disk_stops_clearly_and_damages_nothing(small_disk: Path) -> None:
    path = small_disk / "g.jsonl"
    file = AppendFile(path)
    file.append(to_line(sample(0, text="x" * 1000)))
    with pytest.raises(ResitError, match="No space left") as caught:
        fill(file)
    file.close()
    assert "intact" in caught.value.hint
    assert path.read_bytes().endswith(b"\n")
    index = JournalIndex(path)
    assert len(index) > 10
    assert index.problems == []


def test_a_read_only_folder_is_a_clear_error(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    (folder / "g.jsonl").mkdir()  # no permission would not stop root
    with pytest.raises(ResitError, match="cannot write"):
        AppendFile(folder / "g.jsonl")


def test_replacing_a_file_leaves_no_parts_when_it_fails(tmp_path: Path) -> None:
    target = tmp_path / "taken"
    target.mkdir()
    (target / "inside").touch()
    with pytest.raises(ResitError, match="cannot write"):
        jsonl.write_atomic(target, b"{}")
    assert os.listdir(tmp_path) == ["taken"]


def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    jsonl.write_atomic(pipe, b"through")
    assert reader.communicate(timeout=20)[0] == b"through"
    assert pipe.is_fifo()


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link, target = tmp_path / "link", tmp_path / "elsewhere/file"
    link.symlink_to(target)
    for content in (b"new", b"newer"):
        jsonl.write_atomic(link, content)
        assert (link.is_symlink(), target.read_bytes()) == (True, content)


def test_two_writers_of_one_number_do_not_take_each_others_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Containers that share a cache have processes of the same number."""
    target, other = tmp_path / "note", threading.Thread(target=lambda: jsonl.write_atomic(target, b"theirs"))

    def meanwhile(_: int) -> None:
        if not other.ident:
            other.start()
            other.join()

    monkeypatch.setattr("os.fsync", meanwhile)
    jsonl.write_atomic(target, b"ours")
    assert target.read_bytes() == b"ours"
    assert os.listdir(tmp_path) == ["note"]


def test_what_killed_writers_left_is_swept_after_a_day(tmp_path: Path) -> None:
    old, new, others = (tmp_path / name for name in (".n[1].0.part", ".n[1].1.part", ".m.2.part"))
    for part in (old, new, others):
        part.touch()
    for part in (old, others):
        os.utime(part, (time.time() - 2 * 86400,) * 2)
    jsonl.write_atomic(tmp_path / "n[1]", b"{}")
    assert sorted(os.listdir(tmp_path)) == [".m.2.part", ".n[1].1.part", "n[1]"]


def test_encoding_does_not_depend_on_the_locale(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    write(path, sample(0, text="La respuesta es 45 \u02c8 km, 答案是 36 🤗"))
    assert "答案是 36 🤗" in path.read_bytes().decode("utf-8")
    assert json.loads(path.read_bytes())["text"] == stored(path, 0)[0].text


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"doc": {"image": {"bytes": b"\xff\xd8"}}}, r"doc\.image\.bytes: bytes has no form in JSON"),
        ({"doc": {"tags": ["a", {"b": b"\xff"}]}}, r"doc\.tags\.1\.b: bytes"),
    ],
)
def test_what_json_has_no_form_for_is_named(value: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        jsonl.encode(value)
