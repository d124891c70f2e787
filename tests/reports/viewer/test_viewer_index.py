"""The index says what a plain reading of the files says, whatever happened to them."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resit import jsonl
from resit.records import SampleScore, Verdict
from resit.reports.page.rows import side_of
from resit.reports.scores import score_line
from resit.reports.viewer import tail
from resit.reports.viewer.counting import gathered
from resit.reports.viewer.files import RunFiles
from resit.reports.viewer.index import RunIndex, Snapshot
from resit.reports.viewer.sides import Sides
from resit.runs.journal import JournalIndex, to_line

from .conftest import generation

TEXTS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["a\nb\\n", '"quoted"', "\u2028\x85\x00\x1b[31m", "\ud800 alone", "é" * 9, "</script>", "🍐"]
    ),
)
SAMPLES = st.builds(
    lambda number, repeat, text, reason, error: to_line(
        generation(number, repeat, text, finish_reason=reason, error=error)
    ),
    st.integers(0, 3),
    st.integers(0, 2),
    TEXTS,
    st.sampled_from(["stop", "length"]),
    st.sampled_from([None, None, "503"]),
)
_KEY = b'{"task":"fruit","doc_id":1,"doc_hash":"x",'
GARBAGE = st.sampled_from(
    [
        b"",
        b"   ",
        b"{",
        b"[1]",
        b"null",
        b'{"task": "fruit"}',
        _KEY + b'"repeat":-1}',
        _KEY + b'"repeat":true}',
        _KEY + b'"repeat":1,"text":5}',
        _KEY.replace(b'"fruit"', b'["a"]') + b'"repeat":1}',
        b"\xff\xfe{}",
    ]
)
LINES = st.lists(st.one_of(SAMPLES.map(jsonl.encode), GARBAGE), max_size=25)


def index_of(folder: Path) -> RunIndex:
    return RunIndex(RunFiles(folder.resolve()))


def read(taken: Snapshot) -> dict[tuple[str, str, int], tuple[Any, ...]]:
    """By sample, what the index says of it."""
    return {
        (taken.tasks[q], taken.doc_hashes[q], repeat): (place, characters, errored, truncated)
        for q, repeat, place, characters, errored, truncated in zip(
            *(
                column.tolist()
                for column in (
                    taken.question,
                    taken.repeat,
                    taken.place,
                    taken.characters,
                    taken.errored,
                    taken.truncated,
                )
            ),
            strict=True,
        )
    }


def plain(path: Path) -> dict[tuple[str, str, int], tuple[Any, ...]]:
    """The same from the journal's own index."""
    index = JournalIndex(path)
    data = path.read_bytes()
    found = {}
    for task, doc_hash in {*index._offsets, *index._errored}:
        with index.reader() as reader:
            places = index.offsets(task, doc_hash)
            for place, sample in zip(places, reader.samples(places), strict=True):
                assert data[place : place + 1] == b"{"
                flags = sample.error is not None, sample.finish_reason == "length"
                found[task, doc_hash, sample.repeat] = (place, len(sample.text), *flags)
    return found


@given(lines=LINES, cut=st.integers(0, 400))
@settings(max_examples=150)
def test_the_index_is_a_plain_reading_cut_at_any_byte(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], cut: int
) -> None:
    folder = tmp_path_factory.mktemp("run")
    data = b"".join(line + b"\n" for line in lines)
    journal = folder / "generations.jsonl"
    journal.write_bytes(data[: max(0, len(data) - cut)])
    taken = index_of(folder).refresh()
    assert read(taken) == plain(journal)
    assert len(taken.problems) + taken.more_problems == len(JournalIndex(journal).problems)


@given(lines=LINES, steps=st.lists(st.integers(1, 300), min_size=1, max_size=12))
@settings(max_examples=100)
def test_an_index_that_follows_a_growing_file_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], steps: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    data = b"".join(line + b"\n" for line in lines)
    journal, index, done = folder / "generations.jsonl", index_of(folder), 0
    journal.touch()
    for step in [*steps, len(data)]:
        with journal.open("ab") as file:
            file.write(data[done : done + step])
        done += step
        taken = index.refresh()
        assert read(taken) == plain(journal)


def test_small_blocks_and_long_lines_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "BLOCK", 64)
    journal = tmp_path / "generations.jsonl"
    samples = [generation(n, 0, "x" * (37 * n)) for n in range(40)]
    journal.write_bytes(b"".join(jsonl.encode(to_line(sample)) + b"\n" for sample in samples))
    assert read(index_of(tmp_path).refresh()) == plain(journal)


