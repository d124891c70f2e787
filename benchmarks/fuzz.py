"""Feeds every reader of foreign bytes with hostile ones: only Resit's own errors may come out, and no hang.

    python -m benchmarks.fuzz [--minutes 10] [--only tasks,journal,lm-eval,jsonl,inspect,replies] [--seed 0]
                              [--summary benchmarks/results/fuzz.md]

Cases are made by hypothesis from valid files and replies: values are exchanged, dropped and nested, bytes are
flipped, cut out and doubled. Each reader gets so many minutes. What is not Resit's own error is shrunk and
shown, and a case that takes longer than a minute ends the program with the place where it was. Exits with 1
where anything was found.
"""

from __future__ import annotations

import argparse
import faulthandler
import io
import json
import shutil
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from resit.errors import ResitError
from resit.models.failures import Failure
from resit.models.replies import read_reply
from resit.runs.imports import from_inspect, from_jsonl, from_lm_eval
from resit.runs.imports.writer import File, Origin, Part, import_run
from resit.runs.journal import AppendFile, JournalIndex
from resit.tasks import Task, load
from resit.tasks.documents import doc_hash

HANG = 60
"""Seconds; the slowest case that is no hang takes a fraction of one."""
ROUND = 300
"""Cases that are made from one seed."""
CATALOGUE = Path(__file__).parents[1] / "src" / "resit" / "tasks" / "catalogue"
ROWS = [{"question": f"What is {n} + {n}?", "answer": f"Both.\n#### {2 * n}"} for n in range(4)]

