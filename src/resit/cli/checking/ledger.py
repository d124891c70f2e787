"""What a check looked at, what it found wrong, and what it could not look at here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from resit.errors import AssetError, ResitError

Status = Literal["ok", "failed", "partly", "skipped"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where the checks are made."""

    checkout: Path | None = None
    """The project's working tree; None: Resit is installed without it."""
    deep: bool = False
    """Whether links are opened."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something about one item: a defect, or why it was not looked at."""

    where: str
    text: str


class Unchecked(Exception):
    """The check cannot be made here; the text is the reason."""


@dataclass(slots=True)
class Ledger:
    """The items of one check."""

    checked: int = 0
    problems: list[Note] = field(default_factory=list)
    skipped: list[Note] = field(default_factory=list)

    def wrong(self, where: object, text: str) -> None:
        """Note a defect."""
        self.problems.append(Note(str(where), text))

    def skip(self, where: object, why: str) -> None:
        """Note an item that cannot be looked at here."""
        self.skipped.append(Note(str(where), why))

    @contextmanager
    def item(self, where: object) -> Iterator[None]:
        """One item: what cannot be had here is skipped, any other error of ours is a defect."""
        try:
            yield
        except AssetError as error:
            self.skip(where, str(error))
        except ResitError as error:
            self.checked += 1
            self.wrong(where, str(error))
        else:
            self.checked += 1

    @property
    def status(self) -> Status:
        """`partly`: nothing was wrong with what could be looked at, which was not everything."""
        if self.problems:
            return "failed"
        if not self.checked:
            return "skipped"
        return "partly" if self.skipped else "ok"


Look = Callable[[Place, Ledger], None]


@dataclass(frozen=True, slots=True)
class Check:
    """A named check."""

    name: str
    about: str
    look: Look

    def made(self, place: Place) -> Outcome:
        """The check's outcome at a place."""
        ledger = Ledger()
        try:
            self.look(place, ledger)
        except Unchecked as reason:
            ledger.skip(self.name, str(reason))
        if not ledger.checked and not ledger.skipped and not ledger.problems:
            ledger.skip(self.name, "there is nothing to look at")
        return Outcome(self, ledger)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A check that was made."""

    check: Check
    ledger: Ledger

    @property
    def status(self) -> Status:
        """The ledger's."""
        return self.ledger.status

    def as_json(self) -> dict[str, Any]:
        """The outcome as `resit check --json` prints it."""
        return {
            "name": self.check.name,
            "about": self.check.about,
            "status": self.status,
            "checked": self.ledger.checked,
            "problems": [asdict(note) for note in self.ledger.problems],
            "skipped": [asdict(note) for note in self.ledger.skipped],
        }


def needs_checkout(place: Place) -> Path:
    """The working tree. Raises Unchecked where there is none."""
    if place.checkout is None:
        raise Unchecked("needs a checkout of the project; this is an installed Resit")
    return place.checkout
