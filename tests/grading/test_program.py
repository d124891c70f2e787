"""Programs as answers: which part of a response is the program, and what its value is worth."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from resit.errors import UsageError
from resit.grading import grade
from resit.grading.program import NEEDS_TRUST, find_program
from resit.grading.rules import with_trust
from resit.grading.sandbox import Sandbox
from resit.records import FilterChain, FilterStep, ScoringRules

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="programs run where processes can be forked")

SOLUTION = "def solution():\n    return 18\n"
CODE = f"```python\n{SOLUTION}```\n"
FENCED = "Here it is:\n```python\ndef solution():\n    return 16 - 3 - 4\n```\nThat gives 9."


@pytest.mark.parametrize(
    ("response", "found"),
    [
        (FENCED, "def solution():\n    return 16 - 3 - 4\n"),
        ("```\nans = 1\n```", "ans = 1\n"),
        ("```py\nans = 1\n```\nor rather\n```Python3\nans = 2\n```", "ans = 2\n"),
        ("```python\nans = 1", "ans = 1"),
        ("  ```python\n  ans = 1\n  ```", "  ans = 1\n"),
        ("```python\n\n```\nans = 3", "ans = 3"),
        (f"{CODE}```output\n18\n```\nSo she makes $18.", SOLUTION),
        (f"{CODE}Output:\n```text\nans = 3\n```", SOLUTION),
        (f"```bash\npip install this\n```\n{CODE}", SOLUTION),
        (f"{CODE}```\n18\n```", SOLUTION),
        (f"{CODE}```\ntotal = 18\n```", SOLUTION),
        (f"{CODE}```python\nprint(solution())\n```", SOLUTION),
        (f"{CODE}```\nprint(solution())\n```\nIt prints `18`.", SOLUTION),
        (f"```\ndef solution():\n    return 9\n```\nNo:\n{CODE}", SOLUTION),
        ("```python\nx = 1\nprint(x)\n```\n```\ntotal = 1\n```", "x = 1\nprint(x)\n"),
        ("```\nx = 1\nprint(x)\n```\n```\n1\n```", "x = 1\nprint(x)\n"),
        ("```python\nans = 1\n```python\nans = 2\n```", "ans = 2\n"),
        ("```python\nans = 1\n``` that is, `ans`\n```output\n1\n```", "ans = 1\n"),
        ("```print(5)```\nans = 1", "ans = 1"),
        ("```{python}\nans = 2\n```", "ans = 2\n"),
        ("def solution():\n    return 2\n```output\n2\n```", "def solution():\n    return 2\n"),
        ("```\n18\n```", "18\n"),
        ("```js\nx = 3\n```", None),
        ("```bash\nx = 3\n```\nans = 4\n```\n```", "ans = 4\n"),
        ("Sure.\ndef solution():\n    return 2\n", "def solution():\n    return 2\n"),
        ("total_cost = 3 * 4\nans = total_cost", "total_cost = 3 * 4\nans = total_cost"),
        ("import math\nprint(math.pi)", "import math\nprint(math.pi)"),
        ("The answer is 18.", None),
        ("2 + 2 = 4", None),
        ("", None),
        ("ans = 18\n```\n\nThis gives 18.", "ans = 18\n"),
        ("Here:\n```\n\nThis gives 18.", "\nThis gives 18."),
    ],
)
def test_where_the_program_is(response: str, found: str | None) -> None:
    span = find_program(response, 0, len(response))
    assert (None if span is None else response[slice(*span)]) == found


def run(response: str, gold: str = "9", **options: object) -> tuple[str | None, float, str]:
    verdict = grade(response, gold, "program", trust_model_code=True, **options)  # type: ignore[arg-type]
    return verdict.extracted, verdict.correct, verdict.reason


@pytest.mark.parametrize(
    ("response", "gold", "verdict"),
    [
        (FENCED, "9", ("9", 1.0, "run")),
        (FENCED, "It is so.\n#### 9", ("9", 1.0, "run")),
        (FENCED, "10", ("9", 0.0, "run")),
        ("```python\ndef solution():\n    return 1.87 * 9\n```", "16.83", ("16.83", 1.0, "run")),
        ("ans = '$1,000.00'", "1000", ("1000", 1.0, "run")),
        ("print('The total is 7')", "7", (None, 0.0, "its value is no number: The total is 7")),
        ("print(7)", "7", ("7", 1.0, "run")),
        ("ans = 1 / 0", "7", (None, 0.0, "ZeroDivisionError: division by zero")),
        ("The answer is 9.", "9", (None, 0.0, "no program found")),
        ("<think>def solution(): return 9", "9", (None, 0.0, "unfinished reasoning")),
        ("<think>\nans = 1\n</think>\nans = 9", "9", ("9", 1.0, "run")),
        ("while True:\n    ans = 1", "9", (None, 0.0, "no program found")),
    ],
)
def test_verdicts(response: str, gold: str, verdict: tuple[str | None, float, str]) -> None:
    assert run(response, gold) == verdict


def test_a_value_may_be_off_by_the_tolerance_that_is_asked_for() -> None:
    assert run("ans = 9.004", tolerance="0.01")[:2] == ("9.004", 1.0)
    assert run("ans = 9.02", tolerance="0.01")[:2] == ("9.02", 0.0)


def test_a_program_after_the_end_is_not_the_answer() -> None:
    text = "```\nans = 1\n```\n"
    assert find_program(f"{text}```\nans = 2\n```", 0, len(text)) == find_program(text, 0, len(text))


def test_a_program_that_was_cut_off() -> None:
    assert run("```python\ndef solution():\n    return (9 +", finish_reason="length") == (
        None,
        0.0,
        "truncated",
    )


def test_where_nothing_can_be_compared_or_run_no_answer_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("ans = 9", "nine or so hats")[2].startswith("the gold answer is no number")
    broken = Sandbox(script=tmp_path / "absent.py")
    monkeypatch.setattr("resit.grading.sandbox.shared_sandbox", lambda: broken)
    assert "did not start" in run("ans = 9 + 0 * 123")[2]


def test_nothing_is_run_without_the_users_leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_it(source: str) -> None:
        raise AssertionError("it was run")

    monkeypatch.setattr("resit.grading.program._outcome", run_it)
    verdict = grade(FENCED, "9", "program")
    assert (verdict.extracted, verdict.correct, verdict.reason) == (None, 0.0, NEEDS_TRUST)
    assert verdict.span is not None


def test_rules_that_run_programs_need_trust() -> None:
    chain = FilterChain("none", (FilterStep("take_first"),))
    plain = ScoringRules((chain,), (), named=("robust",))
    running = ScoringRules((chain,), (), named=("program",))
    assert with_trust(plain, False) is plain
    assert with_trust(running, True).options == {"trust_model_code": True}
    with pytest.raises(UsageError, match="runs the Python") as raised:
        with_trust(running, False)
    assert "--trust-model-code" in raised.value.hint


@pytest.fixture
def resit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Runs the command line in an empty folder with one task that runs programs."""
    from resit.cli import main

    (tmp_path / "pot.yaml").write_text(
        "task: pot\ndataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\ntest_split: test\n"
        "doc_to_text: '{{question}}'\ndoc_to_target: '{{answer}}'\nnum_fewshot: 0\n"
        "resit: {headline: 'exact_match,program', rules: [program]}\n",
        encoding="utf-8",
    )
    (tmp_path / "rows.jsonl").write_text('{"question": "3 plus 4?", "answer": "7"}\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["resit", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return int(ended.value.code or 0), shown.out + shown.err

    return call


MODEL = ("run", "--model", "scripted", "--model-args", '{"text": "ans = 3 + 4"}', "--tasks", "pot.yaml")


def test_a_run_is_refused_before_anything_is_generated(resit: Callable[..., tuple[int, str]]) -> None:
    status, said = resit(*MODEL, "-o", "r")
    assert status == 2
    assert "--trust-model-code" in said
    assert not Path("r").exists()


def test_a_run_with_leave_and_scoring_it_without(resit: Callable[..., tuple[int, str]]) -> None:
    status, said = resit(*MODEL, "-o", "r", "--trust-model-code")
    assert status == 0
    assert "program *" in said
    assert "1.0000" in said
    assert "trust_model_code" not in Path("r/run.json").read_text(encoding="utf-8")
    before = Path("r/results.json").read_bytes()
    status, said = resit("score", "r")
    assert status == 2
    assert Path("r/results.json").read_bytes() == before
    assert resit("score", "r", "--trust-model-code")[0] == 0
    assert Path("r/results.json").read_bytes() == before


def test_where_the_kernel_does_not_hold_programs_the_user_is_told(
    resit: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "kernel" not in resit(*MODEL, "-o", "a", "--trust-model-code")[1]
    monkeypatch.setattr("resit.grading.sandbox.shared_sandbox", _Unlocked)
    assert "kernel does not filter" in resit(*MODEL, "-o", "b", "--trust-model-code")[1]


class _Unlocked:
    locked = False

    def start(self) -> None: ...


def test_where_nothing_can_be_forked_a_run_is_refused(
    resit: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resit.grading.sandbox.shared_sandbox", Sandbox)
    monkeypatch.delattr(os, "fork")
    status, said = resit(*MODEL, "-o", "r", "--trust-model-code")
    assert status == 2
    assert "no fork" in said
    assert not Path("r").exists()


def test_a_task_cannot_have_itself_trusted(resit: Callable[..., tuple[int, str]]) -> None:
    path = Path("pot.yaml")
    text = path.read_text(encoding="utf-8").replace(
        "rules: [program]}", "rules: [program], options: {trust_model_code: true}}"
    )
    path.write_text(text, encoding="utf-8")
    status, said = resit(*MODEL, "-o", "r", "--trust-model-code")
    assert status == 2
    assert "cannot have itself trusted" in said


def test_a_file_of_another_cannot_bring_trust(resit: Callable[..., tuple[int, str]]) -> None:
    resit(*MODEL, "-o", "r", "--trust-model-code")
    Path("pot.yaml").unlink()
    record = Path("r/run.json")
    text = record.read_text(encoding="utf-8")
    assert '"options": {}' in text
    forged = text.replace('"options": {}', '"options": {"trust_model_code": true}')
    record.write_text(forged, encoding="utf-8")
    status, said = resit("score", "r")
    assert status == 2
    assert "--trust-model-code" in said


def test_validation_proves_such_a_task(resit: Callable[..., tuple[int, str]]) -> None:
    status, said = resit("tasks", "validate", "pot.yaml")
    assert status == 0, said
    assert "program: 1 golds right" in said
