"""Checks of the task catalogue; what needs rows that are not on this machine is skipped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from resit import tasks
from resit.cli import validation
from resit.cli.checking.ledger import Ledger, Place
from resit.errors import ResitError
from resit.prompts import checks
from resit.tasks import Task, indexing
from resit.tasks.names import INDEX

NO_SHOTS = re.compile(r"(0|zero)_?shot")
SAID_SHOTS = re.compile(r"(?:the same |the )?\b(\d+) (?:[a-z-]+ )*exemplars")


def _catalogue(ledger: Ledger) -> Iterator[Task]:
    """The tasks that load; one that does not is the check `names`'s business and skipped elsewhere."""
    for name in tasks.index():
        try:
            (task,) = tasks.load([name])
        except ResitError as error:
            ledger.skip(name, f"it does not load: {error}")
        else:
            yield task


def names(place: Place, ledger: Ledger) -> None:
    """Every task loads under its name, and the index is what the files say."""
    for name, entry in tasks.index().items():
        with ledger.item(name):
            (task,) = tasks.load([name])
            for text in _misnamed(task, entry):
                ledger.wrong(name, text)
    with ledger.item(INDEX.name):
        if json.loads(INDEX.read_text(encoding="utf-8")) != indexing.built():
            ledger.wrong(INDEX.name, "is not what the files say: python -m resit.tasks.indexing")


def _misnamed(task: Task, entry: tasks.Entry) -> Iterator[str]:
    own = task.config.resit
    if task.name != entry.name:
        yield f"the file calls it {task.name}"
    if not own.about:
        yield "it does not say what it is about"
    if not own.reference and not own.deviations:
        yield "it says neither what it follows nor how it deviates"
    if own.status == "aligned" and not own.record:
        yield "it is called aligned and does not say to what"


def shots(place: Place, ledger: Ledger) -> None:
    """The number of exemplars is what name and description say, and no more than there are."""
    for task in _catalogue(ledger):
        with ledger.item(task.name):
            for text in _miscounted(task):
                ledger.wrong(task.name, text)


def _miscounted(task: Task) -> Iterator[str]:
    count = task.config.num_fewshot or 0
    if NO_SHOTS.search(task.name) and count:
        yield f"its name says no exemplars, num_fewshot says {count}"
    said = SAID_SHOTS.search(task.config.resit.about)
    if said and int(said[1]) != count:
        yield f"it is described with {said[1]} exemplars, num_fewshot says {count}"
    if count and len(task.exemplars.rows) < count:
        yield f"num_fewshot is {count}, there are {len(task.exemplars.rows)} exemplars"


def exemplars(place: Place, ledger: Ledger) -> None:
    """No exemplar asks what a document asks; case and spacing aside."""
    for task in _catalogue(ledger):
        with ledger.item(task.name):
            leaked = list(checks.leaks(task))
            if leaked:
                document, row = leaked[0]
                text = f"{len(leaked)} exemplars ask a test question, the first row {row} document {document}"
                ledger.wrong(task.name, text)


def golds(place: Place, ledger: Ledger) -> None:
    """Every document renders, its reference grades as right, and an altered one as wrong."""
    for task in _catalogue(ledger):
        with ledger.item(task.name):
            for text in validation.unproved(task):
                ledger.wrong(task.name, text)


def pairs(place: Place, ledger: Ledger) -> None:
    """Either task of a pair is the other with other questions."""
    for pair in tasks.pairs().values():
        with ledger.item(pair.name):
            seen, fresh = tasks.load([pair.seen, pair.fresh])
            if tasks.check_pair(seen, fresh) != tasks.check_pair(fresh, seen):
                ledger.wrong(pair.name, "is not symmetric: the digests of the protocols differ")
