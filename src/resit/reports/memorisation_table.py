"""The memorisation report on a terminal: a row a probe, and sentences that say no more than the numbers."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from resit.probes.contrast import Contrast
from resit.reports.comparison_table import plain_table
from resit.reports.gap_table import DIFFICULTY
from resit.reports.gaps import Gap
from resit.reports.memorisation import Memorisation
from resit.reports.wording import p_cell, p_text, percent, points, seen_from

NAMES = {
    "gap": "score, seen less fresh",
    "templates": "score, original less its variants",
    "completion": "ROUGE-L of continued questions",
    "likelihood": "log-probability",
    "order": "published order, nats a shard",
}
_SIGNALS = {
    "per_character": "per character",
    "per_token": "per token",
    "min_k": "Min-k%",
    "min_k_plus_plus": "Min-k%++",
    "zlib_ratio": "per zlib byte",
    "reference_ratio": "above the reference model, per character",
}


def memorisation_table(found: Memorisation) -> Table:
    """One row a probe: effect, interval, one-sided p, the same after Holm's correction."""
    table = plain_table("probe", "effect", "interval", "p one-sided", "p Holm")
    for sign in found.signs:
        effect, interval = _effect(found, sign.probe)
        table.add_row(Text(NAMES[sign.probe]), effect, interval, p_cell(sign.p_value), p_cell(sign.p_holm))
    return table


def _effect(found: Memorisation, probe: str) -> tuple[str, str]:
    gap = {"gap": found.gap, "templates": found.templates, "completion": found.completion}.get(probe)
    if gap is not None:
        result = gap.result
        return points(result.difference), f"{points(result.ci_low)} to {points(result.ci_high)}"
    if probe == "likelihood" and found.headline is not None:
        contrast = found.headline
        return f"{contrast.difference:+.3f}", f"{contrast.ci_low:+.3f} to {contrast.ci_high:+.3f}"
    return f"{found.order.advantage:+.2f}" if found.order else "", ""


def likelihood_table(found: Memorisation) -> Table:
    """One row a signal and part: both means, difference with interval, AUC with interval."""
    table = plain_table("signal", "of", "seen", "fresh", "difference", "interval", "AUC", "interval ", left=2)
    for contrast in found.contrasts:
        auc = contrast.separation
        table.add_row(
            Text(_SIGNALS[contrast.signal]),
            Text(_sets(contrast)),
            f"{contrast.seen_mean:.3f}",
            f"{contrast.fresh_mean:.3f}",
            f"{contrast.difference:+.3f}",
            f"{contrast.ci_low:+.3f} to {contrast.ci_high:+.3f}",
            f"{auc.auc:.3f}",
            f"{auc.ci_low:.3f} to {auc.ci_high:.3f}",
        )
    return table


def _sets(contrast: Contrast) -> str:
    return f"{contrast.part}, original less variants" if contrast.paired_by else contrast.part


def memorisation_lines(found: Memorisation) -> Iterator[str]:
    """Sentences: one a probe, what was skipped, and the conclusion."""
    if found.gap is not None:
        yield _gap_line(found.gap, found.alpha)
    if found.templates is not None:
        yield _gap_line(found.templates, found.alpha)
    if found.completion is not None:
        yield _completion_line(found.completion, found.alpha)
    if found.headline is not None:
        yield _likelihood_line(found.headline, found.alpha)
    if found.order is not None:
        test = found.order
        likelier = (
            f"the published order of {test.shards} groups of rows is {test.advantage:+.2f} nats likelier"
        )
        told = f"Order: {likelier} than {test.shuffles} shuffles of each"
        yield f"{told} ({p_text(test.p_value)}, permutation)."
    yield from (f"Not measured: {probe}: {why}." for probe, why in found.asked.skipped.items())
    yield _conclusion(found)


def _gap_line(gap: Gap, alpha: float) -> str:
    result = gap.result
    what = f"Templates: {result.n_first} originals against their variants" if gap.paired_by else "Gap"
    scores = f"{percent(gap.seen_score)} on {gap.seen}, {percent(gap.fresh_score)} on {gap.fresh}"
    told = f"{what}: {scores}; {p_text(result.p_greater)} one-sided"
    if result.p_greater < alpha:
        return f"{told}. {DIFFICULTY}"
    sight = seen_from(result.minimum_detectable_effect)
    return f"{told}: not distinguishable; this design can see gaps above {sight} points."


def _completion_line(gap: Gap, alpha: float) -> str:
    scores = f"{percent(gap.seen_score)} of {gap.seen}, {percent(gap.fresh_score)} of {gap.fresh}"
    told = f"Completion: ROUGE-L of the second half, {scores}; {p_text(gap.result.p_greater)} one-sided"
    if gap.result.p_greater < alpha:
        return f"{told}: the model goes on with the seen questions better than with fresh ones."
    return f"{told}: not distinguishable."


def _likelihood_line(contrast: Contrast, alpha: float) -> str:
    auc = contrast.separation
    told = (
        f"Likelihood ({_SIGNALS[contrast.signal]}, {_sets(contrast)}): {contrast.difference:+.3f}, "
        f"{p_text(contrast.p_greater)} one-sided; AUC {auc.auc:.2f} [{auc.ci_low:.2f}, {auc.ci_high:.2f}]"
    )
    if contrast.p_greater >= alpha:
        return f"{told}: not distinguishable."
    if contrast.signal == "reference_ratio":
        return f"{told}: the seen texts gain more on the reference model than the fresh ones."
    return f"{told}: the seen texts are likelier, by memory or because the two sets are written differently."


def _conclusion(found: Memorisation) -> str:
    signs = found.signs
    flagged = [sign.probe for sign in signs if sign.p_holm < found.alpha]
    if not signs:
        return "Nothing was measured."
    level = f"at alpha {found.alpha:g}, adjusted for their number (Holm)"
    if not flagged:
        return (
            f"None of {len(signs)} probes speaks for memorisation {level}. That is no proof of its absence."
        )
    return (
        f"{len(flagged)} of {len(signs)} probes ({', '.join(flagged)}) differ in memorisation's direction "
        f"{level}. One probe alone can have other reasons; several of different kinds are harder to explain "
        "otherwise."
    )
