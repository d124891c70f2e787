"""The workers for symbolic answers: killed when they overrun, replaced, never in the way of another."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator

import pytest

from resit.errors import ResitError
from resit.grading import grade, symbolic
from resit.grading.filters import Unscorable
from resit.grading.verifier import Overrun, Verifier

OBEDIENT = """
import json, os, sys, time
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if request["do"] == "hang":
        time.sleep(3600)
    if request["do"] == "die":
        sys.exit(1)
    if request["do"] == "turn away":
        os.close(0)
    print(json.dumps({"echo": request["do"]}), flush=True)
"""


@pytest.fixture
def verifier() -> Iterator[Verifier]:
    made = Verifier(workers=2, timeout=3.0, command=[sys.executable, "-c", OBEDIENT])
    yield made
    made.close()


def test_a_worker_is_kept_for_the_next_request(verifier: Verifier) -> None:
    assert [verifier.ask({"do": str(i)}) for i in range(5)] == [{"echo": str(i)} for i in range(5)]
    assert verifier.overruns == 0


@pytest.mark.parametrize("misdeed", ["hang", "die"])
def test_a_worker_that_does_not_answer_is_replaced(verifier: Verifier, misdeed: str) -> None:
    for _ in range(3):
        started = time.monotonic()
        with pytest.raises(Overrun):
            verifier.ask({"do": misdeed})
        assert time.monotonic() - started < 60
    assert verifier.ask({"do": "well"}) == {"echo": "well"}
    assert verifier.overruns == 3


def test_a_worker_that_takes_no_more_requests_is_replaced(verifier: Verifier) -> None:
    assert verifier.ask({"do": "turn away"}) == {"echo": "turn away"}
    with pytest.raises(Overrun):
        verifier.ask({"do": "well"})
    assert verifier.ask({"do": "well"}) == {"echo": "well"}


def test_a_request_that_cannot_be_sent_is_no_overrun(verifier: Verifier) -> None:
    with pytest.raises(TypeError):
        verifier.ask({"do": object()})
    assert verifier.ask({"do": "well"}) == {"echo": "well"}
    assert verifier.overruns == 0


def test_threads_share_the_workers_and_hangs_do_not_starve_the_others(verifier: Verifier) -> None:
    answers: list[str] = []

    def work(name: str) -> None:
        try:
            answers.append(verifier.ask({"do": name})["echo"])
        except Overrun:
            answers.append("overrun")

    threads = [threading.Thread(target=work, args=("hang" if i % 4 == 0 else "well",)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(answers) == ["overrun"] * 4 + ["well"] * 12
    assert verifier.overruns == 4


def test_a_worker_that_cannot_start_says_why() -> None:
    broken = Verifier(command=[sys.executable, "-c", 'print(\'{"error": "no math_verify"}\')'])
    with pytest.raises(ResitError, match="no math_verify") as raised:
        broken.ask({"do": "x"})
    assert raised.value.hint == "pip install 'resit[math]'"


def test_a_worker_that_ends_at_once_keeps_no_place() -> None:
    ended = Verifier(workers=1, command=[sys.executable, "-c", ""])
    for _ in range(3):
        with pytest.raises(Overrun):
            ended.ask({"do": "x"})


def test_where_no_worker_can_start_no_answer_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Verifier(command=[sys.executable, "-c", 'print(\'{"error": "no sympy"}\')'])
    monkeypatch.setattr(symbolic, "is_installed", lambda: True)
    monkeypatch.setattr(symbolic, "shared_verifier", lambda: broken)
    verdict = grade("\\boxed{x}", "y", "math")
    assert verdict.extracted is None
    assert "no sympy" in verdict.reason


@pytest.mark.parametrize(
    ("answer", "finish_reason", "reason"),
    [
        ("so \\boxed{x", "length", "truncated"),
        (" \n", "stop", "no answer found"),
        ("<think>x</think>\n", "stop", "no answer found"),
        ("<think>x", "length", "unfinished reasoning"),
    ],
)
def test_what_states_nothing_is_not_even_asked(
    answer: str, finish_reason: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(symbolic, "ask", None)
    verdict = grade(answer, "x+1", "math", finish_reason=finish_reason)
    assert (verdict.extracted, verdict.correct, verdict.reason) == (None, 0.0, reason)


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        ("1+x", "\\boxed{x+1}", True),
        ("(1,\\infty)", "The answer is $(1,\\infty)$.", True),
        ("(1,\\infty)", "The answer is $[1,\\infty)$.", False),
        ("2\\pi", "we get \\boxed{2\\pi}", True),
        ("2\\pi", "we get \\boxed{6\\pi}", False),
        ("\\frac{\\sqrt3}{2}", "$\\frac{\\sqrt{3}}{2}$", True),
        ("\\forall x>2, g(x) = 0", "g(x) = 0", False),
        ("n = 5k", "5", False),
        ("x^2", "<think>\\boxed{x^2}", False),
        ("x^2", "<think>\\boxed{x^3}</think>\\boxed{x^2}", True),
        ("x^2", "\\boxed{x^2}\n\nQuestion: next?\n\\boxed{x^3}", True),
    ],
)
def test_expressions_are_judged_by_math_verify(gold: str, answer: str, right: bool) -> None:
    pytest.importorskip("math_verify")
    for rule in ("robust", "math"):
        verdict = grade(answer, gold, rule)
        assert (verdict.rule, bool(verdict.correct)) == (rule, right), verdict


@pytest.mark.parametrize(
    "tower", ["9^{9^{9^{9}}}", "10^{10^{10}}", "(10^6)^{99999}", "(9999999)!", "2**3**4**5"]
)
def test_a_tower_is_an_overrun_and_not_a_wrong_answer(tower: str) -> None:
    pytest.importorskip("math_verify")
    started = time.monotonic()
    verdicts = [grade(f"\\boxed{{{tower}}}", "x+1") for _ in range(50)]
    assert {(v.extracted, v.reason) for v in verdicts} == {(None, symbolic.OVERRUN)}
    assert time.monotonic() - started < 60, "their 50 limits would be 250 seconds"


def test_from_a_thread_there_is_no_signal_to_miss() -> None:
    pytest.importorskip("math_verify")
    verdicts = []
    thread = threading.Thread(target=lambda: verdicts.append(grade("\\boxed{y+1}", "1+y")))
    thread.start()
    thread.join(timeout=120)
    assert verdicts[0].correct == 1.0


def test_without_the_extra_nothing_is_judged_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbolic, "is_installed", lambda: False)
    verdict = grade("\\boxed{x}", "x")
    assert (verdict.extracted, verdict.correct) == (None, 0.0)
    assert "pip install 'resit[math]'" in verdict.reason
    with pytest.raises(Unscorable):
        symbolic.ask({"operation": "same", "left": "x", "right": "y"})
