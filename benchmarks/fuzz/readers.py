"""The readers of foreign bytes, and cases for each."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from resit.errors import ResitError
from resit.models.failures import Failure
from resit.models.replies import read_reply
from resit.runs.imports import from_inspect, from_jsonl, from_lm_eval
from resit.runs.imports.writer import File, Origin, Part, import_run
from resit.runs.journal import AppendFile, JournalIndex
from resit.runs.study import cells, read_study
from resit.tasks import Task, load
from resit.tasks.documents import doc_hash

from .replies import replies
from .spoiling import damaged, lines_of, spoiled

CATALOGUE = Path(__file__).parents[2] / "src" / "resit" / "tasks" / "catalogue"
ROWS = [{"question": f"What is {n} + {n}?", "answer": f"Both.\n#### {2 * n}"} for n in range(4)]


@dataclass(frozen=True, slots=True)
class Target:
    """A reader, cases for it, and the errors that are its own."""

    name: str
    cases: st.SearchStrategy[Any]
    read: Callable[[Path, Any], object]
    own: tuple[type[Exception], ...] = (ResitError,)


def reader(*_: object, **__: object) -> list[dict[str, Any]]:
    """Rows of every data set."""
    return [dict(row) for row in ROWS]


# Task files


def task_files() -> list[dict[str, Any]]:
    """The catalogue's tasks that are whole without another file."""
    found = []
    for path in sorted(CATALOGUE.glob("gs*.yaml")):
        text = path.read_text(encoding="utf-8")
        if "!function" not in text and "include:" not in text:
            value = yaml.safe_load(text)
            if isinstance(value, dict) and "task" in value:
                found.append(value)
    return found


def read_task(folder: Path, case: bytes) -> None:
    path = folder / "task.yaml"
    path.write_bytes(case)
    for task in load([str(path)], reader=reader):
        list(task.documents())


def yaml_of(value: Any) -> bytes:
    return yaml.dump(value, allow_unicode=False).encode()


# Studies

STUDY = {
    "limit": 200,
    "gen_kwargs": {"temperature": 0.2, "until": ["Q:"]},
    "tasks": ["gsm8k_cot", {"task": "gsm8k", "name": "zero-shot", "num_fewshot": 0}],
    "models": [
        {"name": "smol", "model": "llamacpp", "model_args": {"pretrained": "smollm2-135m"}},
        {"name": "served", "model": "openai-chat", "model_args": "model=${NAME}", "batch_size": 16},
    ],
}


def read_settings(folder: Path, case: bytes) -> None:
    """A study's runs, as far as its file decides them."""
    path = folder / "study.yaml"
    path.write_bytes(case)
    cells(path, read_study(path))


# Journals

SAMPLE = {
    "task": "sums",
    "doc_id": 0,
    "doc_hash": "h0",
    "repeat": 0,
    "seed": 7,
    "text": "#### 4",
    "finish_reason": "stop",
    "stop": "Q:",
    "prompt_tokens": 12,
    "completion_tokens": 5,
    "seconds": 0.25,
    "attempts": 1,
    "model": "m",
}


def read_journal(folder: Path, case: bytes) -> None:
    """As a run reads it that is taken up again."""
    path = folder / "generations.jsonl"
    path.write_bytes(case)
    index = JournalIndex(path)
    with index.reader() as samples:
        for task, doc_hash in list(index._offsets) + list(index._errored):
            index.finished(task, doc_hash)
            samples.samples(index.offsets(task, doc_hash))
    file = AppendFile(path)
    file.append({**SAMPLE, "repeat": 99})
    file.close()
    assert 99 in JournalIndex(path).finished("sums", "h0"), "what is appended is on file"


# What other programs wrote

