"""Which of llama.cpp's slots answers what, so that a prompt that is asked repeatedly is evaluated once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from resit.models.llama_server import LlamaServer
from resit.models.loopback import Refused
from resit.records import Request

KEPT = 4
"""Prompts whose keys and values are kept for slots that come late."""


def repeated(requests: Iterable[Request]) -> Iterator[tuple[Request, bool]]:
    """Each request, and whether one beside it asks the same; looks one request ahead."""
    before: Request | None = None
    same = False
    for request in requests:
        follows = before is not None and before.question.prompt == request.question.prompt
        if before is not None:
            yield before, same or follows
        before, same = request, follows
    if before is not None:
        yield before, same


class _State:
    """A prompt's keys and values in a file, once `ready`; not `saved` where that has failed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ready = threading.Event()
        self.saved = False


class Slots:
    """The slots of a server, each given to one request at a time; for any number of threads."""

    def __init__(self, server: LlamaServer, count: int) -> None:
        self._server = server
        self._free = list(range(count))
        self._holds: dict[int, str] = {}
        self._states: OrderedDict[str, _State] = OrderedDict()
        self._lock = threading.Lock()
        self._freed = threading.Condition(self._lock)
        self._number = 0

    def complete(self, prompt: str, body: dict[str, Any], shared: bool) -> dict[str, Any]:
        """llama.cpp's answer; a `shared` prompt is evaluated in one slot and copied to the others.

        Raises Refused, or OSError when the server was dropped.
        """
        slot = self._take(prompt)
        try:
            if shared and self._holds.get(slot) != prompt:
                with suppress(
                    Refused
                ):  # too long, a full disk: the request itself will say so, or need no copy
                    self._fill(slot, prompt)
            self._holds[slot] = prompt
            return self._server.complete({**body, "prompt": prompt, "id_slot": slot})
        finally:
            with self._freed:
                self._free.append(slot)
                self._freed.notify()

    def _take(self, prompt: str) -> int:
        """A free slot, one that holds the prompt rather, else the one that was free for longest."""
        with self._freed:
            self._freed.wait_for(lambda: self._free)
            place = next((i for i, slot in enumerate(self._free) if self._holds.get(slot) == prompt), 0)
            return self._free.pop(place)

    def _fill(self, slot: int, prompt: str) -> None:
        """Bring a prompt's keys and values into a slot: evaluated, or copied from a slot that did."""
        with self._lock:
            state = self._states.get(prompt)
            mine = state is None
            if state is None:
                self._number += 1
                state = self._states[prompt] = _State(f"prompt{self._number}")
                while len(self._states) > KEPT:
                    self._server.forget(self._states.popitem(last=False)[1].name)
        if not mine:
            state.ready.wait()
            if state.saved:
                self._server.restore(slot, state.name)
            return
        try:
            self._server.evaluate(slot, prompt)
            self._server.save(slot, state.name)
            state.saved = True
        finally:
            state.ready.set()
