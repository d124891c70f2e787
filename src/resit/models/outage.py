"""Servers that fall silent, fail or refuse: what becomes of their requests, and when they are asked again."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from resit.errors import ResitError
from resit.models.failures import Failure, Kind, Patience
from resit.models.protocol import Notify
from resit.models.replicas import FAILING, Replica, Replicas, differs

if TYPE_CHECKING:
    from resit.models.client import Drain, Job

FIRST_CONTACT_SECONDS = 60.0
"""How long servers are waited for of which none has answered anything yet."""
TOLD_SECONDS = 30.0
"""A pause that the user is told of."""
UNANIMOUS = 3
"""Requests refused, and none answered, before what is refused is every request."""
KEPT = "what is finished is kept: the same command again asks for the rest"


class Outages:
    """Sets servers aside that are gone or fail, and takes them back."""

    def __init__(self, drain: Drain, replicas: Replicas, patience: Patience, notify: Notify) -> None:
        self._drain, self._replicas, self._patience, self._notify = drain, replicas, patience, notify

    def failed(self, replica: Replica, failure: Failure) -> None:
        """Note a failure for the server's sake; one that only fails rests while others work."""
        rest = self._drain.delay(max(1, replica.failures + 2 - FAILING))
        if replica.failed(rest) and not self._replicas.alone and not failure.silent:
            self._notify(f"{replica.server.place} fails ({failure}); the other servers are asked instead")

    def told_to_wait(self, replica: Replica, failure: Failure) -> None:
        """Leave a server alone for as long as it wants.

        One that wants it for longer than a rate limit is waited for is asked no more; without others the
        stream ends, instead of waiting for a day because a day's share is used up.
        """
        before = replica.limiter.pause()
        replica.limiter.refused(failure.retry_after)
        pause = replica.limiter.pause()
        wanted = f"{replica.server.place} wants no requests for {pause:.0f} s ({failure})"
        if pause and replica.unanswered(self._drain.last_answer) + pause > self._patience.seconds:
            self._give_up_waiting(replica, wanted)
        elif pause > before + TOLD_SECONDS:
            self._notify(wanted)

    def _give_up_waiting(self, replica: Replica, wanted: str) -> None:
        if not self._others(replica):
            limit = f"longer than retry_seconds={self._patience.seconds:g} lets it be waited for"
            self._drain.wind_down(ResitError(f"{wanted}, {limit}", KEPT))
        elif not replica.excluded:
            replica.down = replica.excluded = True
            self._notify(f"{wanted}; the other servers are asked instead")

    def _others(self, replica: Replica) -> bool:
        """Whether there is another server that may still be asked."""
        return any(other is not replica and not other.excluded for other in self._replicas.all)

    def refused(self, replica: Replica, failure: Failure) -> bool:
        """Whether a refusal is this server's own affair, and the request one for the others.

        A server that has refused all it was asked, while there are others, is asked no more: refusing is
        quick, so that it would get most of the requests.
        """
        if replica.answers or not self._others(replica) or failure.kind is Kind.OVERFLOW:
            return False
        replica.refusals += 1
        few = replica.refusals < UNANIMOUS or self._drain.last_answer is None
        if failure.kind is Kind.REQUEST and few:
            return False
        if not replica.excluded:
            replica.down = replica.excluded = True
            self._notify(f"{replica.server.place} refuses ({failure}); the other servers are asked instead")
        return True

    def words(self, replica: Replica | None, failure: Failure) -> str:
        """The server's words; where there are several, with its address."""
        here = replica is None or self._replicas.alone
        return str(failure) if here or replica is None else f"{replica.server.place}: {failure}"

    def suspect(self, replica: Replica, job: Job, failure: Failure) -> None:
        """Find out whether a server that gave no answer is still there; the job waits for that."""
        replica.suspects.append((job, failure))
        replica.doubtful = replica.doubtful or failure.status is None
        if not replica.asked_for:
            replica.asked_for = True
            self._drain.start(self._look_after(replica))

    async def _look_after(self, replica: Replica) -> None:
        there = await replica.server.alive()
        another = there and await self._is_another(replica)
        replica.asked_for = replica.doubtful = False
        suspects, replica.suspects = replica.suspects, []
        if there and not another:
            for job, failure in suspects:
                self._drain.settle(job, failure)
            self._drain.pump()
            return
        replica.down = True
        failure = suspects[0][1]
        if not another:
            self.tell(replica, failure)
        for job in (*(job for job, _ in suspects), *replica.dropped()):
            self._drain.bring_back(job, failure)
        self._drain.pump()
        if not another:
            await self.sit_out(replica, failure)

    def tell(self, replica: Replica, failure: Failure) -> None:
        """Say that a server is gone, and what is done about it."""
        what = f"{replica.server.place} is gone ({failure})"
        if self._replicas.none_up():
            self._notify(f"{what}; waiting for it, at most {self._longest():.0f} s")
        else:
            self._notify(f"{what}; the other servers are asked instead")

    def _longest(self) -> float:
        """Seconds that servers are waited for when none is left."""
        seconds = self._patience.seconds
        return seconds if self._drain.last_answer is not None else min(seconds, FIRST_CONTACT_SECONDS)

    async def sit_out(self, replica: Replica, failure: Failure) -> None:
        """Wait until a server is back; stop the stream when all are gone for too long."""
        began, tries = time.monotonic(), 0
        while True:
            tries += 1
            await asyncio.sleep(self._drain.delay(tries))
            if await replica.server.alive():
                break
            silence = time.monotonic() - max(began, self._drain.last_answer or began)
            if self._replicas.none_up() and silence > self._longest():
                words = self.words(replica, failure)
                self._drain.stop(self._gone_for_good(words))
                return
        if await self._is_another(replica):
            return
        replica.back()
        self._notify(f"{replica.server.place} answers again")
        self._drain.pump()

    def _gone_for_good(self, words: str) -> ResitError:
        if self._drain.last_answer is not None:
            return ResitError(f"the server does not answer any more: {words}", KEPT)
        return ResitError(
            f"the server does not answer: {words}", "is the server running, and base_url its address?"
        )

    async def _is_another(self, replica: Replica) -> bool:
        """Whether a server came back with another model than it had; it is then asked no more."""
        expected = self._replicas.told
        try:
            found = await replica.server.told() if expected else {}
        except Failure:
            return False  # it is asked again when its first request fails
        difference = differs(expected or {}, found)
        if difference is None:
            return False
        replica.excluded = True
        name, before, now = difference
        words = f"{replica.server.place} came back with another {name}: {now!r} instead of {before!r}"
        if all(other.excluded for other in self._replicas.all):
            self._drain.stop(ResitError(words, KEPT))
        self._notify(f"{words}; it is asked no more")
        return True
