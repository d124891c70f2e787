"""`--fresh-seed`: an exam of one's own, on every verb that asks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from resit.assets.splits import VARIANTS
from resit.cli.options import folder_name
from resit.tasks import select
from resit.tasks.exams import reseeded

pytest.importorskip("reasoning_gym", reason="the generator of fresh problems (resit[demo])")

ASK = ("-M", "scripted", "-a", "text={target}", "-t", "gsm_fresh", "--limit", "2")


def asked(folder: Path) -> list[str]:
    lines = (folder / "prompts.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["doc"]["question"] for line in lines]


def test_another_seed_is_another_exam(command: Callable, tmp_path: Path) -> None:
    for name, words in {"own": ("--fresh-seed", 7391), "again": ("--fresh-seed", 7391), "all": ()}.items():
        assert command("run", *ASK, *words, "-o", tmp_path / name, "--json").status == 0
    assert asked(tmp_path / "own") == asked(tmp_path / "again")
    assert not {*asked(tmp_path / "own")} & {*asked(tmp_path / "all")}


def test_two_exams_do_not_share_a_folder(command: Callable, tmp_path: Path) -> None:
    assert command("run", *ASK, "--fresh-seed", 7391, "-o", tmp_path / "run").status == 0
    other = command("run", *ASK, "-o", tmp_path / "run")
    assert other.status == 3
    assert 'dataset_kwargs: the run has {"seed": 7391}' in other.err


@pytest.mark.parametrize("words", [(), ("-o", "here")])
def test_seed_0_is_everybodys(
    command: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("run", *ASK, *words).status == 0
    again = command("run", *ASK, "--fresh-seed", 0, *words)
    assert (again.status, "2 of 2 samples are on file already" in again.err) == (0, True)


def test_seed_0_is_another_one_where_the_task_has_its_own() -> None:
    chosen = select(["gsm_fresh", "gsm_template_variants"]).tasks
    own = reseeded(chosen, 5)
    assert [task.config.dataset_kwargs["seed"] for task in reseeded(own, 0)] == [0, 0]
    assert reseeded(own, 5) == own
    assert reseeded(chosen, 0, VARIANTS) == list(chosen)
    more = [task.config.dataset_kwargs for task in reseeded(chosen, 0, VARIANTS + 1)]
    assert more == [chosen[0].config.dataset_kwargs, {"seed": 0, "variants": VARIANTS + 1}]


def test_an_exam_has_a_default_folder_of_its_own(
    command: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in ((), ("--fresh-seed", 7), ("--fresh-seed", 8), ("--fresh-seed", 7)):
        assert command("run", *ASK, *words).status == 0
    folders = [*(tmp_path / "runs").iterdir()]
    assert len(folders) == 3
    identities = [json.loads((folder / "run.json").read_text("utf-8"))["identity"] for folder in folders]
    everybodys = next(i for i in identities if not (i["tasks"]["gsm_fresh"]["dataset"]["dataset_kwargs"]))
    assert folder_name("scripted", everybodys) in [folder.name for folder in folders]


def test_the_prompts_are_those_of_the_exam(command: Callable, tmp_path: Path) -> None:
    assert command("run", *ASK, "--fresh-seed", 5, "-o", tmp_path / "run").status == 0
    shown = command("prompts", "gsm_fresh", "--limit", 2, "--fresh-seed", 5, "--json").json["prompts"]
    assert all(
        question in prompt["prompt"] for question, prompt in zip(asked(tmp_path / "run"), shown, strict=True)
    )


def test_a_plan_asks_the_exam(command: Callable) -> None:
    assert command("plan", *ASK, "--fresh-seed", 5, "--calibrate", 2, "--json").status == 0


@pytest.mark.parametrize("verb", [("run", *ASK[:4], "-t"), ("plan", *ASK[:4], "-t"), ("prompts",)])
def test_nothing_generated_is_nothing_to_seed(
    command: Callable, sums: Callable[..., Path], verb: tuple[str, ...]
) -> None:
    refused = command(*verb, sums("plain"), "--fresh-seed", 5)
    assert refused.status == 2
    assert "--fresh-seed has no effect: none of the tasks is generated (plain)" in refused.err


STUDY = """\
models: [{{name: m, model: scripted, model_args: {{text: "{{target}}"}}}}]
tasks: {tasks}
limit: 2
output_path: {folder}
"""


def study(folder: Path, tasks: str, more: str = "") -> Path:
    path = folder / "study.yaml"
    path.write_text(STUDY.format(tasks=tasks, folder=folder / "study") + more, encoding="utf-8")
    return path


def test_a_study_asks_the_exam(command: Callable, tmp_path: Path, sums: Callable[..., Path]) -> None:
    entries = f"[gsm_fresh, {{name: everybodys, task: gsm_fresh, fresh_seed: 0}}, {sums()}]"
    done = command("run", study(tmp_path, entries, "fresh_seed: 5\n"))
    assert done.status == 0, done.err
    assert command("run", *ASK, "--fresh-seed", 5, "-o", tmp_path / "own").status == 0
    assert command("run", *ASK, "-o", tmp_path / "all").status == 0
    found = {name: asked(tmp_path / "study" / "m" / name) for name in ("gsm_fresh", "everybodys", "sums")}
    assert found["gsm_fresh"] == asked(tmp_path / "own")
    assert found["everybodys"] == asked(tmp_path / "all")
    assert found["sums"] == ["1 + 1?", "2 + 2?"], "a seed for all is for those that are generated"


def test_a_study_without_generated_questions_has_nothing_to_seed(
    command: Callable, tmp_path: Path, sums: Callable[..., Path]
) -> None:
    everywhere = command("run", study(tmp_path, f"[{sums()}]", "fresh_seed: 5\n"))
    assert (everywhere.status, "study.yaml: fresh_seed has no effect" in everywhere.err) == (2, True)
    at_the_task = study(tmp_path, f"[gsm_fresh, {{task: {sums()}, fresh_seed: 5}}]")
    refused = command("run", at_the_task)
    assert refused.status == 2
    assert "sums.yaml: fresh_seed has no effect: none of the tasks is generated (sums)" in refused.err
    assert not (tmp_path / "study").exists()
