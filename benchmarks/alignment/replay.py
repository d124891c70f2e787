"""Both programs read the same responses: published ones, or the tasks' own references said in sentences."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from resit import assets, grading, prompts, tasks
from resit.cli.validation import SENTENCES, sentences_of
from resit.prompts import prompt_sha256
from resit.records import Generation, Question

from .comparing import Sample, Side, compare

SIDE = Path(__file__).with_name("_lm_eval.py")
GSM8K = ("openai/gsm8k", "main", "test")
EVERY = 3
"""Of the sentences every third says a number that is off by one."""


@dataclass(frozen=True, slots=True)
class Heard:
    """Responses to every question of a task, in the documents' order."""

    name: str
    source: str
    texts: list[list[str]]
    licence: str = ""


@dataclass(frozen=True, slots=True)
class Replay:
    """A task, its questions, and the responses that are replayed."""

    task: tasks.Task
    questions: list[Question]
    heard: list[Heard] = field(default_factory=list)


def aligned_with_lm_eval() -> list[str]:
    """The catalogue's tasks that follow a file of lm-eval's wheel and are called aligned."""
    return [
        task.name
        for task in tasks.load(list(tasks.index()))
        if task.config.resit.status == "aligned" and _file(task)
    ]


def _file(task: tasks.Task) -> str:
    reference = task.config.resit.reference
    return reference.file if reference and "lm-eval 0.4.13" in reference.pinned else ""


def run(
    lm_eval: Path, names: Sequence[str], logs: Path | None, scratch: Path
) -> Iterator[tuple[str, Any, Any]]:
    """(task, responses, findings), each as soon as lm-eval has read the responses."""
    planned = [_planned(task, logs) for task in tasks.load(list(names))]
    jobs = [_job(replay, scratch) for replay in planned]
    asked = scratch / "jobs.json"
    asked.write_text(json.dumps(jobs), encoding="utf-8")
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1", "LMEVAL_LOG_LEVEL": "ERROR"}
    with subprocess.Popen([str(lm_eval), str(SIDE), str(asked)], env=offline, stdout=subprocess.PIPE) as side:
        for replay, job in zip(planned, jobs, strict=True):
            for heard, files in zip(replay.heard, job["replays"], strict=True):
                _await(side, Path(files["found"]))
                theirs = _theirs(Path(files["found"]), heard)
                yield replay.task.name, heard, compare(_ours(replay, heard, theirs), theirs)


def _await(side: subprocess.Popen[bytes], found: Path) -> None:
    """Read lm-eval's words until it says that a file is written."""
    assert side.stdout is not None
    for line in side.stdout:
        if line.decode(errors="replace").strip() == f"written: {found}":
            return
    sys.exit(f"lm-eval ended with status {side.wait()} before {found.name} was written")


def _planned(task: tasks.Task, logs: Path | None) -> Replay:
    questions = list(prompts.questions(task))
    columns = _published(logs) if logs else {}
    if columns and _asks_gsm8k(task):
        return Replay(task, questions, list(_logged(task, questions, columns)))
    return Replay(task, questions, [_said(task, questions)])


def _asks_gsm8k(task: tasks.Task) -> bool:
    return task.config.dataset_path in ("openai/gsm8k", "madrylab/gsm8k-platinum")


def _published(logs: Path) -> dict[str, tuple[dict[str, Any], list[str]]]:
    """By log: what is known of it, and its responses in GSM8K test's order."""
    known = json.loads((logs / "INDEX.json").read_text(encoding="utf-8"))
    found = {}
    for file in sorted(logs.glob("*.jsonl")):
        with file.open(encoding="utf-8") as lines:
            found[file.stem] = (known[file.stem], [json.loads(line)["response"] for line in lines])
    return found


def _logged(
    task: tasks.Task, questions: list[Question], columns: Mapping[str, tuple[dict[str, Any], list[str]]]
) -> Iterator[Heard]:
    place = {str(row["question"]): i for i, row in enumerate(assets.rows(*GSM8K))}
    rows = [place[str(question.document.fields["question"])] for question in questions]
    if task.repeats > 1:  # the logs take turns
        every = [texts for _, texts in columns.values()]
        turns = [[every[r % len(every)][row] for r in range(task.repeats)] for row in rows]
        sources = "; ".join(dict.fromkeys(known["source"] for known, _ in columns.values()))
        yield Heard(f"{len(every)} published logs in turn", sources, turns, "MIT")
        return
    for name, (known, texts) in columns.items():
        yield Heard(name, known["source"], [[texts[row]] for row in rows], known["licence"])


def _said(task: tasks.Task, questions: list[Question]) -> Heard:
    """The references said in sentences, every third of them off by one."""
    sentences = (*SENTENCES, *sentences_of(task.rules))
    texts = []
    for i, question in enumerate(questions):
        target = question.target if isinstance(question.target, str) else question.target[0]
        gold = target.rpartition("####")[2].strip()
        said = gold if i % EVERY else f"{gold}1"
        texts.append([sentences[i % len(sentences)].replace("{}", said)] * task.repeats)
    return Heard("references in sentences", "made from the references, every third of them altered", texts)


def _job(replay: Replay, scratch: Path) -> dict[str, Any]:
    task, config = replay.task, replay.task.config
    wanted = {config.asked_split, config.shot_split} - {None, ""}
    splits = {}
    for split in sorted(filter(None, wanted)):
        file = scratch / f"{task.name}.{split}.jsonl"
        rows = assets.rows(str(config.dataset_path), config.dataset_name, split)
        file.write_text("".join(json.dumps(dict(row)) + "\n" for row in rows), encoding="utf-8")
        splits[split] = str(file)
    replays = []
    for i, heard in enumerate(replay.heard):
        said, found = (scratch / f"{task.name}.{i}.{kind}.json" for kind in ("responses", "found"))
        said.write_text(json.dumps(heard.texts), encoding="utf-8")
        replays.append({"responses": str(said), "found": str(found)})
    return {"file": _file(task), "splits": splits, "replays": replays}


def _theirs(file: Path, heard: Heard) -> Side:
    return {
        line["doc_id"]: Sample(
            line["prompt"], line["target"], json.dumps(heard.texts[line["doc_id"]]),
            {rule: (str(answer), right) for rule, (answer, right) in line["verdicts"].items()},
        )
        for line in json.loads(file.read_text(encoding="utf-8"))
    }  # fmt: skip


def _ours(replay: Replay, heard: Heard, theirs: Side) -> Side:
    rules = list(next(iter(theirs.values())).verdicts)
    pairs = [
        (question, _generations(question, texts))
        for question, texts in zip(replay.questions, heard.texts, strict=True)
    ]
    scores = grading.score_task(iter(pairs), replay.task.rules)
    return {
        question.document.doc_id: Sample(
            prompt_sha256(question.prompt), str(question.target), json.dumps([g.text for g in generations]),
            {rule: (str(score.answers[rule]), score.metrics[f"exact_match,{rule}"]) for rule in rules},
        )
        for (question, generations), score in zip(pairs, scores, strict=True)
    }  # fmt: skip


def _generations(question: Question, texts: Sequence[str]) -> list[Generation]:
    document = question.document
    return [
        Generation(question.task, document.doc_id, document.doc_hash, repeat, 0, text=text)
        for repeat, text in enumerate(texts)
    ]
