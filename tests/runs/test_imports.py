"""What other programs generated becomes an ordinary run, or nothing does and the unusable lines are named."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from resit.cli.scoring import score_folder
from resit.errors import UsageError
from resit.records import Generation, Message
from resit.runs.folder import RunFolder
from resit.runs.imports import from_inspect, from_jsonl, from_lm_eval
from resit.runs.imports.writer import File, Origin, Part, import_run
from resit.tasks import Task, load

FOREIGN = Path(__file__).parent / "foreign"
TIME = "2026-11-30T10-38-58.490896"
LM_EVAL = FOREIGN / "lm_eval" / f"samples_sums_{TIME}.jsonl"
LM_EVAL_CHAT = FOREIGN / "lm_eval_chat" / f"samples_sums_{TIME}.jsonl"
ROWS = [
    {"question": "What is 1 + 1?", "answer": "One and one are two – deux.\n#### 2"},
    {"question": "What is 600 + 600?", "answer": "#### 1,200"},
    {"question": "What is 3 + 3?", "answer": "#### 6"},
    {"question": "What is 3 + 3?", "answer": "#### 6"},
]


@pytest.fixture
def sums(tmp_path: Path) -> Task:
    """The task of the logs under `foreign`: four questions, the last two the same."""
    data = tmp_path / "sums.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    path = tmp_path / "sums.yaml"
    path.write_text((FOREIGN / "sums.yaml").read_text("utf-8").replace("SUMS", str(data)), encoding="utf-8")
    return load([str(path)])[0]


Import = Callable[..., RunFolder]


@pytest.fixture
def imported(tmp_path: Path, sums: Task) -> Import:
    """Imports files of one format into `tmp_path / "run"`."""

    def make(reader: Any, *paths: Path, generated_with: dict[str, Any] | None = None) -> RunFolder:
        files = [File(path, reader.entries(path)) for path in paths]
        return import_run(tmp_path / "run", Origin("test", "theirs"), [Part(sums, files, generated_with)])

    return make


def test_the_folder_one_is_in_can_be_filled_and_stays_the_same_folder(
    sums: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    before = here.stat().st_ino
    files = [File(LM_EVAL, from_lm_eval.entries(LM_EVAL))]
    folder = import_run(Path("."), Origin("test", "theirs"), [Part(sums, files, None)])
    assert RunFolder.existing(Path(".")).record() == folder.record()
    assert here.stat().st_ino == before, "a shell that is in it would find it empty"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.endswith(".part")) == []


def samples(folder: RunFolder) -> list[Generation]:
    index = folder.index()
    assert not index.problems
    with index.reader() as reader:
        return [
            sample
            for question in folder.questions()
            for sample in reader.samples(index.offsets(question.task, question.document.doc_hash))
        ]


def write(path: Path, *lines: Any) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


# lm-eval


def test_lm_evals_samples_score_as_lm_eval_scored_them(imported: Import, sums: Task) -> None:
    folder = imported(from_lm_eval, LM_EVAL, generated_with=from_lm_eval.generation_kwargs(LM_EVAL))
    results = score_folder(folder, {"sums": sums.rules})
    theirs = json.loads(LM_EVAL.with_name(f"results_{TIME}.json").read_text("utf-8"))
    for key, value in theirs["results"]["sums"].items():
        if "," in key:
            assert results["results"]["sums"][key] == pytest.approx(value), key
    assert [(s.doc_id, s.repeat, s.text) for s in samples(folder)][:3] == [
        (0, 0, " So 2.\n#### 2"),
        (0, 1, " It is é 1,200"),
        (1, 0, "#### 1200"),
    ]
    assert samples(folder)[-1].text == "#### 6 \u2028 x", "a line separator inside a text ends no line"
    assert {sample.finish_reason for sample in samples(folder)} == {"unknown"}


def test_the_same_row_twice_is_two_documents(imported: Import) -> None:
    folder = imported(from_lm_eval, LM_EVAL)
    third, fourth = [question.document.doc_hash for question in folder.questions()][2:]
    assert fourth == f"{third}#2"


def test_prompts_that_are_the_tasks_own_give_the_tasks_own_protocol(imported: Import, sums: Task) -> None:
    kwargs = from_lm_eval.generation_kwargs(LM_EVAL)
    assert kwargs == {"until": ["Question:"], "do_sample": True, "temperature": 0.7, "max_gen_toks": 32}
    record = imported(from_lm_eval, LM_EVAL, generated_with=kwargs).record() or {}
    about = record["tasks"]["sums"]
    assert about["protocol"]["doc_to_text"] == sums.config.doc_to_text
    assert about["protocol"]["sampling"]["temperature"] == 0.7
    assert about["num_fewshot"] == 0


def test_a_chat_is_recognised_and_its_turns_kept(imported: Import) -> None:
    folder = imported(from_lm_eval, LM_EVAL_CHAT, generated_with=from_lm_eval.generation_kwargs(LM_EVAL_CHAT))
    first = next(folder.questions())
    assert first.prompt == (
        Message("system", "Be brief."),
        Message("user", "Question: What is 1 + 1?\nAnswer:"),
    )
    protocol = (folder.record() or {})["tasks"]["sums"]["protocol"]
    assert (protocol["chat"], protocol["system_instruction"]) == ({"fewshot_as_multiturn": True}, "Be brief.")


def test_other_prompts_give_a_protocol_that_says_so(imported: Import, tmp_path: Path) -> None:
    text = LM_EVAL.read_text("utf-8").replace("Answer:", "A:")
    other = tmp_path / LM_EVAL.name
    other.write_text(text, encoding="utf-8")
    record = (
        imported(from_lm_eval, other, generated_with=from_lm_eval.generation_kwargs(other)).record() or {}
    )
    assert record["tasks"]["sums"]["protocol"]["imported_from"] == "test"
    assert record["tasks"]["sums"]["num_fewshot"] is None


def test_a_mislabelled_doc_id_is_set_right_by_content(imported: Import, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in LM_EVAL.read_text("utf-8").split("\n")[:2]]
    lines[0]["doc_id"], lines[1]["doc_id"] = 1, 0
    folder = imported(from_lm_eval, write(tmp_path / "samples.jsonl", *lines))
    assert [(s.doc_id, s.text) for s in samples(folder) if s.repeat == 0] == [
        (0, " So 2.\n#### 2"),
        (1, "#### 1200"),
    ]


def test_the_shape_of_older_versions_is_read(imported: Import, tmp_path: Path) -> None:
    line = json.loads(LM_EVAL.read_text("utf-8").split("\n")[0])
    old = {"doc_id": 0, "doc": line["doc"], "target": line["target"], "resps": line["resps"]}
    old["arguments"] = [[line["arguments"]["gen_args_0"]["arg_0"], {"until": ["Question:"]}]]
    path = write(tmp_path / "old.jsonl", old)
    assert from_lm_eval.generation_kwargs(path) == {"until": ["Question:"]}
    assert next(imported(from_lm_eval, path).questions()).prompt == "Question: What is 1 + 1?\nAnswer:"


@pytest.mark.parametrize("arguments", [None, [], {"gen_args_0": "?"}, {"gen_args_0": {"arg_0": [["?"]]}}])
def test_a_line_that_does_not_say_what_was_asked_is_taken_for_its_answers(
    imported: Import, tmp_path: Path, arguments: Any
) -> None:
    path = write(tmp_path / "silent.jsonl", {**LINE, "arguments": arguments})
    assert from_lm_eval.generation_kwargs(path) is None
    folder = imported(from_lm_eval, path)
    assert len(samples(folder)) == len(LINE["resps"][0])
    protocol = (folder.record() or {})["tasks"]["sums"]["protocol"]
    assert (protocol["prompts_sha256"], protocol["generated_with"]) == ("unknown", "unknown")


def test_a_file_of_damaged_lines_tells_no_settings_and_names_them(imported: Import, tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_text("{\n[]\n", encoding="utf-8")
    assert from_lm_eval.generation_kwargs(path) is None
    with pytest.raises(UsageError) as error:
        imported(from_lm_eval, path)
    assert "samples.jsonl, line 1: expected a JSON object" in str(error.value)
    assert "samples.jsonl, line 2: expected a JSON object" in str(error.value)


def test_a_line_without_what_lm_eval_writes_is_named(imported: Import, tmp_path: Path) -> None:
    line = {key: value for key, value in LINE.items() if key != "resps"}
    with pytest.raises(UsageError, match=r"line 1: expected 'resps', as lm-eval's --log_samples writes it"):
        imported(from_lm_eval, write(tmp_path / "samples.jsonl", line))


LINE = json.loads(LM_EVAL.read_text("utf-8").split("\n")[0])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"resps": None}, "resps: expected [[text, …]]"),
        ({"resps": [["a", None]]}, "resps[0][1]: expected text, found null"),
        ({"resps": [["a"], ["b"]]}, "resps: expected [[text, …]]"),
        ({"doc_id": -1}, "doc_id: expected a whole number from 0 up, found -1"),
        ({"doc": []}, "doc: expected an object, found list"),
        ({"doc_hash": "0" * 64}, "doc_hash is 000"),
        ({"doc": {"question": "?"}, "doc_hash": None}, "doc_hash is None, but that of its doc is"),
        (
            {"doc": {"question": "?"}, "doc_hash": from_lm_eval.doc_hash({"question": "?"})},
            "its document (doc_hash ",
        ),
        ({"arguments": {"gen_args_0": {"arg_0": ["{"]}}}, "arguments: the chat's messages are not JSON"),
        ({"arguments": {"gen_args_0": {"arg_0": ["[]"]}}}, "messages: expected a list of chat turns"),
    ],
)
def test_a_line_that_lm_eval_did_not_write_is_named(
    imported: Import, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError) as error:
        imported(from_lm_eval, write(tmp_path / "samples.jsonl", {**LINE, **change}))
    assert f"samples.jsonl, line 1: {said}" in str(error.value)


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (LINE, "document 0 stands on line 1 too, for filter 'strict-match'"),
        (
            {**LINE, "filter": "flexible-extract", "resps": [["x", "y"]]},
            "document 0 has other responses than on line 1",
        ),
        ({**LINE, "doc_id": 7}, "repeat 0 of document 0 is there twice, first: line 1"),
    ],
)
def test_lines_that_contradict_each_other_are_named(
    imported: Import, tmp_path: Path, second: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError) as error:
        imported(from_lm_eval, write(tmp_path / "samples.jsonl", LINE, second))
    assert f"samples.jsonl, line 2: {said}" in str(error.value)


@pytest.mark.parametrize(
    ("name", "task"),
    [
        (f"samples_gsm8k_{TIME}.jsonl", "gsm8k"),
        (f"samples_gsm8k_cot_{TIME}.jsonl", "gsm8k_cot"),
        ("samples_mgsm_direct_de_2025-01-02T03-04-05.678901.jsonl", "mgsm_direct_de"),
        ("samples.jsonl", None),
    ],
)
def test_the_file_name_tells_the_task(name: str, task: str | None) -> None:
    assert from_lm_eval.task_name(Path(name)) == task


# JSON lines


def test_one_or_many_responses_a_document(imported: Import, sums: Task, tmp_path: Path) -> None:
    path = write(
        tmp_path / "answers.jsonl",
        {"doc_id": 1, "responses": ["#### 1200", "no"], "finish_reason": ["stop", "length"]},
        {"doc_id": 0, "response": "#### 2", "completion_tokens": 5, "seconds": 1, "stop": "Question:"},
        {"doc_id": 0, "response": "#### 3", "repeat": 1},
        {"doc_id": 3, "error": "503"},
    )
    folder = imported(from_jsonl, path)
    assert [(s.doc_id, s.repeat, s.text, s.finish_reason) for s in samples(folder)] == [
        (1, 0, "#### 1200", "stop"),
        (1, 1, "no", "length"),
        (0, 0, "#### 2", "unknown"),
        (0, 1, "#### 3", "unknown"),
        (3, 0, "", "error"),
    ]
    results = score_folder(folder, {"sums": sums.rules})
    counts = results["resit"]["tasks"]["sums"]["samples"]
    assert (counts["scored"], counts["errored"], counts["truncated"]) == (4, 1, 1)
    assert results["results"]["sums"]["exact_match,strict-match"] == 1.0
    record = folder.record() or {}
    assert record["identity"]["model"]["kind"] == "imported"
    assert record["tasks"]["sums"]["protocol"]["prompts_sha256"] == "unknown"


def test_what_the_file_says_has_failed_is_no_answer(imported: Import, sums: Task, tmp_path: Path) -> None:
    path = write(
        tmp_path / "answers.jsonl",
        {"doc_id": 0, "response": "cut of", "finish_reason": "error"},
        {"doc_id": 1, "responses": ["#### 1200", "no"], "finish_reason": ["stop", "error"]},
        {"doc_id": 2, "response": "#### 7", "error": ""},
    )
    folder = imported(from_jsonl, path)
    assert [(s.doc_id, s.finish_reason, bool(s.error)) for s in samples(folder)] == [
        (0, "error", True),
        (1, "stop", False),
        (1, "error", True),
        (2, "unknown", False),
    ]
    assert samples(folder)[3].error is None
    counts = score_folder(folder, {"sums": sums.rules})["resit"]["tasks"]["sums"]["samples"]
    assert (counts["scored"], counts["errored"]) == (2, 2)


def test_a_last_line_without_its_end_and_a_byte_order_mark_are_read(imported: Import, tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"doc_id": 0, "response": "a"}\r\n\n{"doc_id": 1, "response": "b\\u0000"}')
    assert [sample.text for sample in samples(imported(from_jsonl, path))] == ["a", "b\0"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"response": "x"}, "expected doc_id (or doc_hash), found only 'response'"),
        ({}, "expected doc_id (or doc_hash), found only nothing"),
        ({"doc_id": "1", "response": "x"}, "doc_id: expected a whole number from 0 up, found '1'"),
        ({"doc_id": True, "response": "x"}, "doc_id: expected a whole number from 0 up, found True"),
        ({"doc_id": 4, "response": "x"}, "doc_id 4 is not among the 4 documents of sums"),
        ({"doc_id": 0}, "expected either response (text) or responses (a list of texts)"),
        ({"doc_id": 0, "response": "x", "responses": ["x"]}, "expected either response"),
        ({"doc_id": 0, "response": None}, "response: expected text, found null"),
        ({"doc_id": 0, "responses": []}, "responses: expected a list of texts, found []"),
        ({"doc_id": 0, "responses": ["x", 3]}, "responses[1]: expected text, found int"),
        ({"doc_id": 0, "response": "x", "repeat": -1}, "repeat: expected a whole number"),
        (
            {"doc_id": 0, "response": "x", "finish_reason": "eos"},
            "finish_reason: expected one of stop, length",
        ),
        ({"doc_id": 0, "responses": ["x"], "finish_reason": []}, "finish_reason: expected one of"),
        ({"doc_id": 0, "response": "x", "error": 5}, "error: expected text, found int"),
        (
            {"doc_id": 0, "response": "x", "messages": [{"role": "tool", "content": ""}]},
            "messages: expected turns",
        ),
        (
            {
                "doc_id": 0,
                "response": "x",
                "answer": "One and one are two – deux.\n#### 2",
                "question": "What",
            },
            None,
        ),
        (
            {"doc_id": 1, "response": "x", "answer": "One and one are two – deux.\n#### 2"},
            "its answer is that of document 0, not of 1",
        ),
        ([], "expected a JSON object, found something else"),
        ("x", "expected a JSON object, found something else"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(
    imported: Import, tmp_path: Path, line: Any, said: str | None
) -> None:
    path = write(tmp_path / "a.jsonl", {"doc_id": 2, "response": "fine"}, line)
    if said is None:
        assert len(samples(imported(from_jsonl, path))) == 2
        return
    with pytest.raises(UsageError) as error:
        imported(from_jsonl, path)
    assert f"a.jsonl, line 2: {said}" in str(error.value)
    assert "nothing was imported" in str(error.value)
    assert not (tmp_path / "run").exists(), "nothing is left behind"
    assert not list(tmp_path.glob(".run*"))


def test_a_document_that_is_there_twice_is_named(imported: Import, tmp_path: Path) -> None:
    line = {"doc_id": 0, "response": "x"}
    with pytest.raises(UsageError, match="repeat 0 of document 0 is there twice, first: line 1"):
        imported(from_jsonl, write(tmp_path / "a.jsonl", line, line))


def test_ten_bad_lines_are_listed_and_the_rest_is_counted(imported: Import, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"doc_id": 0}\n' * 12 + b'{"doc_id": 0, "resp')
    with pytest.raises(UsageError) as error:
        imported(from_jsonl, path)
    assert str(error.value).count("\n  a.jsonl, line") == 10
    assert "and 3 more" in str(error.value)


def test_a_file_cut_in_its_last_line_is_not_imported_without_it(imported: Import, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"doc_id": 0, "response": "x"}\n{"doc_id": 1, "resp')
    with pytest.raises(UsageError, match=r"line 2: .*the file ends in the middle of it"):
        imported(from_jsonl, path)


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_an_empty_file_is_refused(imported: Import, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="no samples in it"):
        imported(from_jsonl, path)


def test_an_occupied_folder_and_a_missing_file_are_refused(imported: Import, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        imported(from_jsonl, tmp_path / "none.jsonl")
    (tmp_path / "run").mkdir()
    path = write(tmp_path / "a.jsonl", {"doc_id": 0, "response": "x"})
    assert len(samples(imported(from_jsonl, path))) == 1, "an empty folder may be there"
    before = sorted(file.name for file in (tmp_path / "run").iterdir())
    with pytest.raises(UsageError, match="is not an empty folder"):
        imported(from_jsonl, path)
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == before


# inspect_ai


@pytest.mark.parametrize("log", ["sums.eval", "sums_chunked.eval"])
def test_an_inspect_log_is_paired_by_the_words_of_the_question(
    imported: Import, sums: Task, tmp_path: Path, log: str
) -> None:
    pytest.importorskip("zstandard", reason="pip install 'resit[inspect]'")
    header = from_inspect.log_of(FOREIGN / log)
    assert (header.model, header.status, header.epochs) == ("mockllm/model", "success", 2)
    folder = imported(from_inspect, FOREIGN / log, generated_with=dict(header.settings))
    found = {(sample.doc_id, sample.repeat): sample for sample in samples(folder)}
    assert sorted(found) == [(doc, repeat) for doc in range(4) for repeat in range(2)]
    assert found[0, 0].finish_reason == "length"
    assert (found[0, 1].prompt_tokens, found[0, 1].cached_tokens, found[0, 1].completion_tokens) == (
        61,
        11,
        21,
    )
    assert found[1, 0].text == "Indeed. " * 20 + "#### 1,200", "the reasoning is no part of the answer"
    errored = [sample for sample in found.values() if sample.error]
    assert len(errored) == 1
    assert errored[0].error == "inspect_ai: RuntimeError('server down')"
    prompt = next(q.prompt for q in folder.questions() if q.document.doc_id == 0)
    assert prompt == (Message("system", "Be brief."), Message("user", "What is 1 + 1?"))
    results = score_folder(folder, {"sums": sums.rules})
    assert results["resit"]["tasks"]["sums"]["samples"]["errored"] == 1
    assert results["results"]["sums"]["exact_match,strict-match"] == 0.75, "1 + 1 is not 6"


def deflated(path: Path, target: Path, drop: str = "", **changes: Any) -> Path:
    """The log as older versions of inspect_ai write it, with some samples changed."""
    archive = from_inspect._Archive(path)
    with archive, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
        for name in archive.names:
            if drop and name.startswith(drop):
                continue
            value = archive.read(name)
            if name in changes:
                value = {**value, **changes[name]}
            out.writestr(name, json.dumps(value))
    return target


def test_deflated_logs_and_logs_of_unfinished_runs_are_read(imported: Import, tmp_path: Path) -> None:
    pytest.importorskip("zstandard", reason="pip install 'resit[inspect]'")
    log = deflated(FOREIGN / "sums.eval", tmp_path / "old.eval", drop="header.json")
    assert from_inspect.log_of(log).status == "started"
    assert len(samples(imported(from_inspect, log))) == 8


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"input": "What is 9 + 9?"}, "the question 'What is 9 + 9?'… is not among the 4 documents of sums"),
        ({"input": [{"role": "system", "content": "x"}]}, "input: expected text or chat turns"),
        ({"input": "attachment://f00"}, "refers to an attachment that the log does not hold"),
        ({"input": 5}, "input: expected a list, found int"),
        ({"epoch": "one"}, "epoch: expected a whole number from 0 up, found 'one'"),
        ({"epoch": 0}, "epoch: expected a number from 1 up, found 0"),
        ({"limit": "token"}, "limit: expected an object, found str"),
        ({"messages": {"a": 1}}, "messages: expected a list, found dict"),
        ({"messages": ["hello"]}, "messages: expected an object, found str"),
        ({"messages": [{"role": "user", "content": 3}]}, "content: expected a list, found int"),
        ({"output": []}, "output: expected an object, found list"),
        ({"output": {"choices": "a"}}, "output.choices: expected a list, found str"),
        ({"output": {"choices": ["a"]}}, "output.choices: expected an object, found str"),
        (
            {"output": {"choices": [{"message": "a"}]}},
            "output.choices.message: expected an object, found str",
        ),
        ({"output": {"completion": 18}}, "output.completion: expected text, found int"),
        ({"output": {"completion": "18", "time": "1 s"}}, "output.time: expected seconds, found '1 s'"),
        ({"output": {"usage": {"input_tokens": "9"}}}, "usage.input_tokens: expected a whole number"),
    ],
)
def test_a_sample_that_cannot_be_used_is_named(
    imported: Import, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    pytest.importorskip("zstandard", reason="pip install 'resit[inspect]'")
    name = "samples/r0_epoch_1.json"
    log = deflated(FOREIGN / "sums.eval", tmp_path / "changed.eval", **{name: change})
    with pytest.raises(UsageError) as error:
        imported(from_inspect, log)
    assert f"changed.eval, {name}: {said}" in str(error.value)


def test_a_sample_without_what_inspect_writes_is_named(imported: Import, tmp_path: Path) -> None:
    log = tmp_path / "x.eval"
    with zipfile.ZipFile(log, "w") as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("samples/a_epoch_1.json", '{"input": "What is 1 + 1?"}')
    with pytest.raises(UsageError, match="expected an inspect_ai sample; it has no 'epoch'"):
        imported(from_inspect, log)


def test_a_question_in_parts_and_a_dialogue_with_tools_are_read(imported: Import, tmp_path: Path) -> None:
    parts = [{"type": "reasoning", "reasoning": "?"}, {"type": "text", "text": "What is 3 + 3?"}]
    asked = [{"role": "user", "content": "Hello"}, {"role": "user", "content": parts}]
    called = [{"role": "user", "content": parts}, {"role": "tool", "content": "6"}]
    sample = {"input": asked, "epoch": 1, "messages": called, "output": {"completion": "#### 6"}}
    log = tmp_path / "x.eval"
    with zipfile.ZipFile(log, "w") as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("samples/a_epoch_1.json", json.dumps(sample))
    folder = imported(from_inspect, log)
    (found,) = samples(folder)
    assert (found.doc_id, found.text, found.finish_reason) == (2, "#### 6", "unknown")
    (question,) = folder.questions()
    assert question.prompt == "Question: What is 3 + 3?\nAnswer:", "the tools' dialogue is no prompt"


def test_without_zstandard_a_log_that_needs_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(zipfile, "ZIP_ZSTANDARD", raising=False)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(UsageError, match="Zstandard") as error:
        from_inspect.log_of(FOREIGN / "sums.eval")
    assert error.value.hint == "pip install 'resit[inspect]'"


@pytest.mark.parametrize(
    ("limit", "reason", "error"),
    [
        ("token", "length", None),
        ("time", "error", "inspect_ai: the sample's time limit was reached"),
    ],
)
def test_a_samples_limit_is_a_cut_or_no_measurement(
    imported: Import, tmp_path: Path, limit: str, reason: str, error: str | None
) -> None:
    pytest.importorskip("zstandard", reason="pip install 'resit[inspect]'")
    change = {"limit": {"type": limit, "limit": 5}}
    log = deflated(FOREIGN / "sums.eval", tmp_path / "limit.eval", **{"samples/r0_epoch_2.json": change})
    (found,) = [s for s in samples(imported(from_inspect, log)) if (s.doc_id, s.repeat) == (0, 1)]
    assert (found.finish_reason, found.error) == (reason, error)


def test_an_error_in_plain_words_is_one(imported: Import, tmp_path: Path) -> None:
    pytest.importorskip("zstandard", reason="pip install 'resit[inspect]'")
    change = {"error": "server down"}
    log = deflated(FOREIGN / "sums.eval", tmp_path / "error.eval", **{"samples/r0_epoch_2.json": change})
    (found,) = [s for s in samples(imported(from_inspect, log)) if (s.doc_id, s.repeat) == (0, 1)]
    assert found.error == "inspect_ai: server down"


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ([], "header.json the header: expected an object, found list"),
        ({"eval": "sums"}, "eval: expected an object, found str"),
        ({"eval": {"config": []}}, "eval.config: expected an object, found list"),
        ({"eval": {"config": {"epochs": "2"}}}, "eval.config.epochs: expected a whole number"),
        ({"plan": {"config": 1}}, "plan.config: expected an object, found int"),
    ],
)
def test_a_header_that_is_none_is_refused(tmp_path: Path, header: Any, said: str) -> None:
    path = tmp_path / "x.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(header))
    with pytest.raises(UsageError) as error:
        from_inspect.log_of(path)
    assert said in str(error.value)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_of_another_kind_is_refused(tmp_path: Path, method: int) -> None:
    path = tmp_path / "x.eval"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("header.json", "{}")
    with pytest.raises(UsageError, match=f"is damaged: it is compressed by method {method}"):
        from_inspect.log_of(path)


def test_a_log_that_is_cut_or_flipped_anywhere_is_read_or_refused(tmp_path: Path) -> None:
    pytest.importorskip("zstandard", reason="pip install 'resit[inspect]'")
    whole = deflated(FOREIGN / "sums.eval", tmp_path / "whole.eval").read_bytes()
    path = tmp_path / "spoiled.eval"
    for place in range(0, len(whole), max(1, len(whole) // 150)):
        for data in (whole[:place], whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :]):
            path.write_bytes(data)
            with suppress(UsageError):
                from_inspect.log_of(path)
                list(from_inspect.entries(path))


def test_what_is_no_inspect_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.eval"
    path.write_bytes(b"{}")
    with pytest.raises(UsageError, match=r"is not an \.eval log, which is a zip"):
        from_inspect.log_of(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "")
    with pytest.raises(UsageError, match="is a zip, but not inspect_ai's"):
        from_inspect.log_of(path)


def test_a_flipped_byte_in_a_log_is_found(imported: Import, tmp_path: Path) -> None:
    pytest.importorskip("zstandard", reason="pip install 'resit[inspect]'")
    data = bytearray((FOREIGN / "sums.eval").read_bytes())
    with zipfile.ZipFile(FOREIGN / "sums.eval") as archive:
        member = archive.getinfo("samples/r0_epoch_1.json")
    data[member.header_offset + 400] ^= 0xFF
    broken = tmp_path / "broken.eval"
    broken.write_bytes(data)
    with pytest.raises(UsageError, match=r"samples/r0_epoch_1\.json: is damaged"):
        imported(from_inspect, broken)


# the verbs


def resit(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "resit", "import", *map(str, words)],
        capture_output=True, text=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip


def test_the_verbs_import_and_score(tmp_path: Path, sums: Task) -> None:
    answers = write(tmp_path / "answers.jsonl", {"doc_id": 0, "response": "#### 2"})
    for words, name in (
        (("lm-eval", LM_EVAL), "lm_eval"),
        (("jsonl", answers), "answers"),
        (("inspect", FOREIGN / "sums.eval", "--model-name", "mine"), "mine"),
    ):
        done = resit(*words, "--task", sums.source, "-o", tmp_path / words[0], "--json")
        assert done.returncode == 0, done.stderr
        results = json.loads(done.stdout)
        assert results["config"]["model_name"] == name
        assert json.loads((tmp_path / words[0] / "results.json").read_text("utf-8")) == results


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lm-eval", "samples.jsonl"), "expected a name like samples_gsm8k_2026-01-31T12-00-00.jsonl"),
        (("lm-eval", f"samples_gsm8k_cott_{TIME}.jsonl"), "gsm8k_cot"),
        (("jsonl", "none.jsonl", "--task", "SUMS"), "none.jsonl cannot be read"),
        (("jsonl", "none.jsonl", "--task", "chain_of_thought"), "--task: expected one task"),
        (("inspect", "none.eval"), "none.eval cannot be read"),
    ],
)
def test_a_wrong_import_is_one_paragraph(
    tmp_path: Path, sums: Task, words: tuple[str, ...], said: str
) -> None:
    done = resit(*(sums.source if word == "SUMS" else word for word in words), "-o", tmp_path / "run")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()
