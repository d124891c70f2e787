"""Rows that have said the same so far: one of them is computed, and each draws from its logits for itself.

The repeats of a question begin alike, and at a low temperature they stay alike for a while: over their first
64 tokens 32 repeats of a question of `gsm8k_cot_self_consistency` (temperature 0.2) were 20 rows on average.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from resit.models.hf.flight import Flight
from resit.models.hf.rows import Finished

Said: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""A row's prompt and its answer so far."""


@dataclass(slots=True)
class Parting:
    """What has become of a leader and its followers by the tokens that they drew."""

    ended: list[tuple[Flight, Finished]] = field(default_factory=list)
    leaders: list[Flight] = field(default_factory=list)
    """One for each token drawn by rows that go on; the first of them has the old leader's place."""


class Twins:
    """Who follows whom. A leader has a place; its followers have none."""

    def __init__(self) -> None:
        self._behind: dict[Flight, list[Flight]] = {}
        self._new: dict[Said, Flight] = {}
        """Leaders that have not drawn since they came."""

    def __len__(self) -> int:
        return sum(map(len, self._behind.values()))

    def followers(self, leader: Flight) -> Sequence[Flight]:
        """The rows that draw with it."""
        return self._behind.get(leader, ())

    def lead(self, flight: Flight) -> None:
        """Let those that come now follow this row."""
        self._new.setdefault(_said(flight), flight)

    def join(self, flight: Flight) -> bool:
        """Whether a row that comes now follows another."""
        leader = self._new.get(_said(flight))
        if leader is None or leader.row.intervene is not flight.row.intervene:
            return False
        self._behind.setdefault(leader, []).append(flight)
        flight.cached = len(flight.row.token_ids)
        return True

    def dissolve(self) -> list[Flight]:
        """All followers; they follow nobody any more."""
        followers = [flight for each in self._behind.values() for flight in each]
        self._behind, self._new = {}, {}
        return followers

    def part(self, leader: Flight, drawn: Sequence[int], ends: frozenset[int], context: int) -> Parting:
        """Give the leader and its followers the tokens that they drew, in this order."""
        said = _said(leader)
        if self._new.get(said) is leader:
            del self._new[said]
        members = [leader, *self._behind.pop(leader, ())]
        for follower in members[1:]:
            follower.follow(leader)
        parting, alike = Parting(), dict[int, list[Flight]]()
        for member, token in zip(members, drawn, strict=True):
            end = member.advance(token, ends, context)
            if end is not None:
                parting.ended.append((member, end))
            else:
                alike.setdefault(token, []).append(member)
        for first, *rest in alike.values():
            parting.leaders.append(first)
            if rest:
                self._behind[first] = rest
        return parting


def _said(flight: Flight) -> Said:
    return flight.row.token_ids, tuple(flight.transcript.tokens)