hostile = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(
        [-1, 0, 2**31, 2**63, 2**64, -(10**400), 10**400, 0.5, 1e308, float("inf"), float("nan")]
    )
    | st.text(max_size=8)
    | st.sampled_from(
        ["", "\0", "\ud800", "{{", "{% for %}", "{{ x.__class__ }}", "!function a.b", "#### 4", "(", "a\nb"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of everything inside a value of JSON."""
    inside: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, list):
        inside = enumerate(value)
    return [path] * bool(path) + [place for key, item in inside for place in places(item, (*path, key))]


@st.composite
def spoiled(draw: Callable[..., Any], value: Any) -> Any:
    """A value of JSON in which a few parts are others than they should be."""
    value = json.loads(json.dumps(value))
    for _ in range(draw(st.integers(0, 3))):
        known = places(value)
        if not known:
            break
        *above, key = draw(st.sampled_from(known))
        holder = value
        for step in above:
            holder = holder[step]
        match draw(st.sampled_from(["other", "gone", "nested", "twice", "text"])):
            case "other":
                holder[key] = draw(hostile)
            case "gone":
                del holder[key]
            case "nested":
                holder[key] = [holder[key]] if draw(st.booleans()) else {"a": holder[key]}
            case "twice" if isinstance(holder, list):
                holder.insert(key, holder[key])
            case "twice":
                holder[draw(st.text(max_size=5))] = holder[key]
            case "text":
                holder[key] = str(holder[key])
    return value


@st.composite
def damaged(draw: Callable[..., Any], data: bytes) -> bytes:
    """Bytes of which a few are lost, doubled or others."""
    for _ in range(draw(st.integers(0, 2))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 64)))
        new = draw(
            st.binary(max_size=6)
            | st.just(data[start:end] * 2)
            | st.sampled_from(
                [
                    b"\n",
                    b"\r",
                    b"\0",
                    b"[" * 5000,
                    b'{"a":' * 5000,
                    b"\xef\xbb\xbf",
                    b"9" * 5000,
                    b"&a [*a, *a]",
                ]
            )
        )
        data = data[:start] + new + data[end:]
    return data


def lines_of(values: Sequence[Any]) -> bytes:
    """JSON lines; a lone surrogate stays an escape."""
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


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


# A server's replies

BODY = {
    "id": "x",
    "object": "chat.completion",
    "model": "m",
    "created": 1,
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "#### 4", "reasoning_content": "two"},
            "finish_reason": "stop",
        },
        {"index": 1, "text": "#### 5", "finish_reason": "length", "stop_reason": "Q:", "logprobs": None},
    ],
    "usage": {
        "prompt_tokens": 4,
        "completion_tokens": 5,
        "completion_tokens_details": {"reasoning_tokens": 2},
    },
    "error": {"message": "too long", "code": 400, "type": "invalid_request_error"},
}
STREAM = (
    b"".join(
        b"data: "
        + json.dumps({"choices": [{"index": 0, "delta": {"content": part}, "text": part}]}).encode()
        + b"\n\n"
        for part in ("####", " 4")
    )
    + b"data: [DONE]\n\n"
)


@st.composite
def replies(draw: Callable[..., Any]) -> tuple[int, dict[str, str], bytes, int]:
    """A status, headers, a body and the tokens that were allowed."""
    body = draw(
        st.one_of(
            spoiled(BODY).map(lambda body: json.dumps(body).encode()),
            spoiled({k: v for k, v in BODY.items() if k != "error"}).map(
                lambda body: json.dumps(body).encode()
            ),
            st.just(STREAM),
            hostile.map(lambda value: json.dumps(value).encode()),
        ).flatmap(damaged)
    )
    headers = draw(
        st.dictionaries(
            st.sampled_from(
                ["Retry-After", "retry-after-ms", "x-ratelimit-reset", "Content-Type", "Location"]
            ),
            st.text(max_size=12)
            | st.sampled_from(["1e999", "nan", "-5", "Wed, 21 Oct 2099 07:28:00 GMT", "9" * 400]),
            max_size=2,
        )
    )
    return (
        draw(st.sampled_from([200, 200, 200, 201, 204, 301, 400, 401, 404, 413, 422, 429, 500, 503, 529])),
        headers,
        body,
        16,
    )


def targets() -> list[Target]:
    """Every reader."""
    whole = st.sampled_from(task_files())
    return [
        Target("tasks", whole.flatmap(spoiled).map(yaml_of).flatmap(damaged), read_task),
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


@dataclass(slots=True)
class Outcome:
    """What came of a reader."""

    cases: int = 0
    refused: int = 0
    slowest: float = 0.0
    seconds: float = 0.0
    found: str = ""


def fuzz(target: Target, minutes: float, seed: int) -> Outcome:
    """Try cases until the time is over or one of them shows a fault."""
    outcome, began = Outcome(), time.monotonic()
    with tempfile.TemporaryDirectory() as name:

        def one(case: Any) -> None:
            folder = Path(name) / "case"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            faulthandler.dump_traceback_later(HANG, exit=True)
            started = time.monotonic()
            try:
                target.read(folder, case)
            except target.own:
                outcome.refused += 1
            finally:
                faulthandler.cancel_dump_traceback_later()
            outcome.cases += 1
            outcome.slowest = max(outcome.slowest, time.monotonic() - started)

        while not outcome.found and time.monotonic() - began < 60 * minutes:
            rounds = hypothesis.seed(seed)(
                settings(
                    max_examples=ROUND,
                    database=None,
                    deadline=None,
                    suppress_health_check=list(HealthCheck),
                    phases=[Phase.generate, Phase.shrink],
                )(given(target.cases)(one))
            )
            try:
                rounds()
            except Exception:
                outcome.found = traceback.format_exc()
            seed += 1
    outcome.seconds = time.monotonic() - began
    return outcome


def main() -> None:
    """Try all, print, and keep a table."""
    known = targets()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--only", default=",".join(target.name for target in known))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--summary", type=Path)
    asked = parser.parse_args()
    rows = [
        "| reader | minutes | cases | refused in Resit's own words | slowest case, s | faults |",
        "|---|---|---|---|---|---|",
    ]
    bad = False
    for target in known:
        if target.name not in asked.only.split(","):
            continue
        done = fuzz(target, asked.minutes, asked.seed)
        bad |= bool(done.found)
        rows.append(
            f"| {target.name} | {done.seconds / 60:.1f} | {done.cases:,} | {done.refused:,} "
            f"| {done.slowest:.2f} | {1 if done.found else 0} |"
        )
        print(rows[-1], done.found, sep="\n" if done.found else "", flush=True)
    if asked.summary:
        asked.summary.parent.mkdir(parents=True, exist_ok=True)
        asked.summary.write_text("\n".join(rows) + "\n", encoding="utf-8")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
