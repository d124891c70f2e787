"""How many requests may be in flight at a server that does not say what it can take."""

from __future__ import annotations

import time
from collections.abc import Callable

START = 20
HIGHEST = 100
USED_SHARE = 0.8
"""A round in which fewer of the slots were used says nothing about the server's capacity."""
GROWTH = 0.05
"""Share by which a clean round raises the limit once the server has refused something."""
COOL_DOWN = 15.0
"""Seconds after a refusal in which further refusals are the same congestion, and nothing grows."""


class Limiter:
    """Additive increase, multiplicative decrease, with slow start.

    A round is as many clean first-try answers as the limit was at its beginning. After a clean round in
    which at least 80 % of the slots were used at once the limit doubles; once the server has refused a
    request for its rate, it grows by 5 % instead. A refusal halves the limit, once a cool-down, and
    nothing is sent until the time that the server names has passed. Other server errors only start the
    round anew. A `fixed` limit stays as it is; pauses are still honoured.
    """

    def __init__(self, fixed: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._fixed = fixed is not None
        self._start = float(fixed if fixed is not None else START)
        self.in_flight = 0
        self.refusals = 0
        self.anew()

    def anew(self) -> None:
        """Forget what was learnt: the server is another one now."""
        self.limit = self._start
        self._slow_start = True
        self._cool_until = self._resume_at = self._clock()
        self._begin_round()

    def _begin_round(self) -> None:
        self._clean = 0
        self._most = 0
        self._needed = int(self.limit)

    def free(self) -> int:
        """Requests that may be sent now."""
        return 0 if self.pause() else int(self.limit) - self.in_flight

    def pause(self) -> float:
        """Seconds until anything may be sent; 0.0 when it may be now."""
        return max(0.0, self._resume_at - self._clock())

    def sent(self) -> None:
        """A request goes out."""
        self.in_flight += 1
        self._most = max(self._most, self.in_flight)

    def answered(self, first_try: bool = True) -> None:
        """An answer came; only those at the first try count for growth."""
        self.in_flight -= 1
        if self._fixed or not first_try or self._clock() < self._cool_until:
            return
        self._clean += 1
        if self._clean >= self._needed:
            if self._most >= USED_SHARE * int(self.limit):
                self._grow()
            self._begin_round()

    def _grow(self) -> None:
        raised = self.limit * 2 if self._slow_start else self.limit + max(1.0, self.limit * GROWTH)
        self.limit = min(float(HIGHEST), raised)

    def refused(self, retry_after: float | None = None) -> None:
        """The server said that requests come too fast (429, or 503 with a time to wait)."""
        self.in_flight -= 1
        self.refusals += 1
        now = self._clock()
        if retry_after is not None:
            self._resume_at = max(self._resume_at, now + retry_after)
        if now >= self._cool_until and not self._fixed:
            self._slow_start = False
            self.limit = max(1.0, self.limit / 2)
            self._begin_round()
        if now >= self._cool_until:
            self._cool_until = now + COOL_DOWN
        self._cool_until = max(self._cool_until, self._resume_at)

    def broke(self) -> None:
        """The request failed for another reason than its rate: growth pauses."""
        self.in_flight -= 1
        self._begin_round()
