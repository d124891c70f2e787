"""The process for math-verify and sympy, asked over its own channel and left to end by itself."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("math_verify", reason="needs `pip install 'resit[math]'`")

VERIFIED = [
    ("So it is \\boxed{\\frac{1}{2}}.", "0.5", True),
    ("1/2", "\\frac{1}{2}", True),
    ("$x+1$", "1+x", True),
    ("\\boxed{3}", "4", False),
    ("I do not know the answer", "4", False),
]
SAME = [
    ("\\frac{1}{2}", "0.5", True),
    ("x+x", "2x", True),
    ("3", "3.0000001", True),
    ("3", "3.01", False),
    ("x", "y", False),
    ("x_1", "x_1", False),
    ("é(", "1", False),
    ("\\frac{", "1", False),
]


WITHOUT_SYMPY = """
import runpy, sys
sys.modules["latex2sympy2_extended"] = None
runpy.run_module("resit.grading.math_worker", run_name="__main__")
"""


def answers(*requests: dict[str, Any]) -> list[dict[str, Any]]:
    """Its replies to the requests; the input then ends, and so does the process."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "resit.grading.math_worker"],
        input="".join(json.dumps(request) + "\n" for request in requests),
        capture_output=True, encoding="utf-8", timeout=600, check=True,
    )  # fmt: skip
    ready, *replies = map(json.loads, done.stdout.splitlines())
    assert ready == {"ready": True}
    return replies


def test_answers_are_verified_and_compared() -> None:
    asked = [{"operation": "verify", "answer": answer, "gold": gold} for answer, gold, _ in VERIFIED]
    asked += [{"operation": "same", "left": left, "right": right} for left, right, _ in SAME]
    found = answers(*asked)
    assert [reply["equal"] for reply in found] == [equal for *_, equal in [*VERIFIED, *SAME]]
    assert [reply["extracted"] is None for reply in found[: len(VERIFIED)]] == [False] * 4 + [True]


def test_what_it_cannot_do_is_said_and_does_not_end_it() -> None:
    unknown, gold, well = answers(
        {"operation": "divine"},
        {"operation": "verify", "answer": "1", "gold": "\\boxed{}"},
        {"operation": "same", "left": "1", "right": "1"},
    )
    assert unknown == {"error": "KeyError: 'divine'"}
    assert gold == {"error": "the gold answer cannot be parsed"}
    assert well == {"equal": True}


def test_without_its_libraries_it_says_so_and_ends() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SYMPY],
        input="",
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=True,
    )
    (reply,) = map(json.loads, done.stdout.splitlines())
    assert "latex2sympy2_extended" in reply["error"]
