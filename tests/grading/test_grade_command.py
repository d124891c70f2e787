"""`resit grade`: one verdict explained, many as JSON lines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from resit.grading.lines import BadLine, grade_lines
from resit.records import Verdict


def resit(*words: str, feed: bytes = b"") -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", "from resit.cli import main; main()", "grade", *words],
        input=feed,
        capture_output=True,
        check=False,
    )
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")


def test_one_verdict_as_json() -> None:
    status, out, _ = resit("--answer", "so \\boxed{63}.", "--gold", "63", "--json")
    assert status == 0
    assert json.loads(out) == {
        "extracted": "63",
        "correct": True,
        "rule": "robust",
        "span": [10, 12],
        "reason": "boxed",
    }


def test_a_verdict_without_an_answer_has_no_place() -> None:
    status, out, _ = resit("--answer", "Who knows?", "--gold", "63", "--json")
    verdict = json.loads(out)
    assert (status, verdict["extracted"], verdict["correct"], verdict["span"]) == (0, None, False, None)


def test_one_verdict_explained_beside_the_other_rules() -> None:
    status, out, _ = resit("--answer", "She pays $1,063.00 in all.", "--gold", "1063")
    assert status == 0
    assert "lm_eval_flexible" in out
    assert "1063" in out
    assert "$1,063.00" in out


def test_lines_in_and_verdicts_out(tmp_path: Path) -> None:
    lines = tmp_path / "answers.jsonl"
    lines.write_bytes(
        b'\xef\xbb\xbf{"answer": "The answer is 63.", "gold": "63"}\n'
        b"not json\n"
        b'\n{"answer": "5"}\n'
        b'{"answer": null, "gold": 5}\r\n'
        b'{"answer": ["5"], "gold": "5"}\n'
        b'{"answer": "\\ud800 #### 5\\u2028", "gold": 5, "finish_reason": "stop"}\n'
        b'{"answer": "so 5", "gold": "5", "finish_reason": "length"}'
    )
    status, out, err = resit("--jsonl", str(lines))
    assert status == 2
    verdicts = [json.loads(line) for line in out.splitlines()]
    assert [(v["extracted"], v["correct"]) for v in verdicts] == [
        ("63", True),
        (None, False),
        ("5", True),
        (None, False),
    ]
    assert all(list(v) == ["extracted", "correct", "rule", "span", "reason"] for v in verdicts)
    for number in (2, 4, 6):
        assert f"answers.jsonl:{number}: " in err
    assert "3 lines" in err


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("[1, 2]", 'expected {"answer": …, "gold": …}, found list'),
        ("{}", 'no "answer" in it, only nothing'),
        ('{"answer": "5", "golden": "5"}', "no \"gold\" in it, only 'answer', 'golden'"),
        ('{"answer": 5, "gold": "5"}', '"answer" must be text or null, found int'),
        ('{"answer": "5", "gold": true}', '"gold" must be text or a number, found bool'),
        ('{"answer": "5", "gold": null}', '"gold" must be text or a number, found NoneType'),
        ("[" * 100_000, "not JSON: "),
    ],
)
def test_a_line_that_cannot_be_graded_says_why(line: str, problem: str) -> None:
    (found,) = grade_lines([line.encode()], "robust", {})
    assert isinstance(found, BadLine)
    assert found.number == 1
    assert found.problem.startswith(problem)


def test_a_line_may_say_how_its_answer_ended() -> None:
    stopped = b'{"answer": "so 5", "gold": 5, "finish_reason": "stop"}'
    lines = [stopped, b"", b'{"answer": "so 5", "gold": 5.0}']
    found = list(grade_lines(lines, "robust", {"finish_reason": "length"}))
    assert [verdict.reason for verdict in found if isinstance(verdict, Verdict)] == [
        "last number stated",
        "truncated",
    ]


def test_lines_from_standard_input_under_another_rule() -> None:
    status, out, err = resit(
        "--jsonl", "-", "--rule", "lm_eval_strict", feed=b'{"answer": "18", "gold": "18"}\n'
    )
    assert (status, err) == (0, "")
    assert json.loads(out) == {
        "extracted": None,
        "correct": False,
        "rule": "lm_eval_strict",
        "span": None,
        "reason": "no match",
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--answer", "5"], "--answer and --gold are both needed"),
        (["--answer", "5", "--gold", "5", "--rule", "robst"], "did you mean 'robust'?"),
        (["--jsonl", "-", "--gold", "5"], "--jsonl brings its own"),
        (["--jsonl", "/nowhere/at/all"], "cannot be read"),
        (["--answer", "5", "--gold", "5", "--tolerance", "wide"], "tolerance must be a number"),
        (["--answer", "5", "--gold", "5", "--finish-reason", "cut"], "expected stop or length, found 'cut'"),
    ],
)
def test_a_usage_error_is_one_message_and_status_2(words: list[str], message: str) -> None:
    status, out, err = resit(*words)
    assert (status, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
