"""Searches that go on in the background while somebody waits for them, and end when nobody does."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np

from resit.reports.viewer.index import Array, Snapshot
from resit.reports.viewer.search import Needle, scan

PATIENCE = 5.0
"""Seconds after which a search that nobody asked about again is given up."""
_KEPT = 16
_AT_ONCE = threading.Semaphore(2)
"""Searches that go on at the same time; more would only wait for each other."""


@dataclass(slots=True)
class Hunt:
    """One search through one run."""

    found: Array
    """A mask over the run's questions."""
    share: float = 0.0
    """How much has been searched."""
    asked: float = field(default_factory=time.monotonic)
    changed: threading.Condition = field(default_factory=threading.Condition)
    stopped: bool = False

    def run(self, taken: Snapshot, needle: Needle) -> None:
        """Search until the end, or until nobody waits."""
        with _AT_ONCE:
            try:
                self._run(taken, needle)
            finally:  # also where it fails: nobody is to wait for ever
                with self.changed:
                    self.share = self.share if self.stopped else 1.0
                    self.changed.notify_all()

    def _run(self, taken: Snapshot, needle: Needle) -> None:
        for share, found in scan(taken, needle):
            if time.monotonic() - self.asked > PATIENCE:
                self.stopped = True
                return
            with self.changed:
                self.share, self.found = min(share, 0.999), found
                self.changed.notify_all()

    def wait(self, seconds: float) -> tuple[Array, float]:
        """What was found by now, and the share that was searched, after waiting for the end for so long."""
        self.asked = time.monotonic()
        with self.changed:
            self.changed.wait_for(lambda: self.share == 1.0, seconds)
            return self.found.copy(), self.share


class Hunts:
    """The last searches and what they found."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hunts: OrderedDict[tuple[str, int, int, str], Hunt] = OrderedDict()

    def find(self, run: str, taken: Snapshot, text: str, seconds: float) -> tuple[Array, float]:
        """Questions of a run that hold a text, and the share that was searched within so long."""
        key = run, taken.epoch, taken.version, text
        with self._lock:
            hunt = self._hunts.get(key)
            if hunt is None or hunt.stopped:
                hunt = self._hunts[key] = Hunt(np.zeros(len(taken.tasks), bool))
                threading.Thread(target=hunt.run, args=(taken, Needle(text)), daemon=True).start()
            self._hunts.move_to_end(key)
            while len(self._hunts) > _KEPT:
                _, old = self._hunts.popitem(last=False)
                old.asked = float("-inf")
        return hunt.wait(seconds)
