"""Parts of a run, generated apart and joined, are the run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resit.errors import IdentityMismatch, UsageError
from resit.runs.merge import merge
from resit.runs.shards import Shard

TEXT = "text=#### {target} seed {seed}"


@pytest.fixture
def exam(sums: Callable[..., Path]) -> Callable[..., Path]:
    """Writes a task file with `questions` questions, `i + i` for i from 1, and gives its path."""

    def write(name: str = "sums", questions: int = 4, repeats: int = 2) -> Path:
        text = "Question: {{question}}\nAnswer:"
        return sums(name, questions=questions, text=text, more=f"repeats: {repeats}\n")

    return write


@given(st.integers(1, 12), st.integers(0, 60))
def test_shards_divide_the_questions(count: int, questions: int) -> None:
    parts = [list(Shard(index, count).of(range(questions))) for index in range(1, count + 1)]
    assert sorted(position for part in parts for position in part) == list(range(questions))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@given(st.integers(1, 12), st.integers(0, 30), st.integers(0, 30))
def test_growing_moves_no_question_to_another_shard(count: int, before: int, more: int) -> None:
    for index in range(1, count + 1):
        shard = Shard(index, count)
        assert list(shard.of(range(before + more)))[: len(shard.of(range(before)))] == list(
            shard.of(range(before))
        )


@pytest.mark.parametrize("text", ["5/4", "0/4", "1/0", "4", "a/b", "-1/4", "1/4/2", "1.5/4", ""])
def test_what_is_no_shard(text: str) -> None:
    with pytest.raises(UsageError, match="expected i/n with i from 1 to n"):
        Shard.parsed(text)


def test_a_shard_by_name() -> None:
    assert Shard.parsed(" 2/4 ") == Shard(2, 4)


@pytest.fixture
def shards(exam: Callable[..., Path], command: Any, tmp_path: Path) -> Callable[..., list[Path]]:
    """Run the shards of a small exam, and the whole as `tmp_path / "whole"`."""

    def run(count: int = 3, questions: int = 10, repeats: int = 2, tasks: int = 1) -> list[Path]:
        files = [exam(f"sums{number}", questions, repeats) for number in range(tasks)]
        words = ["run", "-M", "scripted", "-a", TEXT, "-t", ",".join(map(str, files))]
        assert command(*words, "-o", tmp_path / "whole").status == 0
        folders = []
        for index in range(1, count + 1):
            folders.append(tmp_path / f"shard{index}")
            done = command(*words, "--shard", f"{index}/{count}", "-o", folders[-1])
            assert done.status == 0, done.err
        return folders

    return run


def same(one: Path, other: Path, *names: str) -> bool:
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in names)


@pytest.mark.parametrize(("count", "questions", "tasks"), [(3, 10, 1), (2, 3, 2), (1, 4, 1)])
def test_merged_shards_are_the_whole_run(
    shards: Any, command: Any, tmp_path: Path, count: int, questions: int, tasks: int
) -> None:
    folders = shards(count, questions, 2, tasks)
    done = command("merge", *reversed(folders), "-o", tmp_path / "merged")
    assert done.status == 0, done.err
    assert same(
        tmp_path / "whole",
        tmp_path / "merged",
        *("results.json", "scores.jsonl", "prompts.jsonl", "generations.jsonl"),
    )
    whole, merged = (json.loads((tmp_path / run / "run.json").read_text()) for run in ("whole", "merged"))
    assert {**merged, "created": whole["created"]} == whole


def test_a_merged_run_can_be_grown(shards: Any, exam: Any, command: Any, tmp_path: Path) -> None:
    folders = shards(2, 6)
    command("merge", *folders, "-o", tmp_path / "merged")
    words = ["run", "-M", "scripted", "-a", TEXT, "-t", exam("sums0", 6, 2), "--repeats", 3]
    assert command(*words, "-o", tmp_path / "whole").status == 0
    grown = command(*words, "-o", tmp_path / "merged")
    assert "12 of 18 samples are on file already" in grown.err
    assert same(tmp_path / "whole", tmp_path / "merged", "results.json")


def test_a_gap_is_refused_and_can_be_filled(shards: Any, exam: Any, command: Any, tmp_path: Path) -> None:
    folders = shards(3, 10)
    refused = command("merge", folders[0], folders[2], "-o", tmp_path / "merged")
    assert refused.status == 2
    assert "of 3 shards these are missing: 2/3" in refused.err
    assert not (tmp_path / "merged").exists()
    done = command("merge", folders[0], folders[2], "--partial", "-o", tmp_path / "merged")
    assert done.status == 0
    assert "2 shards: 7 questions, 14 samples, 6 missing" in done.err
    filled = command(
        *("run", "-M", "scripted", "-a", TEXT, "-t", exam("sums0", 10, 2), "-o", tmp_path / "merged")
    )
    assert "14 of 20 samples are on file already" in filled.err
    whole, merged = (json.loads((tmp_path / run / "results.json").read_text()) for run in ("whole", "merged"))
    assert merged["results"] == whole["results"]


def test_a_shard_that_was_cut_short_is_a_gap(shards: Any, command: Any, tmp_path: Path) -> None:
    folders = shards(2, 6)
    journal = folders[1] / "generations.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    refused = command("merge", *folders, "-o", tmp_path / "merged")
    assert refused.status == 2
    assert "1 samples of sums0 are missing" in refused.err
    assert f"{folders[1]} has 5" in refused.err
    assert [path.name for path in tmp_path.iterdir() if "merged" in path.name] == []


def test_another_limit_is_a_gap(exam: Any, command: Any, tmp_path: Path) -> None:
    words = ["run", "-M", "scripted", "-t", exam("sums", 10, 1)]
    command(*words, "--limit", 6, "--shard", "1/2", "-o", tmp_path / "a")
    command(*words, "--shard", "2/2", "-o", tmp_path / "b")
    refused = command("merge", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "merged")
    assert refused.status == 2
    assert "2 samples of sums are missing" in refused.err


def test_shards_beyond_the_questions_are_refused_and_not_missed(
    exam: Any, command: Any, tmp_path: Path
) -> None:
    words = ["run", "-M", "scripted", "-t", exam("sums", 2, 1)]
    for index in (1, 2):
        command(*words, "--shard", f"{index}/4", "-o", tmp_path / str(index))
    empty = command(*words, "--shard", "3/4", "-o", tmp_path / "3")
    assert (empty.status, "shard 3/4 has no question" in empty.err) == (2, True)
    assert command("merge", tmp_path / "1", tmp_path / "2", "-o", tmp_path / "merged").status == 0


def test_the_same_shard_twice_is_taken_once(shards: Any, command: Any, tmp_path: Path) -> None:
    folders = shards(2, 6)
    shutil.copytree(folders[0], tmp_path / "copy")
    done = command("merge", *folders, tmp_path / "copy", "-o", tmp_path / "merged")
    assert done.status == 0, done.err
    assert same(tmp_path / "whole", tmp_path / "merged", "results.json", "generations.jsonl")


def test_one_sample_with_two_texts_is_refused(shards: Any, command: Any, tmp_path: Path) -> None:
    folders = shards(2, 6)
    shutil.copytree(folders[0], tmp_path / "copy")
    journal = tmp_path / "copy" / "generations.jsonl"
    lines = [json.loads(line) for line in journal.read_bytes().splitlines()]
    lines[3]["text"] += "!"
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    refused = command("merge", *folders, tmp_path / "copy", "-o", tmp_path / "merged")
    assert refused.status == 2
    assert "hold different texts of sums0 document 2, repeat 1" in refused.err


def test_one_question_with_two_prompts_is_refused(shards: Any, command: Any, tmp_path: Path) -> None:
    folders = shards(2, 6)
    shutil.copytree(folders[0], tmp_path / "copy")
    prompts = tmp_path / "copy" / "prompts.jsonl"
    prompts.write_text(
        prompts.read_text(encoding="utf-8").replace("Question: 3", "Asked: 3"), encoding="utf-8"
    )
    refused = command("merge", *folders, tmp_path / "copy", "-o", tmp_path / "merged")
    assert refused.status == IdentityMismatch.exit_status
    assert "asked sums0 document 2 with different prompts" in refused.err


def test_errors_of_a_shard_are_owed_by_the_whole(exam: Any, command: Any, tmp_path: Path) -> None:
    words = ["run", "-M", "scripted", "-t", exam("sums", 6, 1), "--max-error-share", 1]
    for index in (1, 2):
        command(*words, "-a", "error_docs=2;3", "--shard", f"{index}/2", "-o", tmp_path / str(index))
    done = command("merge", tmp_path / "1", tmp_path / "2", "-o", tmp_path / "merged")
    assert done.status == 0
    assert "6 samples, 2 of them errored" in done.err
    assert "4 of 6 samples are on file already" in command(*words, "-o", tmp_path / "merged").err


def test_foreign_folders_are_refused(shards: Any, exam: Any, command: Any, tmp_path: Path) -> None:
    folders = shards(2, 6)
    whole = command("merge", folders[0], tmp_path / "whole", "-o", tmp_path / "merged")
    assert (whole.status, "holds no shard" in whole.err) == (2, True)
    (tmp_path / "empty").mkdir()
    assert "not a run folder" in command("merge", tmp_path / "empty", "-o", tmp_path / "merged").err
    words = ["run", "-M", "scripted", "-a", "text=other", "-t", exam("sums0", 6, 2)]
    command(*words, "--shard", "2/2", "-o", tmp_path / "other")
    other = command("merge", folders[0], tmp_path / "other", "-o", tmp_path / "merged")
    assert other.status == IdentityMismatch.exit_status
    assert "model.text" in other.err
    command(*words[:4], TEXT, *words[5:], "--shard", "2/3", "-o", tmp_path / "third")
    assert "is shard 2/3" in command("merge", folders[0], tmp_path / "third", "-o", tmp_path / "merged").err


@pytest.mark.parametrize(
    ("shard", "said"),
    [
        ({"index": "1"}, "names no shard"),
        ([1, 2], "names no shard"),
        ({"index": 1, "count": 2}, "does not say of what the shard is a part"),
        ({"index": 1, "count": 2, "questions": {"other": 4}}, "does not say of what the shard is a part"),
    ],
)
def test_a_damaged_record_is_named(
    shards: Any, command: Any, tmp_path: Path, shard: object, said: str
) -> None:
    folders = shards(2, 4)
    record = json.loads((folders[0] / "run.json").read_text())
    (folders[0] / "run.json").write_text(json.dumps({**record, "shard": shard}))
    refused = command("merge", *folders, "-o", tmp_path / "merged")
    assert refused.status == 2
    assert said in refused.err


def test_where_nothing_can_be_merged_or_written_it_is_told(shards: Any, command: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to merge"):
        merge([], tmp_path / "merged")
    (tmp_path / "file").write_text("kept", encoding="utf-8")
    refused = command("merge", *shards(2, 4), "-o", tmp_path / "file" / "merged")
    assert (refused.status, "cannot write" in refused.err) == (1, True)
    assert (tmp_path / "file").read_text(encoding="utf-8") == "kept"
    (tmp_path / "made").mkdir()
    assert command("merge", tmp_path / "shard1", tmp_path / "shard2", "-o", tmp_path / "made").status == 0
    assert (tmp_path / "made" / "results.json").exists()


def test_an_existing_folder_is_never_written_into(shards: Any, command: Any, tmp_path: Path) -> None:
    folders = shards(2, 4)
    before = (tmp_path / "whole" / "generations.jsonl").read_bytes()
    refused = command("merge", *folders, "-o", tmp_path / "whole")
    assert (refused.status, "is there already" in refused.err) == (2, True)
    assert (tmp_path / "whole" / "generations.jsonl").read_bytes() == before


def test_the_folder_one_is_in_can_be_filled(
    shards: Any, command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = shards(2, 4)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    done = command("merge", *folders, "-o", ".")
    assert done.status == 0, done.err
    assert same(tmp_path / "whole", here, "generations.jsonl", "results.json")


@pytest.mark.parametrize(("first", "second"), [("1/2", "2/2"), ("1/2", None), (None, "1/2")])
def test_a_folder_stays_what_it_was(
    exam: Any, command: Any, tmp_path: Path, first: str | None, second: str | None
) -> None:
    words = ["run", "-M", "scripted", "-t", exam("sums", 6, 1), "-o", tmp_path / "run"]
    for shard, status in ((first, 0), (second, 2)):
        done = command(*words, *(["--shard", shard] if shard else []))
        assert done.status == status
    assert "this command asks for" in done.err


def test_a_shard_can_be_resumed_and_grown(exam: Any, command: Any, tmp_path: Path) -> None:
    words = ["run", "-M", "scripted", "-t", exam("sums", 9, 1), "--shard", "2/3", "-o", tmp_path / "run"]
    command(*words, "--limit", 4)
    grown = command(*words)
    assert "1 of 3 samples are on file already" in grown.err
    lines = (tmp_path / "run" / "generations.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["doc_id"] for line in lines] == [1, 4, 7]


def test_shards_have_folders_of_their_own_by_default(
    exam: Any, command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for index in (1, 2):
        command("run", "-M", "scripted", "-t", exam("sums", 4, 1), "--shard", f"{index}/2")
    names = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert [name.rpartition("-shard-")[2] for name in names] == ["1-of-2", "2-of-2"]
