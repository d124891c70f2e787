"""Driving vLLM's engines, without vLLM: what is pulled, what ends, what dies."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import queue
import signal
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from resit.errors import ResitError, UsageError
from resit.models.vllm import engine as module
from resit.models.vllm.engine import (
    AHEAD,
    Engine,
    Job,
    _children_that_do_not_hear_ctrl_c,
    _Copies,
    _One,
    _Watched,
)

SLOTS = 3


class Driver:
    """Ends the oldest request at each step."""

    def __init__(self, dies_after: int | None = None) -> None:
        self.inside: list[str] = []
        self.most = 0
        self.aborted: list[str] = []
        self._left = dies_after

    def add(self, name: str, prompt: Mapping[str, Any], params: Any, lora: Any) -> None:
        if params.get("bad"):
            raise ValueError("bad settings")
        self.inside.append(name)
        self.most = max(self.most, len(self.inside))

    def outputs(self) -> list[Any]:
        if self._left == 0:
            raise RuntimeError("out of memory")
        self._left = None if self._left is None else self._left - 1
        return [SimpleNamespace(request_id=self.inside.pop(0))]

    def abort(self, names: list[str]) -> None:
        self.aborted = names


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setattr(Engine, "params", lambda self, fields: dict(fields))
    made = Engine.__new__(Engine)
    made.context, made.slots, made._number, made._adapter = 10, SLOTS, 0, None
    made.driver = Driver()  # type: ignore[assignment]
    return made


def job(key: int, size: int = 3, **params: Any) -> Job:
    return Job(key, tuple(range(size)), params)


def test_all_end_and_few_are_inside(engine: Engine) -> None:
    pulled = 0

    def jobs() -> Iterator[Job]:
        nonlocal pulled
        for number in range(20):
            pulled += 1
            yield job(number)

    seen = []
    for done in engine.run(jobs()):
        seen.append(done.job.key)
        assert pulled <= len(seen) + AHEAD * SLOTS
    assert seen == list(range(20))
    assert engine.driver.most == AHEAD * SLOTS  # type: ignore[union-attr]


def test_what_cannot_be_evaluated_is_said_at_once(engine: Engine) -> None:
    found = {done.job.key: done.error for done in engine.run([job(1, 0), job(2, 10), job(3, 9)])}
    assert "empty" in str(found[1])
    assert found[2] == "prompt too long: 10 tokens, the context has 10"
    assert found[3] is None


def test_a_stream_that_is_left_is_taken_back(engine: Engine) -> None:
    stream = engine.run(job(number) for number in range(20))
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert engine.driver.aborted == ["2", "3", "4", "5", "6"]  # type: ignore[union-attr]


def test_settings_that_are_refused_and_engines_that_die(engine: Engine) -> None:
    with pytest.raises(UsageError, match="refuses a request: bad settings"):
        list(engine.run([job(1, bad=True)]))
    engine.driver = Driver(dies_after=2)  # type: ignore[assignment]
    stream = engine.run(job(number) for number in range(9))
    assert [next(stream).job.key, next(stream).job.key] == [0, 1]
    with pytest.raises(ResitError, match="engine has stopped: out of memory"):
        next(stream)


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Watched]:
    """A process that stands for an engine's."""
    monkeypatch.setattr(module, "WATCH_SECONDS", 0.05)
    watched = _Watched()
    process = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
    process.start()
    watched.started()
    yield watched
    process.kill()
    process.join()


def test_a_killed_process_is_noticed_while_its_answer_is_waited_for(child: _Watched) -> None:
    one = _One.__new__(_One)
    one.watched = child
    waiting: queue.Queue[Any] = queue.Queue()
    finished, running = SimpleNamespace(finished=True), SimpleNamespace(finished=False)
    one._engine = SimpleNamespace(
        engine_core=SimpleNamespace(outputs_queue=waiting), step=lambda: waiting.get()
    )
    waiting.put([finished, running])
    assert one.outputs() == [finished]
    child.processes[0].kill()
    with pytest.raises(RuntimeError, match="ended with status -9"):
        one.outputs()


class Several:
    """vLLM's asynchronous engine, in little: a request ends after as many rounds as its name says."""

    async def generate(self, prompt: Any, params: Any, name: str, lora_request: Any) -> AsyncIterator[Any]:
        for _ in range(int(name)):
            await asyncio.sleep(0.01)
            yield SimpleNamespace(request_id=name, finished=False)
        yield SimpleNamespace(request_id=name, finished=True)

    def shutdown(self) -> None:
        pass


def test_copies_give_what_ends_first_and_take_requests_back(child: _Watched) -> None:
    copies = _Copies.__new__(_Copies)
    copies.watched, copies._loop, copies._tasks = child, asyncio.new_event_loop(), set()
    copies._engine = Several()
    for name in ("8", "1", "100000", "3"):
        copies.add(name, {}, {}, None)
    ended = [output.request_id for _ in range(3) for output in copies.outputs()]
    assert ended == ["1", "3", "8"]
    child.processes[0].kill()
    copies._tasks = {copies._loop.create_task(asyncio.sleep(60))}
    with pytest.raises(RuntimeError, match="ended with status -9"):
        copies.outputs()
    copies.abort([])
    assert not copies._tasks
    copies.close()


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no signal masks here")
def test_children_do_not_hear_ctrl_c_and_their_parent_does() -> None:
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(True))
    try:
        with _children_that_do_not_hear_ctrl_c():
            process = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
            process.start()
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)
        assert heard
        assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
        time.sleep(0.5)
        os.kill(int(process.pid or 0), signal.SIGINT)
        process.join(0.5)
        assert process.is_alive()
        process.terminate()
        process.join(60)
        assert not process.is_alive()
    finally:
        signal.signal(signal.SIGINT, before)
