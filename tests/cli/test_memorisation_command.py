"""`resit memorisation`, from the command line to its sentences."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from resit.cli import probing
from resit.records import Generation, Passage, Prompt, Request, TokenLikelihoods

SUMS = 40


class Student:
    """Answers sums; with `read`, it has read the seen ones, and answers, recalls and expects them."""

    name = "student"

    def __init__(self, read: bool) -> None:
        self._read = read

    def identity(self) -> dict[str, Any]:
        return {"kind": "student", "read": self._read}

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
        for request in requests:
            question = request.question
            document = question.document
            known = (self._read and "Seen" in document.fields["question"]) or _chance(document.doc_hash) < 0.2
            target = str(question.target)
            text = (target if "rest" in question.task else f"#### {target}") if known else "#### 1234567"
            yield Generation(
                question.task, document.doc_id, document.doc_hash, request.repeat, request.seed, text=text
            )

    def encode(self, prompt: Prompt) -> Any:
        raise NotImplementedError

    def loglikelihoods(
        self, passages: Iterable[Passage], moments: bool = False
    ) -> Iterator[TokenLikelihoods]:
        for passage in passages:
            known = self._read and "Seen" in passage.text
            numbers = [int(number) for number in re.findall(r"number (\d+)", passage.text)]
            in_order = numbers == sorted(numbers)
            words = tuple(passage.text.split())
            base = -1.0 if known and in_order else -2.0 if known else -3.0
            scores = tuple(base + _chance(f"{passage.text}{at}") for at in range(len(words)))
            yield TokenLikelihoods(passage.key, words, scores, (False,) * len(words))

    def close(self) -> None:
        pass

    def __enter__(self) -> Student:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _chance(text: str) -> float:
    return random.Random(hashlib.sha256(text.encode()).digest()).random()


TASK = """\
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {file}}}}}
test_split: test
num_fewshot: 0
doc_to_text: "{text}"
doc_to_target: "{target}"
metric_list: [{{metric: exact_match}}]
resit: {{rules: [{rule}], options: {{gold: whole}}}}
"""


@pytest.fixture
def exam(tmp_path: Path) -> Path:
    """Four tasks: seen and fresh sums, to be answered and to be continued."""
    folder = tmp_path / "tasks"
    folder.mkdir()
    for kind in ("Seen", "Fresh"):
        rows = [
            {"question": f"{kind} sum number {n} : what is {n} and {n} ?", "answer": str(2 * n)}
            for n in range(SUMS)
        ]
        file = folder / f"{kind}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        halves = {"text": "{{question[:14]}}", "target": "{{question[14:]}}", "rule": "recall_rouge_l"}
        whole = {"text": "{{question}}", "target": "{{answer}}", "rule": "robust"}
        for name, form in ((kind.lower(), whole), (f"{kind.lower()}_rest", halves)):
            (folder / f"{name}.yaml").write_text(TASK.format(name=name, file=file, **form), encoding="utf-8")
    return folder


@pytest.fixture
def probe(command, exam: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def run(folder: str, *words: object, read: bool):
        monkeypatch.setattr(probing, "create", lambda kind, args, setup: Student(read))
        return command(
            *("memorisation", "-M", "student", "-o", tmp_path / folder, "--include-path", exam),
            *("--seen", "seen", "--fresh", "fresh", "--completions", "seen_rest,fresh_rest"),
            *("--probes", "gap,completion,likelihood,order", "--shuffles", 3, *words),
        )

    return run


def test_a_model_that_has_read_the_exam_is_flagged_by_every_probe(probe) -> None:
    found = probe("read", "--json", read=True).json
    signs = {sign["probe"]: sign for sign in found["signs"]}
    assert [*signs] == ["gap", "completion", "likelihood", "order"]
    assert all(sign["p_holm"] < 0.05 for sign in signs.values())
    assert found["gap"]["seen_score"] == 1
    assert {one["signal"] for one in found["likelihoods"]} == {
        "per_character",
        "per_token",
        "min_k",
        "zlib_ratio",
    }
    assert found["likelihoods"][0]["separation"]["auc"] == 1
    assert found["order"]["shards"] == SUMS // 5
    shown = probe("read", read=True).out
    assert "4 of 4 probes (gap, completion, likelihood, order) differ in memorisation's direction" in shown


def test_one_that_has_not_is_flagged_by_none(probe) -> None:
    done = probe("unread", read=False)
    assert done.status == 0
    assert "None of 4 probes speaks for memorisation" in done.out
    assert "no proof of its absence" in done.out
    assert "this design can see gaps above" in done.out


def test_a_finished_folder_is_read_again_without_a_model(probe, command, tmp_path: Path) -> None:
    before = probe("read", "--json", read=True).json
    again = command("memorisation", "-o", tmp_path / "read", "--json").json
    assert again == before
    assert command("memorisation", "-o", tmp_path / "read", "--json", "--confidence", 0.9).json["alpha"] == (
        pytest.approx(0.1)
    )


def test_what_is_on_file_is_not_asked_again(probe, tmp_path: Path) -> None:
    probe("read", read=True)
    kept = (tmp_path / "read" / "likelihoods.jsonl").read_bytes()
    assert f"log-probabilities of {120 - 40} of {120 - 40}" not in probe("read", read=True).err
    assert (tmp_path / "read" / "likelihoods.jsonl").read_bytes() == kept


def test_a_reference_model_has_a_signal_of_its_own(command, exam: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(probing, "create", lambda kind, args, setup: Student(kind == "student"))
    found = command(
        *("memorisation", "-M", "student", "--reference-model", "other", "-o", tmp_path / "run"),
        *("--include-path", exam, "--seen", "seen", "--fresh", "fresh", "--probes", "likelihood", "--json"),
    ).json
    ratio = next(one for one in found["likelihoods"] if one["signal"] == "reference_ratio")
    assert ratio["difference"] > 0.1
    assert ratio["p_greater"] < 1e-6
    assert found["signs"][0]["p_value"] == ratio["p_greater"], "it speaks for the likelihoods"


def test_the_template_tasks_can_be_ones_own(probe, exam: Path, tmp_path: Path) -> None:
    for name, kind in (("mine", "Seen"), ("varied", "Fresh")):
        rows = [
            {
                "question": f"{kind} sum number {n} : what is {n} and {n} ?",
                "answer": str(2 * n),
                "template": n,
            }
            for n in range(SUMS)
        ]
        file = exam / f"{name}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        whole = {"text": "{{question}}", "target": "{{answer}}", "rule": "robust"}
        (exam / f"{name}.yaml").write_text(TASK.format(name=name, file=file, **whole), encoding="utf-8")
    found = probe(
        "own", "--templates", "mine,varied", "--probes", "templates,likelihood", "--json", read=True
    ).json
    assert (found["templates"]["seen"], found["templates"]["fresh"]) == ("mine", "varied")
    assert found["templates"]["n_first"] == SUMS
    paired = [one for one in found["likelihoods"] if one["paired_by"]]
    assert paired
    assert all(one["p_greater"] < 1e-6 for one in paired)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--probes", "gap,smell"), "there is no probe 'smell'"),
        (("--completions", "seen"), "expected SEEN,FRESH"),
        (("--shard-rows", 2), "--shuffles 3: --shard-rows 2 allows 1"),
        (("--templates", "seen"), "expected ORIGINALS,VARIANTS"),
        (("--reference-args", "x=1"), "has no effect without --reference-model"),
        (("--seen", "unheard"), "unheard"),
    ],
)
def test_bad_options_are_refused(probe, words: tuple[str, ...], said: str) -> None:
    done = probe("x", *words, read=True)
    assert done.status == 2
    assert said in done.err


def test_a_folder_is_needed_and_must_be_one_of_ours(command, tmp_path: Path) -> None:
    assert "--output-path" in command("memorisation").err
    refused = command("memorisation", "-o", tmp_path)
    assert (refused.status, "holds no memorisation.json" in refused.err) == (2, True)


def test_what_cannot_be_measured_is_named(command, exam: Path, tmp_path: Path) -> None:
    done = command(
        *("memorisation", "-M", "scripted", "-a", "text=#### {target}", "-o", tmp_path / "run"),
        *("--include-path", exam, "--seen", "seen", "--fresh", "fresh", "--probes", "gap,completion,order"),
    )
    assert done.status == 0
    assert "Not measured: order: scripted gives no log-probabilities of texts." in done.out
    assert "Not measured: completion: no completion task is known for seen" in done.out


def test_a_folder_that_cannot_be_is_told(probe) -> None:
    done = probe("tasks/Seen.jsonl/below", read=False)
    assert "cannot write" in done.err
    assert "unexpected" not in done.err
