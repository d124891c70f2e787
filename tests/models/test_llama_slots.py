"""Which slot answers what, on a server that only remembers what it was asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from resit.models.llama_slots import KEPT, Slots, repeated
from resit.models.loopback import Refused
from resit.records import Document, Question, Request, Sampling


class Server:
    """Notes every call; a slot that is used by two at a time is an error."""

    def __init__(self, fails: str = "") -> None:
        self.calls: list[tuple[str, Any]] = []
        self.files: set[str] = set()
        self._fails = fails
        self._busy: set[int] = set()
        self._lock = threading.Lock()

    def _note(self, what: str, detail: Any) -> None:
        with self._lock:
            self.calls.append((what, detail))
        if what == self._fails:
            raise Refused(400, {"message": "no"})

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        slot = body["id_slot"]
        with self._lock:
            assert slot not in self._busy
            self._busy.add(slot)
        time.sleep(0.002)
        with self._lock:
            self._busy.discard(slot)
        self._note("complete", body["prompt"])
        return {"slot": slot}

    def evaluate(self, slot: int, text: str) -> None:
        time.sleep(0.01)
        self._note("evaluate", text)

    def save(self, slot: int, name: str) -> None:
        self._note("save", name)
        self.files.add(name)

    def restore(self, slot: int, name: str) -> None:
        self._note("restore", name)
        if name not in self.files:
            raise Refused(400, {"message": "gone"})

    def forget(self, name: str) -> None:
        self.files.discard(name)

    def count(self, what: str) -> int:
        return sum(call == what for call, _ in self.calls)


def answer_all(server: Server, prompts: list[str], slots: int = 4, shared: bool = True) -> None:
    pool: Slots = Slots(server, slots)  # type: ignore[arg-type]
    with ThreadPoolExecutor(slots) as threads:
        list(threads.map(lambda prompt: pool.complete(prompt, {}, shared), prompts))


def test_a_repeated_prompt_is_evaluated_once_and_copied_to_the_other_slots() -> None:
    server = Server()
    answer_all(server, ["a"] * 16)
    assert (server.count("evaluate"), server.count("save"), server.count("complete")) == (1, 1, 16)
    assert server.count("restore") <= 3  # a slot that holds it needs no copy


def test_a_prompt_that_is_asked_once_is_left_to_its_slot() -> None:
    server = Server()
    answer_all(server, ["a", "b", "c"] * 4, shared=False)
    assert {call for call, _ in server.calls} == {"complete"}


def test_few_states_are_kept() -> None:
    server = Server()
    answer_all(server, [prompt for prompt in "abcdefgh" for _ in range(6)])
    assert len(server.files) <= KEPT
    assert server.count("evaluate") == 8


@pytest.mark.parametrize("what", ["evaluate", "save", "restore"])
def test_sharing_that_fails_leaves_the_answers(what: str) -> None:
    server = Server(fails=what)
    answer_all(server, ["a"] * 8)
    assert server.count("complete") == 8


def test_more_threads_than_slots_wait() -> None:
    server = Server()
    pool: Slots = Slots(server, 2)  # type: ignore[arg-type]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda n: pool.complete(str(n), {}, False), range(40)))
    assert {answer["slot"] for answer in found} == {0, 1}


def asked(numbers: list[int]) -> list[Request]:
    questions: Callable[[int], Question] = {
        n: Question("t", Document(n, str(n), {}), f"prompt {n}", "") for n in numbers
    }.__getitem__
    return [Request(questions(n), i, Sampling(), 0) for i, n in enumerate(numbers)]


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([], []),
        ([1], [False]),
        ([1, 2], [False, False]),
        ([1, 1, 2], [True, True, False]),
        ([1, 2, 2, 2, 3, 3], [False, True, True, True, True, True]),
    ],
)
def test_repeats_are_told_by_what_stands_beside(numbers: list[int], expected: list[bool]) -> None:
    requests = asked(numbers)
    found = list(repeated(requests))
    assert [request for request, _ in found] == requests
    assert [same for _, same in found] == expected
