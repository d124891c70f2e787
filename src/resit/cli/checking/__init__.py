"""The preflight's checks, in the order in which `resit check` makes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from resit.cli.checking import catalogue, commands, examples, links, records, tasks, tree
from resit.cli.checking.ledger import Check, Ledger, Outcome, Place

__all__ = ["CHECKS", "Check", "Ledger", "Outcome", "Place", "make"]

CHECKS: tuple[Check, ...] = (
    Check(
        "catalogue", "every asset names sources, digests, licence and where it is stated", catalogue.complete
    ),
    Check("digests", "the assets that are here are the pinned ones", catalogue.digests),
    Check("names", "tasks load, are indexed as they are written and named as they are asked", tasks.names),
    Check("shots", "as many exemplars as the task says, and as many as there are", tasks.shots),
    Check("exemplars", "no exemplar asks a question of the test", tasks.exemplars),
    Check("golds", "every reference grades as right and an altered one as wrong", tasks.golds),
    Check("pairs", "the two tasks of a pair differ in nothing but their questions", tasks.pairs),
    Check(
        "alignment", "an aligned task has whole records of what it was measured against", records.alignment
    ),
    Check("links", "references name a commit or release, never a branch (--deep opens them)", links.pinned),
    Check("examples", "the examples and the settings shown in the documentation are valid", examples.valid),
    Check("commands", "every command in the documentation has verbs and options that exist", commands.parse),
    Check("secrets", "no key and no path of somebody's machine is in the tree", tree.secrets),
    Check("layers", "no module imports against the arrows", tree.layers),
)


def make(chosen: Sequence[Check], place: Place) -> Iterator[Outcome]:
    """The outcome of each check, as it is made. Nothing is downloaded."""
    from resit.assets.sources import only_here

    for check in chosen:
        with only_here():
            outcome = check.made(place)
        yield outcome
