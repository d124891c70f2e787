"""What users of other harnesses reported, about resuming, reporting, repeats, configuration and truncation.

One test a case of the shared `cases/field_cases.jsonl` in these areas, named by its id; the last test
proves that none is left out.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from resit.cli import lots
from resit.cli.scoring import score_folder
from resit.errors import IdentityMismatch, ResitError, UsageError
from resit.grading import score_question
from resit.models import create
from resit.records import Document, Generation, Question, Request, Sampling
from resit.runs.folder import RunFolder
from resit.runs.imports import from_jsonl
from resit.runs.imports.writer import File, Origin, Part, import_run
from resit.tasks import load, select

Sit = Callable[..., Any]
Exam = Callable[..., Path]

AREAS = ("resume/cache", "reporting", "self-consistency", "config-yaml", "max-tokens/truncation")

VOTING = """\
filter_list:
  - {name: first, filter: [READ, {function: take_first}]}
  - {name: maj@5, filter: [READ, {function: majority_vote}, {function: take_first}]}
  - {name: maj@16, filter: [{function: take_first_k, k: 16}, READ, {function: majority_vote}]}
""".replace("READ", '{function: regex, regex_pattern: "is (\\\\d+)"}')


def resit(*words: str, python: tuple[str, ...] = (), **environment: str) -> Any:
    return subprocess.run(
        [sys.executable, *python, "-m", "resit", *words], env={**os.environ, **environment},
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip


def scripted(tmp_path: Path, texts: dict[int, list[str]]) -> str:
    """Model arguments for these texts by document and repeat."""
    path = tmp_path / "texts.jsonl"
    lines = [{"doc_id": doc, "texts": own} for doc, own in texts.items()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return f"file={path}"


def journal(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "generations.jsonl").read_bytes().split(b"\n") if line]


def imported(tmp_path: Path, task: Path, *lines: dict[str, Any]) -> dict[str, Any]:
    """The results of samples that are given as JSON lines."""
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    loaded = load([str(task)])[0]
    folder = import_run(
        tmp_path / "imported", Origin("test", "test"), [Part(loaded, [File(path, from_jsonl.entries(path))])]
    )
    return score_folder(folder, {loaded.name: loaded.rules})


def voting(exam: Exam, question_answer: str, repeats: int) -> Path:
    """A task of one question whose filters vote."""
    task = exam(questions=1, repeats=repeats)
    text = re.sub(
        r"filter_list:.*?(?=metric_list)", lambda _: VOTING, task.read_text("utf-8"), flags=re.DOTALL
    )
    task.write_text(text.replace('"{{answer}}"', question_answer), encoding="utf-8")
    return task


# resume/cache


def test_fc_res_01_each_repeat_is_kept_under_its_own_index(tmp_path: Path, exam: Exam, sit: Sit) -> None:
    task, run = exam(questions=1, repeats=4), tmp_path / "run"
    model = scripted(tmp_path, {0: ["a", "b", "c", "d"]})
    sit(run, task, model=model, gen_kwargs={"temperature": 0.9})
    outcome, _ = sit(run, task, model=model, gen_kwargs={"temperature": 0.9})
    assert (outcome.reused, outcome.generated) == (4, 0)
    assert [(line["repeat"], line["text"]) for line in journal(run)] == [
        (0, "a"),
        (1, "b"),
        (2, "c"),
        (3, "d"),
    ]
    assert len({line["seed"] for line in journal(run)}) == 4


def test_fc_res_03_other_sampling_settings_never_meet_old_answers(
    tmp_path: Path, exam: Exam, sit: Sit
) -> None:
    task, run = exam(), tmp_path / "run"
    sit(run, task, gen_kwargs={"max_gen_toks": 256})
    before = (run / "generations.jsonl").read_bytes()
    with pytest.raises(
        IdentityMismatch, match=r"sampling\.max_tokens: the run has 256, this command asks for 4096"
    ):
        sit(run, task, gen_kwargs={"max_gen_toks": 4096})
    assert (run / "generations.jsonl").read_bytes() == before
    outcome, _ = sit(tmp_path / "other", task, gen_kwargs={"max_gen_toks": 4096})
    assert outcome.reused == 0


def test_fc_res_04_another_selection_has_its_own_prompts_and_golds(
    tmp_path: Path, exam: Exam, sit: Sit
) -> None:
    """Documents are known by content: the same row number of another selection is another document."""
    task, run = exam(questions=4, repeats=1), tmp_path / "run"
    data = tmp_path / "sums.jsonl"
    rows = data.read_text("utf-8").splitlines(keepends=True)
    data.write_text(rows[0] + rows[2], encoding="utf-8")
    sit(run, task)
    data.write_text(rows[1] + rows[3], encoding="utf-8")
    with pytest.raises(IdentityMismatch, match=r"dataset\.sha256"):
        sit(run, task)
    _, results = sit(tmp_path / "second", task)
    assert results["results"]["sums"]["exact_match,strict-match"] == 1.0
    asked = [(q.document.doc_id, q.prompt, q.target) for q in RunFolder(tmp_path / "second").questions()]
    assert asked == [
        (0, "Question: What is 2 + 2?\nAnswer:", "4"),
        (1, "Question: What is 4 + 4?\nAnswer:", "8"),
    ]


def test_fc_res_06_with_nothing_left_to_generate_scoring_follows_without_a_model(
    tmp_path: Path, exam: Exam, sit: Sit
) -> None:
    task, run = exam(), tmp_path / "run"
    sit(run, task)
    for name in ("results.json", "scores.jsonl"):
        (run / name).unlink()
    outcome, results = sit(run, task, model="text=#### {target},fatal_after=0")
    assert (outcome.reused, outcome.generated) == (8, 0)
    assert results["results"]["sums"]["exact_match,strict-match"] == 1.0


def test_fc_res_07_a_run_killed_at_80_of_100_owes_20(tmp_path: Path, exam: Exam, sit: Sit) -> None:
    task, run = exam(questions=50, repeats=2), tmp_path / "run"
    with pytest.raises(ResitError, match="fails for good after 80 answers"):
        sit(run, task, model="text=#### {target},fatal_after=80")
    outcome, results = sit(run, task)
    assert (outcome.reused, outcome.generated) == (80, 20)
    assert results["resit"]["tasks"]["sums"]["samples"]["scored"] == 100


def test_fc_res_09_a_crash_in_scoring_costs_no_generation(
    tmp_path: Path, exam: Exam, sit: Sit, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, run = exam(questions=10), tmp_path / "run"
    honest = lots.score_task

    def crashes(pairs: Any, rules: Any) -> Iterator[Any]:
        for number, score in enumerate(honest(pairs, rules)):
            if number == 7:
                raise RuntimeError("scorer")
            yield score

    with monkeypatch.context() as patch:
        patch.setattr(lots, "score_task", crashes)
        with pytest.raises(RuntimeError, match="scorer"):
            sit(run, task)
    assert not (run / "scores.jsonl").exists(), "no half of a file"
    outcome, _ = sit(run, task, model="text=#### {target},fatal_after=0")
    assert (outcome.reused, outcome.generated) == (20, 0)


# self-consistency


@pytest.fixture
def five(tmp_path: Path, exam: Exam, sit: Sit) -> dict[str, Any]:
    """The results of one question whose five samples answer 30, 42, 42, 42, 17; 42 is right."""
    task = voting(exam, '"42"', 5)
    answers = [f"It is {n}" for n in (30, 42, 42, 42, 17)]
    _, results = sit(tmp_path / "run", task, model=scripted(tmp_path, {0: answers}))
    return dict(results)


def test_fc_sc_01_all_repeats_reach_the_metrics(five: dict[str, Any]) -> None:
    scores, rules = five["results"]["sums"], five["resit"]["tasks"]["sums"]["rules"]
    assert (scores["exact_match,first"], scores["exact_match,maj@5"]) == (0.0, 1.0)
    assert rules["robust"]["score"] == pytest.approx(0.6)
    repeats = rules["robust"]["repeats"]
    assert {point["k"]: point["value"] for point in repeats["pass"]}[5] == 1.0
    assert {point["k"]: point["value"] for point in repeats["maj"]}[5] == 1.0


def test_fc_sc_03_more_samples_than_there_are_is_refused_not_scaled(
    tmp_path: Path, exam: Exam, sit: Sit
) -> None:
    answers = [f"It is {n}" for n in (42, 42, 42, 42, 42, 42, 1, 2)]
    _, results = sit(tmp_path / "run", voting(exam, '"42"', 8), model=scripted(tmp_path, {0: answers}))
    rules = results["resit"]["tasks"]["sums"]["rules"]
    assert rules["robust"]["score"] == 0.75
    assert max(point["k"] for point in rules["robust"]["repeats"]["pass"]) == 8
    assert "exact_match,maj@16" not in results["results"]["sums"], "a vote of 16 of 8 samples is no number"


def test_fc_sc_04_the_average_is_over_all_samples(tmp_path: Path, exam: Exam, sit: Sit) -> None:
    answers = [f"It is {n}" for n in (42, 1, 42, 42)]
    _, results = sit(tmp_path / "run", voting(exam, '"42"', 4), model=scripted(tmp_path, {0: answers}))
    rule = results["resit"]["tasks"]["sums"]["rules"]["robust"]
    assert (rule["score"], rule["samples"], rule["questions"]) == (0.75, 4, 1)


def test_fc_sc_06_ties_are_first_seen_in_lm_evals_vote_and_shared_in_ours(
    tmp_path: Path, exam: Exam, sit: Sit
) -> None:
    answers = [f"It is {n}" for n in (4, 9, 9, 4)]
    task = voting(exam, '"9"', 4)
    for name in ("a", "b"):
        _, results = sit(tmp_path / name, task, model=scripted(tmp_path, {0: answers}))
        assert results["results"]["sums"]["exact_match,maj@5"] == 0.0
        maj = results["resit"]["tasks"]["sums"]["rules"]["robust"]["repeats"]["maj"]
        assert {point["k"]: point["value"] for point in maj}[4] == 0.5


def test_fc_sc_07_identical_repeats_at_a_temperature_are_warned_of(
    tmp_path: Path, exam: Exam, sit: Sit
) -> None:
    _, results = sit(
        tmp_path / "run", exam(questions=1, repeats=4), model="text=A", gen_kwargs={"temperature": 0.8}
    )
    (warning,) = [
        w for w in results["resit"]["tasks"]["sums"]["warnings"] if w["kind"] == "identical-repeats"
    ]
    assert (warning["evidence"]["count"], warning["evidence"]["with_other_seeds"]) == (1, 1)
    assert "the server ignores them or does not sample" in warning["message"]


# configuration


def test_fc_cfg_01_a_misspelt_token_cap_is_an_error_with_the_right_name(
    tmp_path: Path, exam: Exam, sit: Sit
) -> None:
    task = exam()
    assert load([str(task)])[0].sampling({"max_gen_toks": 512}).max_tokens == 512
    text = task.read_text("utf-8")
    task.write_text(text.replace("max_gen_toks: 32", "max_gen_tokens: 512"), encoding="utf-8")
    with pytest.raises(UsageError, match="'max_gen_tokens' is not known; did you mean 'max_gen_toks'"):
        sit(tmp_path / "run", task)


def test_fc_cfg_03_without_an_extractor_robust_still_reads_and_zero_is_warned_of(
    tmp_path: Path, exam: Exam, sit: Sit
) -> None:
    task = exam(questions=21, repeats=1)
    text = re.sub(r"filter_list:.*?(?=metric_list)", "", task.read_text("utf-8"), flags=re.DOTALL)
    task.write_text(text, encoding="utf-8")
    _, results = sit(tmp_path / "run", task, model="text=So the result is \\boxed{{target}}.")
    summary = results["resit"]["tasks"]["sums"]
    assert results["results"]["sums"]["exact_match,none"] == 0.0
    assert summary["rules"]["robust"]["score"] == 1.0
    kinds = [warning["kind"] for warning in summary["warnings"]]
    assert kinds[:2] == ["zero-accuracy", "rule-below-robust"]
    assert "21 by robust under other rules" in summary["warnings"][0]["message"]


def test_fc_cfg_04_variants_that_share_a_tag_stay_apart(tmp_path: Path, exam: Exam, sit: Sit) -> None:
    tasks = [exam(name) for name in ("native_cot", "en_cot")]
    for task in tasks:
        task.write_text(task.read_text("utf-8") + "tag: cot\n", encoding="utf-8")
    found = select(["cot"], include_path=tmp_path)
    assert sorted(task.name for task in found.tasks) == ["en_cot", "native_cot"]
    assert not found.groups, "a tag makes no average"
    _, results = sit(tmp_path / "run", *tasks)
    assert list(results["results"]) == ["native_cot", "en_cot"], "each has its own row, and there is no other"
    tasks[1].write_text(
        tasks[1].read_text("utf-8").replace("task: en_cot", "task: native_cot"), encoding="utf-8"
    )
    with pytest.raises(UsageError, match="two tasks are called 'native_cot'"):
        load([str(task) for task in tasks])


def test_fc_cfg_06_precedence_is_written_down_and_what_resulted_is_stored(
    tmp_path: Path, exam: Exam, sit: Sit
) -> None:
    text = (Path(__file__).parents[2] / "docs" / "config.md").read_text("utf-8")
    assert "## Which setting counts" in text
    assert "no sampling settings from files that a model's authors ship" in text
    sit(tmp_path / "run", exam(), gen_kwargs={"temperature": 0.6, "top_p": 0.95})
    sampling = (RunFolder(tmp_path / "run").record() or {})["identity"]["tasks"]["sums"]["sampling"]
    assert (sampling["temperature"], sampling["top_p"], sampling["max_tokens"]) == (0.6, 0.95, 32)


# truncation


def test_fc_trunc_01_an_empty_text_at_the_limit_is_a_failed_attempt_and_truncated(
    tmp_path: Path, exam: Exam
) -> None:
    results = imported(tmp_path, exam(), {"doc_id": 0, "response": "", "finish_reason": "length"})
    summary = results["resit"]["tasks"]["sums"]
    assert (summary["samples"]["truncated"], summary["samples"]["errored"]) == (1, 0)
    assert (summary["rules"]["robust"]["score"], summary["rules"]["robust"]["unextracted"]) == (0.0, 1)


def test_fc_trunc_03_a_number_in_unfinished_reasoning_is_no_answer(exam: Exam) -> None:
    question = Question("sums", Document(0, "h", {}), "?", "36")
    text = "<think>Half of 72 is 36, so maybe 36 or"
    generation = Generation("sums", 0, "h", 0, 0, text, "length")
    score = score_question(question, [generation], load([str(exam())])[0].rules)
    verdict = score.samples[0].verdicts["robust"]
    assert (verdict.extracted, verdict.correct) == (None, 0.0)


def test_fc_trunc_04_the_rate_of_truncation_and_what_it_costs_are_shown(tmp_path: Path, exam: Exam) -> None:
    texts = [
        ("so", "length"),
        ("so", "length"),
        ("#### {}", "stop"),
        ("#### {}", "stop"),
        ("#### {}", "stop"),
    ]
    lines = [
        {"doc_id": i, "response": text.format(2 * i + 2), "finish_reason": end}
        for i, (text, end) in enumerate(texts)
    ]
    results = imported(tmp_path, exam(questions=5), *lines)
    assert results["results"]["sums"]["exact_match,strict-match"] == 0.6
    found = {warning["kind"]: warning for warning in results["resit"]["tasks"]["sums"]["warnings"]}
    evidence = found["truncated"]["evidence"]
    assert (evidence["share"], evidence["score_of_finished"], evidence["score_of_truncated"]) == (
        0.4,
        1.0,
        0.0,
    )
    assert "counts 3 of 3 (100.0 %) of the others right" in found["truncated"]["message"]


def test_fc_trunc_06_the_users_larger_cap_counts_over_the_task_files(
    tmp_path: Path, exam: Exam, sit: Sit
) -> None:
    """In a study a cap at the model and another at the task are refused: see tests/cli/test_study.py."""
    task = exam()
    assert load([str(task)])[0].sampling().max_tokens == 32
    sit(tmp_path / "run", task, gen_kwargs={"max_gen_toks": 32768})
    sampling = (RunFolder(tmp_path / "run").record() or {})["identity"]["tasks"]["sums"]["sampling"]
    assert sampling["max_tokens"] == 32768


def test_fc_trunc_07_a_prompt_that_overflows_the_context_is_told_with_both_numbers(model_cache: Path) -> None:
    os.environ["RESIT_CACHE"] = str(model_cache)  # the fixture that isolates the environment takes it back
    model = create("llamacpp", {"pretrained": "smollm2-135m", "n_ctx": 256})
    question = Question("t", Document(0, "h", {}), "How many? " * 300, "4")
    with model:
        (generation,) = model.generate([Request(question, 0, Sampling(max_tokens=8), 1)])
    assert generation.error is not None, "not an answer to the tail of the prompt"
    assert re.search(r"prompt too long: \d{3,} tokens, the context has 256", generation.error)


# reporting


def test_fc_rep_01_right_wrong_and_not_measured_are_three_things(
    tmp_path: Path, exam: Exam, sit: Sit
) -> None:
    task = exam(questions=200, repeats=1)
    texts = {doc: [f"#### {2 * doc + 2}" if doc < 120 else "#### 0"] for doc in range(200)}
    model = scripted(tmp_path, texts) + ",error_docs=" + ";".join(map(str, range(190, 200)))
    outcome, results = sit(tmp_path / "run", task, model=model)
    scores, summary = results["results"]["sums"], results["resit"]["tasks"]["sums"]
    assert scores["exact_match,strict-match"] == pytest.approx(120 / 190)
    assert (summary["samples"]["errored"], summary["samples"]["scored"]) == (10, 190)
    assert outcome.error_share == 0.05, "above the share that is allowed: exit status 5"
    (warning,) = [w for w in summary["warnings"] if w["kind"] == "errored-samples"]
    assert "strict-match of the measured ones 0.6316, of all 0.6000" in warning["message"]


SAID = "La respuesta es 45 ˈ km → 答案是 36 🤗"


def asked(tmp_path: Path, exam: Exam) -> list[str]:
    model = scripted(tmp_path, {doc: [SAID] for doc in range(4)})
    return ["run", "-M", "scripted", "-a", model, "-t", str(exam()), "-o", str(tmp_path / "run")]


def test_fc_rep_03_in_an_ascii_locale_every_sample_is_written_as_utf_8(tmp_path: Path, exam: Exam) -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = resit(*asked(tmp_path, exam), **ascii_only)
    assert done.returncode == 0, done.stderr
    assert [line["text"] for line in journal(tmp_path / "run")] == [SAID] * 8
    assert SAID.encode() in (tmp_path / "run" / "generations.jsonl").read_bytes()


def test_fc_rep_04_a_terminal_that_cannot_show_a_result_loses_nothing(tmp_path: Path, exam: Exam) -> None:
    words = asked(tmp_path, exam)
    task = Path(words[words.index("-t") + 1])
    task.write_text(task.read_text("utf-8").replace("strict-match", "→ ˈ"), encoding="utf-8")
    done = resit(*words, PYTHONIOENCODING="cp1252", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert b"\\u2192 \\u02c8" in done.stdout, "what it cannot show it shows as an escape"
    results = json.loads((tmp_path / "run" / "results.json").read_text("utf-8"))
    assert "exact_match,→ ˈ" in results["results"]["sums"]
    assert len(journal(tmp_path / "run")) == 8


def test_fc_rep_06_no_file_is_read_or_written_in_the_locales_encoding(tmp_path: Path, exam: Exam) -> None:
    """Python itself says where an encoding is left to the locale."""
    strict = ("-X", "warn_default_encoding", "-W", "error::EncodingWarning:resit")
    done = resit(*asked(tmp_path, exam), python=strict)
    assert done.returncode == 0, done.stderr
    done = resit("score", str(tmp_path / "run"), "--json", python=strict, LC_ALL="C", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["resit"]["tasks"]["sums"]["samples"]["scored"] == 8


def test_fc_rep_07_one_row_a_sample_with_every_rules_verdict(tmp_path: Path, exam: Exam, sit: Sit) -> None:
    sit(tmp_path / "run", exam(questions=50, repeats=2))
    rows = [json.loads(line) for line in (tmp_path / "run" / "scores.jsonl").read_bytes().splitlines()]
    assert len({(row["doc_id"], row["repeat"]) for row in rows}) == len(rows) == 100
    for row in rows:
        assert set(row["verdicts"]) == {"strict-match", "robust"}
        assert all({"extracted", "correct"} <= set(verdict) for verdict in row["verdicts"].values())


def test_fc_rep_09_scores_are_saved_before_anything_that_may_fail_after(tmp_path: Path, exam: Exam) -> None:
    words = [sys.executable, "-m", "resit", *asked(tmp_path, exam)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, timeout=120, check=False)
    assert done.returncode != 0, "the table could not be printed, and that is said"
    assert b"No space left" in done.stderr
    assert (tmp_path / "run" / "results.json").exists()
    again = resit("score", str(tmp_path / "run"))
    assert b"nothing changed against the scores before" in again.stdout


def test_every_case_of_these_areas_has_a_test(shared: Path) -> None:
    lines = (shared / "cases" / "field_cases.jsonl").read_bytes().split(b"\n")
    wanted = {case["id"] for case in map(json.loads, filter(None, lines)) if case["area"] in AREAS}
    tested = {
        "-".join(match.groups()).upper()
        for match in (re.match(r"test_(fc)_(\w+?)_(\d\d)_", name) for name in globals())
        if match
    }
    assert wanted == tested