def test_a_line_beyond_the_limit_is_passed_over_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "BLOCK", 64)
    monkeypatch.setattr(tail, "LONGEST", 1024)
    samples = [generation(0, 0, "short"), generation(1, 0, "x" * 9000), generation(2, 0, "short")]
    lines = [jsonl.encode(to_line(sample)) + b"\n" for sample in samples]
    (tmp_path / "generations.jsonl").write_bytes(b"".join(lines))
    taken = index_of(tmp_path).refresh()
    assert [taken.doc_ids[q] for q in taken.question] == [0, 2]
    assert taken.problems == (
        f"the line at byte {len(lines[0])} is {len(lines[1])} bytes long and is not shown",
    )


def test_an_index_can_be_read_in_parts(tmp_path: Path) -> None:
    samples = [generation(n, 0, "x" * 50_000) for n in range(100)]
    (tmp_path / "generations.jsonl").write_bytes(b"".join(jsonl.encode(to_line(s)) + b"\n" for s in samples))
    index = index_of(tmp_path)
    parts = [index.refresh(0)]
    while parts[-1].read < 1:
        parts.append(index.refresh(0))
    assert len(parts) >= 4
    assert [part.samples for part in parts] == sorted(part.samples for part in parts)
    assert parts[0].samples < parts[-1].samples == 100


def test_who_waits_for_an_index_has_it_while_another_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "BLOCK", 4096)
    samples = [generation(n, 0, "x" * 4000) for n in range(400)]
    (tmp_path / "generations.jsonl").write_bytes(b"".join(jsonl.encode(to_line(s)) + b"\n" for s in samples))
    index = index_of(tmp_path)
    read_on = index._read_on

    def slowly() -> bool:
        time.sleep(0.01)
        return read_on()

    monkeypatch.setattr(index, "_read_on", slowly)
    reader = threading.Thread(target=lambda: index.refresh(behind=True))
    reader.start()
    looks = 0
    while index.refresh(0).read < 1:
        looks += 1
    reader.join()
    assert looks > 20


@pytest.mark.parametrize("same_length", [True, False])
def test_a_journal_that_was_written_anew_is_read_anew(tmp_path: Path, same_length: bool) -> None:
    journal, index = tmp_path / "generations.jsonl", index_of(tmp_path)
    journal.write_bytes(jsonl.encode(to_line(generation(0, 0, "one"))) + b"\n")
    first = index.refresh()
    other = generation(0, 0, "two" if same_length else "")
    journal.write_bytes(jsonl.encode(to_line(other)) + b"\n")
    second = index.refresh()
    assert second.epoch > first.epoch
    assert read(second) == plain(journal)


def score(number: int, repeat: int = 0, right: bool = True, **more: Any) -> SampleScore:
    rules = {
        "strict-match": Verdict("strict-match", "18" if right else None, float(right)),
        "robust": Verdict("robust", "18", 1.0, (0, 2), "answer phrase"),
    }
    verdicts = {} if more.get("error") else rules
    return SampleScore("fruit", number, f"{number:064x}", repeat, verdicts, **more)


def write_scores(folder: Path, scores: list[SampleScore]) -> None:
    part = folder / "part"
    part.write_bytes(b"".join(jsonl.encode(score_line(one)) + b"\n" for one in scores))
    part.replace(folder / "scores.jsonl")


def test_scores_that_are_replaced_are_read_anew(tmp_path: Path) -> None:
    (tmp_path / "generations.jsonl").write_bytes(jsonl.encode(to_line(generation(0, 0, "18"))) + b"\n")
    index = index_of(tmp_path)
    assert not index.refresh().scored.any()
    for right in (False, True, False):
        write_scores(tmp_path, [score(0, right=right)])
        taken = index.refresh()
        assert taken.scored.all()
        assert taken.verdicts["strict-match"].score.tolist() == [float(right)]
    (tmp_path / "scores.jsonl").unlink()
    assert not index.refresh().scored.any()


