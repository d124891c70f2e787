"""What a shell sees: exit status, one clear paragraph, nothing else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from resit.cli import options
from resit.errors import UsageError


def resit(*words: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a shell would, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "resit", *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env={**os.environ, **environment},
        timeout=120,
        check=False,
    )


@pytest.fixture
def task(sums: Callable[..., Path]) -> str:
    return str(sums())


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["run"], 2, "a run needs --model and --tasks"),
        (["run", "--model", "scripted", "--tasks", "gsm8k_cott"], 2, "Did you mean 'gsm8k_cot'"),
        (["run", "--model", "lamacpp", "--tasks", "TASK"], 2, "did you mean 'llamacpp'?"),
        (
            ["run", "--model", "scripted", "--model_args", "txt=1", "--tasks", "TASK"],
            2,
            "did you mean 'text'?",
        ),
        (["run", "-M", "scripted", "-a", "text", "--tasks", "TASK"], 2, "expected key=value"),
        (["run", "-M", "scripted", "-t", "TASK", "--limit", "0"], 2, "--limit must be a number above 0"),
        (
            ["run", "--model", "scripted", "--tasks", "TASK", "--repeats", "0"],
            2,
            "--repeats must be at least 1",
        ),
        (
            ["run", "--model", "scripted", "--tasks", "TASK", "--repeats", "9" * 30],
            2,
            "--repeats must be at most 1,000,000",
        ),
        (
            ["run", "--model", "scripted", "--tasks", "TASK", "--include-path", "n" * 5000],
            1,
            "File name too long\nhint: the operating system says so",
        ),
        (
            ["run", "--model", "scripted", "--tasks", "TASK", "--seed", "x"],
            2,
            "--seed: expected one whole number",
        ),
        (
            ["run", "--model", "scripted", "--tasks", "TASK", "--seed", "-1"],
            2,
            "--seed: expected one whole number from 0 up",
        ),
        (
            ["run", "--model", "scripted", "--tasks", "TASK", "-b", "0"],
            2,
            "--batch-size: expected a whole number",
        ),
        (
            ["run", "--model", "scripted", "--tasks", "TASK", "-b", "\N{SUPERSCRIPT TWO}"],
            2,
            "--batch-size: expected a whole number",
        ),
        (
            ["run", "--model", "scripted", "--tasks", "TASK", "--gen_kwargs", "x"],
            2,
            "--gen-kwargs: expected key",
        ),
        (
            ["run", "--model", "scripted", "--tasks", "TASK", "--gen_kwargs", "temperature=[a"],
            2,
            "--gen-kwargs: temperature: '[a' is no YAML value",
        ),
        (
            ["run", "--model", "scripted", "--tasks", "TASK", "--gen_kwargs", "top_k=2021-13-45"],
            2,
            "is no timestamp",
        ),
        (
            ["run", "--model", "scripted", "--tasks", "TASK", "--gen_kwargs", '{"top_k": 1e999}'],
            2,
            "top_k: expected a whole number",
        ),
        (
            ["run", "--model", "scripted", "--tasks", "TASK", "--fewshot_as_multiturn", "true"],
            2,
            "needs --apply",
        ),
        (
            ["run", "--model", "scripted", "--tasks", "TASK", "--fewshot_as_multiturn", "[yes"],
            2,
            "expected true or false, found '[yes'",
        ),
        (
            ["run", "--model", "llamacpp", "--model_args", "pretrained=no.gguf", "--tasks", "TASK"],
            6,
            "no.gguf",
        ),
        (["score", "nowhere"], 2, "nowhere is not a run folder"),
    ],
)
def test_a_wrong_command_is_one_paragraph_with_the_right_status(
    task: str, tmp_path: Path, words: list[str], status: int, said: str
) -> None:
    done = resit(*[task if word == "TASK" else word for word in words], cwd=tmp_path)
    assert done.returncode == status, done.stderr
    assert said in done.stderr
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "runs").exists(), "nothing was written"


@pytest.mark.parametrize("share", ["nan", "2", "-0.1"])
def test_a_share_that_is_none_is_refused(task: str, tmp_path: Path, share: str) -> None:
    words = ["run", "--model", "scripted", "--tasks", task, "--max-error-share", share]
    done = resit(*words, cwd=tmp_path)
    assert (done.returncode, list(tmp_path.glob("runs/*"))) == (2, [])
    assert "'--max-error-share'" in done.stderr


def test_a_corrupt_model_file_is_an_asset_that_cannot_be_had(task: str, tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="pip install 'resit[llamacpp]'")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(500))
    done = resit(
        "run", "--model", "llamacpp", "--model_args", f"pretrained={broken}", "--tasks", task, cwd=tmp_path
    )
    assert done.returncode == 6
    assert "broken.gguf" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_is_scored_shown_and_continued(task: str, tmp_path: Path) -> None:
    words = ("run", "--model", "scripted", "--model_args", "text={target}", "--tasks", task, "--json")
    first = resit(*words, "--limit", "2", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    results = json.loads(first.stdout)
    assert results["results"]["sums"]["exact_match,none"] == 1.0
    assert results["n-samples"]["sums"] == {"original": 4, "effective": 2}
    (folder,) = (tmp_path / "runs").iterdir()
    assert json.loads((folder / "results.json").read_text("utf-8")) == results
    second = resit(*words, cwd=tmp_path)
    assert "2 of 4 samples are on file already" in second.stderr
    scored = resit("score", str(folder), "--json")
    assert json.loads(scored.stdout) == json.loads(second.stdout)


def test_another_identity_ends_with_status_3(task: str, tmp_path: Path) -> None:
    words = ("run", "--model", "scripted", "--tasks", task, "--output_path", str(tmp_path / "run"))
    assert resit(*words).returncode == 0
    done = resit(*words, "--seed", "7")
    assert done.returncode == 3
    assert "seed: the run has 1234, this command asks for 7" in done.stderr


def test_errored_samples_end_with_status_5_and_are_not_wrong_answers(task: str, tmp_path: Path) -> None:
    words = ("run", "--model", "scripted", "--model_args", "text={target},error_docs=2", "--tasks", task)
    done = resit(*words, "--json", cwd=tmp_path)
    assert done.returncode == 5
    assert "1 of 4 samples errored" in done.stderr
    assert json.loads(done.stdout)["results"]["sums"]["exact_match,none"] == 1.0
    allowed = resit(*words, "--max-error-share", "0.5", cwd=tmp_path)
    assert allowed.returncode == 0, allowed.stderr


def test_help_imports_no_heavy_package() -> None:
    code = (
        "import sys; sys.argv = ['resit', '--help']\n"
        "import resit.cli\n"
        "try: resit.cli.main()\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'transformers', 'vllm', 'ray', 'xllamacpp', 'sympy', 'scipy', 'numpy',\n"
        "         'aiohttp', 'jinja2', 'pydantic', 'reasoning_gym', 'pandas', 'huggingface_hub'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "resit run -M llamacpp" in done.stdout


@pytest.mark.parametrize("spelling", ["--output_path", "--output-path"])
def test_both_spellings_of_an_option_work(task: str, tmp_path: Path, spelling: str) -> None:
    done = resit("run", "--model", "scripted", "--tasks", task, spelling, str(tmp_path / "a_b"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a_b" / "results.json").exists()


def test_an_ascii_terminal_gets_escapes_not_a_crash(tmp_path: Path) -> None:
    done = resit("score", "nír", PYTHONIOENCODING="ascii", cwd=tmp_path)
    assert done.returncode == 2
    assert "is not a run folder" in done.stderr


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("metric_list: [{metric: exact_mach}]", "exact_match"),
        ("filter_list: [{name: f, filter: [{function: regexp}]}]", "regex"),
        ("resit: {rules: [robst]}", "robust"),
        ("resit: {options: {tolerence: 3}}", "tolerance"),
    ],
)
def test_a_fault_in_the_rules_costs_no_generation(task: str, tmp_path: Path, keys: str, said: str) -> None:
    with Path(task).open("a", encoding="utf-8") as file:
        file.write(keys + "\n")
    done = resit("run", "-M", "scripted", "-t", task, "-o", str(tmp_path / "run"))
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "sums.yaml" in done.stderr
    assert not (tmp_path / "run").exists()


def test_scoring_one_task_keeps_the_others_results(task: str, tmp_path: Path) -> None:
    other = tmp_path / "more.yaml"
    other.write_text(Path(task).read_text("utf-8").replace("task: sums", "task: more"), encoding="utf-8")
    folder = str(tmp_path / "run")
    assert resit("run", "-M", "scripted", "-t", f"{task},{other}", "-o", folder).returncode == 0
    whole = (tmp_path / "run" / "results.json").read_bytes()
    done = resit("score", folder, "--tasks", "more", "--json")
    shown = json.loads(done.stdout)
    assert list(shown["results"]) == list(shown["resit"]["tasks"]) == ["more"]
    assert (tmp_path / "run" / "results.json").read_bytes() == whole


def test_an_export_stays_in_its_folder(task: str, tmp_path: Path) -> None:
    wicked = tmp_path / "wicked.yaml"
    wicked.write_text(
        Path(task).read_text("utf-8").replace("task: sums", "task: ../../evil"), encoding="utf-8"
    )
    folder = str(tmp_path / "run")
    assert resit("run", "-M", "scripted", "-t", str(wicked), "-o", folder).returncode == 0
    for shape in ("lm-eval", "jsonl", "parquet"):
        done = resit("export", folder, "--format", shape, "-o", str(tmp_path / "out" / shape))
        assert done.returncode == 0, done.stderr
        assert any("evil" in path.name for path in (tmp_path / "out" / shape).iterdir())


def test_without_arguments_every_verb_is_named_by_its_job() -> None:
    import typer

    from resit.cli import app
    from resit.cli.overview import JOBS

    done = resit()
    assert done.returncode == 0
    assert done.stderr == ""
    assert max(map(len, done.stdout.splitlines())) <= 80
    named = [verb for verbs in JOBS.values() for verb in verbs]
    assert sorted(named) == sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    assert all(f"  resit {verb} " in done.stdout for verb in named)


def _leaves(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    for name, inner in getattr(command, "commands", {}).items():
        yield from _leaves(inner, (*words, name))


def test_every_help_page_ends_with_commands_to_copy() -> None:
    import typer

    from resit.cli import app

    for words in _leaves(typer.main.get_command(app)):
        command: Any = typer.main.get_command(app)
        for word in words:
            command = command.commands[word]
        assert "Example" in (command.epilog or ""), words
        assert " ".join(("resit", *words)) in command.epilog, words


@pytest.mark.parametrize(
    ("words", "completion"),
    [("resit com", "compare"), ("resit run --mod", "--model-args"), ("resit tasks v", "validate")],
)
def test_bash_completes_verbs_and_options(words: str, completion: str) -> None:
    bash, program = shutil.which("bash"), Path(sys.executable).with_name("resit")
    if bash is None:
        pytest.skip("this machine has no bash")
    assert program.exists(), "install the project: pip install -e '.[dev]'"
    script = f'''
        PATH="{program.parent}:$PATH"
        eval "$(_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION=1 resit --show-completion bash)"
        COMP_WORDS=({words}) COMP_CWORD={len(words.split()) - 1}
        _resit_completion resit
        printf '%s\\n' "${{COMPREPLY[@]}}"
    '''
    done = subprocess.run([bash, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert completion in done.stdout.split(), done.stderr


def test_a_value_that_is_no_json_names_its_option() -> None:
    with pytest.raises(UsageError, match=r"--gen-kwargs: foo: a date is no JSON value, found datetime\.date"):
        options.settings("--gen-kwargs", "foo=2024-01-01")
