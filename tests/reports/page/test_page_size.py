"""The whole of GSM8K in one file: its weight, and that it works; benchmarks/report_page.py times it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from resit.cli.reporting import write_report
from resit.cli.scoring import score_folder
from resit.models import create, parse_model_args
from resit.records import Verdict
from resit.runs.describe import about_run
from resit.runs.execute import run
from resit.runs.folder import RunFolder
from resit.runs.plan import Settings, make_plan
from resit.runs.progress import ConsoleObserver
from resit.stats import wilson_interval
from resit.tasks import load

pytestmark = pytest.mark.slow

MAIL = 4_000_000
"""Bytes that a file of 1319 samples may have."""


@pytest.fixture
def whole(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """1319 real responses under real prompts, five exemplars drawn anew for each question."""
    monkeypatch.setenv("RESIT_MIRROR", str(shared / "mirror"))
    log = shared / "logs" / "faithful_cot-gpt-3.5-turbo-COT.jsonl"
    lines = [json.loads(line) for line in log.read_bytes().split(b"\n") if line]
    script = tmp_path / "script.jsonl"
    texts = [{"doc_id": line["doc_id"], "text": line["response"]} for line in lines]
    script.write_text("".join(json.dumps(text) + "\n" for text in texts), encoding="utf-8")
    task = load(["gsm8k"])[0]
    args = parse_model_args(f"file={script}")
    model = create("scripted", args)
    plan = make_plan(model.identity(), [task], Settings())
    silent = ConsoleObserver(lambda *_: Verdict("none", None, 0.0), wilson_interval, io.StringIO())
    run(plan, model, tmp_path / "run", silent, about_run(plan, "scripted", "scripted", args))
    score_folder(RunFolder(tmp_path / "run"), {task.name: task.rules}, processes=1)
    return tmp_path / "run"


def test_1319_samples_fit_into_a_mail(opened: Callable, report_of: Callable[..., Path], whole: Path) -> None:
    page = opened(whole)
    assert page.file.stat().st_size <= MAIL
    assert "This file holds" not in page.words("footer")[0]
    assert page.words("#status") == ["1,319 questions"]
    page.page.fill("#search", "ducks lay 16 eggs")
    page.shows([0])
    page.page.locator("#detail .prompt details summary").first.click()
    assert page.page.locator("#detail .prompt details .verbatim").inner_text().count("Question:") == 5


def test_many_samples_are_bounded(shared: Path, tmp_path: Path, run_of: Callable) -> None:
    """What does not fit is chosen from, and the page says what it holds."""
    log = shared / "logs" / "faithful_cot-code002-COT.jsonl"
    texts = [json.loads(line)["response"] for line in log.read_bytes().split(b"\n") if line]
    answers = [
        {"responses": [f"{texts[(i * 7 + k) % len(texts)]} {i} {k}" for k in range(16)]} for i in range(700)
    ]
    file = write_report([run_of("large", answers, repeats=16)], tmp_path / "report.html")[0]
    assert file.stat().st_size <= MAIL
    assert f"of {16 * 700} texts" in file.read_text(encoding="utf-8")
