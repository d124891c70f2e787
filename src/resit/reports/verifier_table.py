"""Verifiers on a terminal: how good they are, and what choosing by them is worth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from resit.reports.comparison_table import plain_table
from resit.reports.reranking import Reranking
from resit.reports.wording import p_text, percent, points, span

if TYPE_CHECKING:
    from resit.verifiers.quality import Quality

METHODS = {
    "mean": "one sample",
    "maj": "majority vote",
    "best": "best-scored",
    "weighted": "weighted vote",
    "top": "vote of the best",
}


def quality_table(quality: Quality) -> Table:
    """AUC of the verifier and of its baselines, then the calibration curve."""
    table = plain_table("judged by", "AUC", "interval")
    for found in quality.discriminations:
        table.add_row(Text(found.name), f"{found.auc:.3f}", f"{found.ci_low:.3f} to {found.ci_high:.3f}")
    table.add_section()
    table.add_row(Text("says, of so many", style="bold"), "right", "interval")
    for each in quality.calibration:
        said = f"{percent(each.predicted)} of {each.solutions}"
        limits = [percent(limit) for limit in (each.ci_low, each.ci_high) if limit is not None]
        table.add_row(Text(said), percent(each.observed), " to ".join(limits))
    return table


def quality_lines(quality: Quality, epochs: int) -> Iterator[str]:
    """Sentences."""
    yield (
        f"Judged on {quality.solutions} solutions of {quality.questions} held-out questions, "
        f"{quality.right} right; {epochs} epochs; Brier score {quality.brier:.3f} "
        f"({quality.brier_of_share:.3f} for always saying the mean)."
    )
    for lead in quality.advantages:
        told = f"AUC {lead.difference:+.3f} over {lead.over} [{lead.ci_low:+.3f}, {lead.ci_high:+.3f}]"
        clear = "better" if lead.ci_low > 0 else "worse" if lead.ci_high < 0 else "not told apart"
        yield f"{told}: {clear}."


def rerank_table(found: Reranking) -> Table:
    """One row a way of choosing, one column a k."""
    ks = sorted({point.k for point in found.points})
    table = plain_table(found.task, *(f"k = {k}" for k in ks))
    for method, name in METHODS.items():
        cells = {point.k: point.estimate for point in found.points if point.method == method}
        label = f"{name} {found.top}" if method == "top" else name
        table.add_row(Text(label), *(percent(cells[k].value) if k in cells else "" for k in ks))
    return table


def rerank_lines(found: Reranking) -> Iterator[str]:
    """What each way adds to one sample at the largest k, with interval."""
    most = max(point.k for point in found.points)
    for method, gain in found.gains.items():
        yield (
            f"{METHODS[method]} of {most} against one sample: {points(gain.difference)} points "
            f"({span(gain.ci_low, gain.ci_high, gain.confidence)}, {p_text(gain.p_value)})."
        )
    if found.unscored:
        yield f"{found.unscored} samples have no score and take no part."