ASKED = "Question: What is 1 + 1?\nAnswer:"
LM_EVAL_LINE = {
    "doc_id": 1,
    "doc": ROWS[1],
    "target": ROWS[1]["answer"],
    "filter": "strict-match",
    "metrics": ["exact_match"],
    "arguments": {"gen_args_0": {"arg_0": ASKED, "arg_1": {"until": ["Question:"], "do_sample": False}}},
    "resps": [["#### 2", "#### 3"]],
    "filtered_resps": ["2"],
    "exact_match": 1.0,
    "doc_hash": doc_hash(ROWS[1]),
    "prompt_hash": "b",
    "target_hash": "c",
}
OUR_LINE = {
    "doc_id": 1,
    "repeat": 0,
    "response": "#### 2",
    "finish_reason": "stop",
    "prompt": ASKED,
    "seed": 3,
    "prompt_tokens": 4,
    "completion_tokens": 5,
}
MANY = {
    "doc_id": 2,
    "responses": ["#### 4", "5"],
    "messages": [{"role": "user", "content": "What is 2 + 2?"}],
}
HEADER = {
    "version": 2,
    "status": "success",
    "eval": {"task": "sums", "model": "m", "config": {"epochs": 1}},
    "plan": {"config": {"temperature": 0.0}},
}
INSPECT_SAMPLE = {
    "id": 1,
    "epoch": 1,
    "input": "What is 1 + 1?",
    "target": "2",
    "attachments": {"f" * 32: "What is 1 + 1?"},
    "messages": [
        {"role": "user", "content": "What is 1 + 1?"},
        {
            "role": "assistant",
            "content": [{"type": "reasoning", "reasoning": "x"}, {"type": "text", "text": "#### 2"}],
        },
    ],
    "output": {
        "model": "m",
        "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
        "choices": [{"message": {"role": "assistant", "content": "#### 2"}, "stop_reason": "stop"}],
    },
    "limit": None,
    "error": None,
}
INSPECT = {
    "header.json": HEADER,
    "samples/1_epoch_1.json": INSPECT_SAMPLE,
    "samples/2_epoch_1.json": {**INSPECT_SAMPLE, "id": 2, "input": "What is 2 + 2?"},
}


def sums() -> Task:
    """The task that all of them answered."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sums.yaml"
        path.write_text(
            "task: sums\ndataset_path: json\ntest_split: test\noutput_type: generate_until\n"
            "dataset_kwargs: {data_files: {test: sums.jsonl}}\nrepeats: 2\n"
            'doc_to_text: "Question: {{question}}\\nAnswer:"\ndoc_to_target: "{{answer}}"\n',
            encoding="utf-8",
        )
        (task,) = load([str(path)], reader=reader)
        list(task.documents())
        return task


def importing(module: Any, suffix: str) -> Callable[[Path, bytes], None]:
    """Reads a file of a format and makes a run folder of it."""
    task = sums()

    def read(folder: Path, case: bytes) -> None:
        path = folder / f"theirs.{suffix}"
        path.write_bytes(case)
        if module is from_inspect:
            from_inspect.log_of(path)
        given = from_lm_eval.generation_kwargs(path) if module is from_lm_eval else None
        import_run(
            folder / "run", Origin("fuzz", "m"), [Part(task, [File(path, module.entries(path))], given)]
        )

    return read


def zipped(members: dict[str, Any]) -> bytes:
    """An .eval log."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members.items():
            archive.writestr(zipfile.ZipInfo(name.replace("\0", "")[:99]), json.dumps(value))
    return buffer.getvalue()


def targets() -> list[Target]:
    """Every reader."""
    whole = st.sampled_from(task_files())
    return [
        Target("tasks", whole.flatmap(spoiled).map(yaml_of).flatmap(damaged), read_task),
        Target("studies", spoiled(STUDY).map(yaml_of).flatmap(damaged), read_settings),
        Target(
            "journal",
            st.lists(spoiled(SAMPLE), max_size=4).map(lines_of).flatmap(damaged),
            read_journal,
        ),
        Target(
            "lm-eval",
            st.lists(spoiled(LM_EVAL_LINE), max_size=3).map(lines_of).flatmap(damaged),
            importing(from_lm_eval, "jsonl"),
        ),
        Target(
            "jsonl",
            st.lists(spoiled(OUR_LINE) | spoiled(MANY), max_size=3).map(lines_of).flatmap(damaged),
            importing(from_jsonl, "jsonl"),
        ),
        Target("inspect", spoiled(INSPECT).map(zipped).flatmap(damaged), importing(from_inspect, "eval")),
        Target("replies", replies(), lambda folder, case: read_reply(*case), (ResitError, Failure)),
    ]
