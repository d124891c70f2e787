"""A study runs every pair, stops for none, and tells no secret."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from resit.errors import UsageError
from resit.runs.secrets import Secrets
from resit.runs.study import RunSettings, cells, described, read_study

SECRET = "sk-a1b2c3d4e5f6"


@pytest.fixture
def folder(tmp_path: Path, sums: Callable[..., Path]) -> Path:
    """Two task files, `sums.yaml` and `more.yaml`, of four questions each, and one without its data."""
    for name in ("sums", "more", "lost"):
        sums(name)
    (tmp_path / "lost.jsonl").unlink()
    return tmp_path


def model(name: str, **settings: Any) -> dict[str, Any]:
    return {"name": name, "model": "scripted", "model_args": {"text": "{target}"}, **settings}


def study(folder: Path, **keys: Any) -> Path:
    path = folder / "study.yaml"
    tasks = [str(folder / "sums.yaml"), str(folder / "more.yaml")]
    path.write_text(yaml.safe_dump({"tasks": tasks, "models": [model("a")], **keys}), encoding="utf-8")
    return path


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "resit", "run", str(folder / "study.yaml"), *words],
        capture_output=True, text=True, encoding="utf-8", cwd=folder, timeout=120, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip


def test_every_pair_is_a_run_and_a_row(folder: Path) -> None:
    study(folder, models=[model("a"), model("b", model_args="text=no")], limit=3)
    done = run(folder, "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["runs"]
    assert [(row["model"], row["task"], row["score"]) for row in rows] == [
        ("a", "sums", 1.0),
        ("a", "more", 1.0),
        ("b", "sums", 0.0),
        ("b", "more", 0.0),
    ]
    for row in rows:
        results = json.loads((folder / "runs" / "study" / row["folder"] / "results.json").read_text("utf-8"))
        assert results["n-samples"][row["task"]]["effective"] == row["questions"] == 3
    assert json.loads((folder / "runs" / "study" / "study.json").read_text("utf-8")) == json.loads(
        done.stdout
    )
    again = run(folder)
    assert again.stderr.count("3 of 3 samples are on file already") == 4
    table = [line.split() for line in again.stdout.splitlines()]
    assert ["a", "sums", "none", "1.0000"] in [line[:4] for line in table]
    assert [line[-1] for line in table if line[:1] in (["a"], ["b"])] == ["done"] * 4


def test_a_task_that_is_quoted_by_a_rule_beside_its_own_has_its_score(folder: Path) -> None:
    with (folder / "sums.yaml").open("a", encoding="utf-8") as file:
        file.write('resit: {rules: [robust], headline: "exact_match,robust", options: {gold: whole}}\n')
    study(folder, tasks=[str(folder / "sums.yaml")])
    done = run(folder, "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads((folder / "runs" / "study" / "study.json").read_text("utf-8"))["runs"]
    results = json.loads((folder / "runs" / "study" / "a" / "sums" / "results.json").read_text("utf-8"))
    assert row["headline"] == "exact_match,robust"
    assert row["headline"] not in results["results"]["sums"]
    robust = results["resit"]["tasks"]["sums"]["rules"]["robust"]
    keys = ("score", "standard_error", "ci_low", "ci_high")
    assert [row[key] for key in keys] == [robust[key] for key in keys]
    assert robust["score"] == 1.0
    table = [line.split() for line in run(folder).stdout.splitlines()]
    assert ["a", "sums", "robust", "1.0000", "0.0000", "0.5101-1.0000", "4", "done"] in table


def test_a_study_of_which_no_run_could_start_is_on_file_too(folder: Path) -> None:
    study(folder, models=[model("a", model_args="text=no,colour=red")])
    done = run(folder)
    assert done.returncode == 2, done.stderr
    rows = json.loads((folder / "runs" / "study" / "study.json").read_text("utf-8"))["runs"]
    assert {row["message"] for row in rows} == {"model 'scripted' has no argument 'colour'"}


def test_one_failure_stops_no_other_and_the_worst_status_counts(folder: Path) -> None:
    tasks = [str(folder / f"{name}.yaml") for name in ("sums", "lost", "more")]
    failing = model("fails", model_args="text={target},error_docs=1")
    dying = model("dies", model_args="text={target},fatal_after=2")
    study(folder, tasks=tasks, models=[failing, dying, model("a")])
    done = run(folder, "--json")
    rows = {(row["model"], row["task"]): row for row in json.loads(done.stdout)["runs"]}
    statuses = {key: row["exit_status"] for key, row in rows.items()}
    assert statuses == {
        ("fails", "sums"): 5, ("fails", "lost"): 6, ("fails", "more"): 5,
        ("dies", "sums"): 1, ("dies", "lost"): 6, ("dies", "more"): 1,
        ("a", "sums"): 0, ("a", "lost"): 6, ("a", "more"): 0,
    }  # fmt: skip
    assert done.returncode == 6
    assert "lost.jsonl" in rows["a", "lost"]["message"]
    assert "the model fails for good after 2 answers" in rows["dies", "more"]["message"]
    assert rows["fails", "sums"]["score"] == 1.0, "an error is not a wrong answer"
    assert "Traceback" not in done.stderr


def test_another_identity_fails_its_run_only(folder: Path) -> None:
    study(folder)
    assert run(folder).returncode == 0
    sums, more = (str(folder / f"{name}.yaml") for name in ("sums", "more"))
    study(folder, tasks=[{"task": sums, "seed": 7}, more])
    done = run(folder, "--json")
    assert [row["exit_status"] for row in json.loads(done.stdout)["runs"]] == [3, 0]
    assert done.returncode == 3


def test_a_model_is_loaded_once_for_all_its_tasks(folder: Path) -> None:
    """`fatal_after` counts the answers of one loaded model: the second task begins where the first ended."""
    study(folder, models=[model("a", model_args="text={target},fatal_after=6")])
    done = run(folder, "--json")
    rows = json.loads(done.stdout)["runs"]
    assert [row["exit_status"] for row in rows] == [0, 1]
    again = run(folder, "--json")
    assert again.returncode == 0, "after a failure the next run gets a new model, and goes on"


def test_secrets_reach_no_file(folder: Path) -> None:
    texts = folder / "texts.jsonl"
    texts.write_text(json.dumps({"doc_id": 1, "text": f"your key is {SECRET}"}) + "\n", encoding="utf-8")
    models = [
        model("echoes", model_args={"text": "${KEY} 4", "error_docs": "${DOCS}"}),
        model("told", model_args={"text": "x", "file": str(texts), "delay": "${DELAY}"}),
        model("wrong", model_args={"text": "x", "delay": "${KEY}"}),
        {
            "name": "server",
            "model": "openai-chat",
            "model_args": {"base_url": "http://u:${KEY}@127.0.0.1:9/v1"},
        },
        {"name": "file", "model": "llamacpp", "model_args": {"pretrained": "${KEY}.gguf"}},
    ]
    study(folder, models=models, limit=3)
    done = run(folder, KEY=SECRET, DOCS="2", DELAY="0.001")
    assert done.returncode > 0
    assert SECRET not in done.stdout + done.stderr
    written = [path for path in (folder / "runs").rglob("*") if path.is_file()]
    names = {path.name for path in written}
    assert {"run.json", "generations.jsonl", "results.json", "scores.jsonl", "study.json"} <= names
    for path in written:
        assert SECRET.encode() not in path.read_bytes(), path
    record = json.loads((folder / "runs" / "study" / "echoes" / "sums" / "run.json").read_text("utf-8"))
    assert record["model"]["args"] == {"text": "${KEY} 4", "error_docs": "${DOCS}"}
    assert record["identity"]["model"]["text"] == "${KEY}#27ab5150 4"
    journal = (folder / "runs" / "study" / "told" / "sums" / "generations.jsonl").read_text("utf-8")
    assert "your key is ${KEY}" in journal
    assert '"seconds":0.001' in journal, "a short value is no secret in what a model writes"


def test_another_value_of_a_variable_is_another_run(folder: Path) -> None:
    study(folder, models=[model("a", model_args={"text": "${WORD}"})])
    assert run(folder, WORD="one").returncode == 0
    journal = folder / "runs" / "study" / "a" / "sums" / "generations.jsonl"
    before = journal.read_bytes()
    assert run(folder, WORD="one").returncode == 0
    changed = run(folder, "--json", WORD="other")
    assert changed.returncode == 3
    for row in json.loads(changed.stdout)["runs"]:
        assert "holds another run; what differs:\n  model.text: the run has" in row["message"]
        assert row["message"].count("${WORD}#") == 2
    assert journal.read_bytes() == before, "no sample of one model stands beside those of another"


def test_another_value_of_what_is_no_part_of_the_identity_continues_the_run(folder: Path) -> None:
    args = {"text": "4 of 14", "delay": "${D}"}
    study(folder, models=[model("a", model_args=args)])
    assert run(folder, D="0").returncode == 0
    record = folder / "runs" / "study" / "a" / "sums" / "run.json"
    assert json.loads(record.read_text("utf-8"))["model"]["args"] == args
    args["delay"] = "0.0${D}"
    study(folder, models=[model("a", model_args=args)])
    again = run(folder, D="4")
    assert again.returncode == 0, again.stderr


def test_secrets_are_taken_out_longest_first_and_short_ones_stay_in_texts() -> None:
    secrets = Secrets({"A": "secret", "B": "secret-key", "PORT": "8000"})
    given = {"key": "${A}/${B}", "ports": ["${PORT}", 8000], "$A": "$A ${a b} $${PORT}"}
    expanded = secrets.expanded(given, "model_args")
    assert expanded == {"key": "secret/secret-key", "ports": ["8000", 8000], "$A": "$A ${a b} $8000"}
    assert secrets.hidden(expanded) == {
        "key": "${A}/${B}",
        "ports": ["${PORT}", 8000],
        "$A": "$A ${a b} $${PORT}",
    }
    assert secrets.hidden_in_text("It costs 8000; secret-key; secret") == "It costs 8000; ${B}; secret"
    for unset in ({}, {"X": ""}):
        with pytest.raises(UsageError, match=r"^here\.k\.0: the environment variable X is not set"):
            Secrets(unset).expanded({"k": ["${X}"]}, "here")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"limt": 3}, "limt is no setting; did you mean 'limit'?"),
        ({"models": [model("a", repeat=2)]}, "models.0.repeat is no setting; did you mean 'repeats'?"),
        (
            {"tasks": [{"task": "x", "numfewshot": 1}]},
            "tasks.0.numfewshot is no setting; did you mean 'num_fewshot'",
        ),
        ({"limit": 0}, "limit: input should be greater than 0, found 0"),
        ({"limit": "3"}, "limit: input should be a valid number, found '3'"),
        ({"repeats": 1.5}, "repeats: input should be a valid integer"),
        ({"batch_size": "lots"}, "batch_size"),
        ({"models": []}, "models: list should have at least 1 item"),
        ({"models": [{"name": "a"}]}, "models.0.model: field required"),
        ({"tasks": None}, "tasks: input should be a valid list, found None"),
        ({"models": [model("a"), model("a")]}, "two models are called 'a'"),
        ({"models": [model("../a")]}, "name '../a': expected letters"),
        ({"models": [model(".a")]}, "name '.a': expected letters"),
        ({"system_instruction": "${KEY}"}, "system_instruction: ${KEY} may stand in model_args only"),
        (
            {"models": [model("a", system_instruction="${KEY}")]},
            "models.0.system_instruction: ${KEY} may stand in model_args only",
        ),
        ({"tasks": ["${KEY}"]}, "tasks.0: ${KEY} may stand in model_args only"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_named(folder: Path, keys: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as error:
        read_study(study(folder, **keys))
    assert f"study.yaml: {said}" in str(error.value) or said in str(error.value)


LAUGHS = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &a [*a]", "found more when every alias"),
        ("models:\n- &a {name: a, model: dummy, model_args: *a}", "found more when every alias"),
        (LAUGHS, "found more when every alias"),
        ("- a", "expected settings, such as models and tasks, found list"),
        ("a: [", "is not YAML"),
    ],
)
def test_a_file_that_is_no_study_is_refused(folder: Path, text: str, said: str) -> None:
    path = folder / "study.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=said):
        read_study(path)
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_study(folder / "none.yaml")


def test_an_error_says_what_the_setting_is_for(folder: Path) -> None:
    with pytest.raises(UsageError) as error:
        read_study(study(folder, repeats=0))
    assert error.value.hint == f"repeats: {RunSettings.model_fields['repeats'].description}"


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        (["sums.yaml", "sums.yaml"], "two runs of each model would be called 'sums'"),
        (
            ["sums.yaml", {"task": "more.yaml", "name": "sums"}],
            "two runs of each model would be called 'sums'",
        ),
        (["gsm8k_cott"], "gsm8k_cot"),
        ([{"task": "chain_of_thought", "name": "x"}], "so one name cannot be theirs"),
    ],
)
def test_tasks_that_cannot_be_told_apart_are_refused(folder: Path, tasks: list[Any], said: str) -> None:
    at = {"sums.yaml": str(folder / "sums.yaml"), "more.yaml": str(folder / "more.yaml")}
    named = [
        {**t, "task": at.get(t["task"], t["task"])} if isinstance(t, dict) else at.get(t, t) for t in tasks
    ]
    path = study(folder, tasks=named)
    with pytest.raises(UsageError, match=said):
        cells(path, read_study(path))


def test_task_and_model_count_over_the_top_and_never_silently_over_each_other(folder: Path) -> None:
    sums = str(folder / "sums.yaml")
    path = study(
        folder,
        limit=3,
        gen_kwargs={"max_gen_toks": 64, "temperature": 0.5},
        models=[model("a", gen_kwargs={"max_gen_toks": 32768}, repeats=2)],
        tasks=[{"task": sums, "gen_kwargs": {"top_p": 0.9}, "limit": 2}],
    )
    (cell,) = cells(path, read_study(path))
    assert cell.settings.gen_kwargs == {"max_gen_toks": 32768, "temperature": 0.5, "top_p": 0.9}
    assert (cell.settings.limit, cell.settings.repeats) == (2, 2)
    for setting, other in (("gen_kwargs", {"max_gen_toks": 2048}), ("repeats", 4)):
        path = study(
            folder,
            models=[model("a", gen_kwargs={"max_gen_toks": 32768}, repeats=2)],
            tasks=[{"task": sums, setting: other}],
        )
        with pytest.raises(UsageError, match=r"at the model and .* at the task"):
            cells(path, read_study(path))


def test_the_larger_token_cap_of_the_user_does_not_lose_to_the_task_file(folder: Path) -> None:
    text = (folder / "sums.yaml").read_text("utf-8") + "generation_kwargs: {max_gen_toks: 2048}\n"
    (folder / "sums.yaml").write_text(text, encoding="utf-8")
    study(folder, tasks=[str(folder / "sums.yaml")], models=[model("a", gen_kwargs={"max_gen_toks": 32768})])
    assert run(folder).returncode == 0
    record = json.loads((folder / "runs" / "study" / "a" / "sums" / "run.json").read_text("utf-8"))
    assert record["identity"]["tasks"]["sums"]["sampling"]["max_tokens"] == 32768


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--limit", "3"), "--limit has no effect: a study takes its settings from its file"),
        (("--num_fewshot", "3"), "--num-fewshot has no effect: a study takes its settings from its file"),
        (
            ("--apply_chat_template",),
            "--apply-chat-template has no effect: a study takes its settings from its file",
        ),
    ],
)
def test_options_that_belong_into_the_file_are_refused(
    folder: Path, words: tuple[str, ...], said: str
) -> None:
    study(folder)
    done = run(folder, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert not (folder / "runs").exists()


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"models": [model("a"), {"name": "b", "model": "llamacp"}]}, "there is no model kind 'llamacp'"),
        ({"models": [model("a"), model("b", model_args={"text": "${NONE}"})]}, "NONE is not set"),
        ({"fewshot_as_multiturn": True}, "--fewshot_as_multiturn true needs"),
    ],
)
def test_what_the_file_alone_shows_to_be_wrong_is_refused_before_anything_runs(
    folder: Path, keys: dict[str, Any], said: str
) -> None:
    study(folder, **keys)
    done = run(folder)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert not (folder / "runs").exists()


def test_an_interrupt_ends_the_study_with_a_table(folder: Path) -> None:
    study(folder, models=[model("a", model_args={"text": "{target}", "delay": 1.0}), model("b")])
    words = [sys.executable, "-m", "resit", "run", "study.yaml", "--json"]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    journal = folder / "runs" / "study" / "a" / "sums" / "generations.jsonl"
    for _ in range(1200):
        if journal.exists() and journal.stat().st_size:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    rows = json.loads(out)["runs"]
    assert [row["exit_status"] for row in rows] == [130] * 4
    assert [row["message"] for row in rows[1:]] == ["not started"] * 3
    assert rows[0]["questions"] >= 1, "what was finished is scored"


def test_every_setting_is_in_the_documentation() -> None:
    text = (Path(__file__).parents[2] / "docs" / "config.md").read_text("utf-8")
    table = "".join(f"| {where} | `{name}` | {about} |\n" for where, name, about in described())
    assert table in text, f"put this into docs/config.md:\n{table}"
