"""What people see of a run while it goes on."""

from __future__ import annotations

import io

import pytest

from resit.records import Document, Generation, Question, Verdict
from resit.runs import progress
from resit.runs.progress import ConsoleObserver
from resit.stats import wilson_interval

QUESTION = Question("sums", Document(0, "h", {}), "?", "18")


class Terminal(io.StringIO):
    """Somewhere to write to that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def judge(question: Question, generation: Generation) -> Verdict:
    right = generation.text == question.target
    return Verdict("robust", generation.text or None, float(right))


def sample(text: str = "18", **more: object) -> Generation:
    return Generation("sums", 0, "h", 0, 0, text=text, **more)  # type: ignore[arg-type]


def test_a_log_gets_a_line_now_and_then_and_one_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    observer = ConsoleObserver(judge, wilson_interval, stream)
    observer.started(5, 1)
    assert stream.getvalue() == "1 of 5 samples are on file already\n"
    observer.sample(QUESTION, sample())
    assert stream.getvalue().count("\n") == 1, "a minute has not passed"
    monkeypatch.setattr(progress, "LOG_SECONDS", 0.0)
    observer.sample(QUESTION, sample("", finish_reason="length", completion_tokens=7))
    monkeypatch.undo()
    observer.sample(QUESTION, sample("", error="HTTP 500"))
    observer.finished()
    _, now, last = stream.getvalue().splitlines()
    assert now.startswith("2/4 samples, accuracy 50.0% [9.5%, 90.5%], ")
    assert "tokens/s, 1 unextracted, 1 truncated, about " in now
    assert last.startswith("3/4 samples, accuracy 50.0%")
    assert "1 truncated, 1 errored" in last


def test_where_nothing_is_owed_nothing_is_said() -> None:
    stream = io.StringIO()
    observer = ConsoleObserver(judge, wilson_interval, stream)
    observer.started(0, 0)
    observer.finished()
    assert stream.getvalue() == ""


def test_a_terminal_gets_a_bar_that_is_taken_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    stream = Terminal()
    observer = ConsoleObserver(judge, wilson_interval, stream)
    observer.started(2, 0)
    observer.sample(QUESTION, sample())
    observer.note("the server cuts prompts [here]")
    observer.sample(QUESTION, sample("17"))
    observer.finished()
    shown = stream.getvalue()
    assert "loading the model" in shown
    assert "2/2" in shown
    assert "accuracy 50.0% [9.5%, 90.5%]" in shown
    assert "the server cuts prompts [here]" in shown
    assert "samples, " not in shown, "no lines as for a log"


def test_judging_may_take_a_share_of_the_time_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "JUDGED", 2)
    monkeypatch.setattr(progress, "JUDGING_SHARE", -1.0)
    stream = io.StringIO()
    observer = ConsoleObserver(judge, wilson_interval, stream)
    observer.started(4, 0)
    for _ in range(4):
        observer.sample(QUESTION, sample())
    observer.finished()
    assert "4/4 samples, accuracy 100.0% [34.2%, 100.0%] of 2 judged so far" in stream.getvalue()
