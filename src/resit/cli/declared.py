"""The catalogue's pairs, as reports take them."""

from __future__ import annotations

from resit.reports.page.summary import Pair
from resit.tasks.names import pairs


def declared_pairs() -> list[Pair]:
    """Every declared pair of seen and fresh tasks, and how its gap is read."""
    return [Pair(pair.seen, pair.fresh, pair.rule, pair.by) for pair in pairs().values()]