def test_a_score_from_before_an_error_was_healed_does_not_count(tmp_path: Path) -> None:
    journal = tmp_path / "generations.jsonl"
    journal.write_bytes(jsonl.encode(to_line(generation(0, 0, "", error="503"))) + b"\n")
    write_scores(tmp_path, [score(0, error="503")])
    index = index_of(tmp_path)
    taken = index.refresh()
    assert (taken.errored.tolist(), taken.scored.tolist()) == ([True], [True])
    with journal.open("ab") as file:
        file.write(jsonl.encode(to_line(generation(0, 0, "18"))) + b"\n")
    taken = index.refresh()
    assert (taken.errored.tolist(), taken.scored.tolist()) == ([False], [False])


def test_verdicts_made_for_another_journal_are_dropped(tmp_path: Path) -> None:
    journal, index = tmp_path / "generations.jsonl", index_of(tmp_path)
    journal.write_bytes(jsonl.encode(to_line(generation(0, 0, "18"))) + b"\n")
    epoch = index.refresh().epoch
    line = jsonl.encode(score_line(score(0)))
    journal.write_bytes(jsonl.encode(to_line(generation(0, 0, "no"))) + b"\n")
    index.refresh()
    index.add_graded([line], epoch)
    assert not index.refresh().scored.any()
    index.add_graded([line], index.refresh().epoch)
    assert index.refresh().scored.all()


def test_a_run_that_is_gone_says_so(tmp_path: Path) -> None:
    journal, index = tmp_path / "generations.jsonl", index_of(tmp_path)
    journal.write_bytes(jsonl.encode(to_line(generation(0, 0, "18"))) + b"\n")
    taken = index.refresh()
    os.unlink(journal)
    with pytest.raises(FileNotFoundError):
        index.refresh()
    assert taken.journal is not None
    assert json.loads(taken.journal.read(0, 10_000))["text"] == "18"


VERDICT = st.tuples(
    st.sampled_from([None, "3", "3.0", "$3", "4", "x" * 300]), st.sampled_from([0.0, 1.0, 0.5])
)
VERDICTS = st.fixed_dictionaries({"a": VERDICT, "b": VERDICT})


@given(
    samples=st.lists(
        st.tuples(
            st.integers(0, 2),
            VERDICTS,
            st.sampled_from([None, None, None, "503"]),
            st.booleans(),
            st.integers(0, 30),
        ),
        max_size=20,
    )
)
@settings(max_examples=100)
def test_counts_are_those_of_a_report(
    tmp_path_factory: pytest.TempPathFactory, samples: list[tuple[Any, ...]]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    repeats: Counter[int] = Counter()
    scores, made = [], []
    for number, verdicts, error, truncated, length in samples:
        given_ = {rule: Verdict(rule, text, right) for rule, (text, right) in verdicts.items()}
        key = "fruit", number, f"{number:064x}", repeats[number]
        scores.append(SampleScore(*key, {} if error else given_, truncated, error))
        reason: Any = "length" if truncated else "stop"
        made.append(generation(number, repeats[number], "x" * length, finish_reason=reason, error=error))
        repeats[number] += 1
    (folder / "generations.jsonl").write_bytes(b"".join(jsonl.encode(to_line(one)) + b"\n" for one in made))
    write_scores(folder, scores)
    sides = Sides(index_of(folder).refresh())
    for q, doc_id in enumerate(sides.snapshot.doc_ids):
        own = [score for score in scores if score.doc_id == doc_id]
        lengths = [len(one.text) for one in made if one.doc_id == doc_id and one.error is None]
        expected = side_of(own, ("a", "b"), lengths)
        rules = [sides.rule(rule) for rule in ("a", "b")]
        shown = [text if text is None or len(text) < 200 else f"{text[:120]}…" for text in expected["answer"]]
        assert sides.measured[q] == expected["samples"]
        assert (sides.errored[q], sides.truncated[q]) == (expected["errored"], expected["truncated"])
        assert sides.disagree[q] == expected["disagree"]
        assert [rule.right[q] for rule in rules] == expected["right"]
        assert [rule.unread[q] for rule in rules] == expected["unread"]
        assert [sides.snapshot.answers[rule.answer[q]] for rule in rules] == shown
        assert [rule.votes[q] for rule in rules] == expected["votes"]
        assert round(float(sides.length[q])) == expected["length"]
    assert np.all(sides.measured <= sides.samples)
    measured = [
        (len(one.text), score.verdicts["a"].correct, one.doc_id)
        for one, score in zip(made, scores, strict=True)
        if one.error is None
    ]
    drawn = gathered("fruit", [sides], ("a", "b"), "a").lengths[0]
    assert Counter((n, score, sides.snapshot.doc_ids[question]) for n, score, question in drawn) == Counter(
        measured
    )
