"""Which charts a page has, each with its caption, its specification and the same figures as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from resit.reports.charts.gaps import gap_chart
from resit.reports.charts.lengths import length_bins, length_chart
from resit.reports.charts.sampling import sampling_chart
from resit.reports.charts.scores import score_chart
from resit.reports.charts.style import Spec
from resit.reports.charts.votes import OUTCOMES, vote_chart
from resit.reports.gaps import Gap
from resit.reports.page.data import ChartEntry, Standing
from resit.reports.page.gathering import FEW, Gathered
from resit.reports.repeats import SHOWN
from resit.reports.wording import percent, points, seen_from

MANY = 4
"""Up to so many runs are told apart by colour: a chart of scores of more has a line for the quoted rule."""


class Chart(NamedTuple):
    """A chart's words and its specification."""

    entry: ChartEntry
    spec: Spec


def score_charts(task: str, labels: Sequence[str], standings: Sequence[Standing]) -> Iterator[Chart]:
    """Score by rule, of every run."""
    every = len(standings) <= MANY
    rows: list[dict[str, Any]] = [
        {
            "run": labels[standing["run"]],
            "rule": f["label"],
            "score": f["score"],
            "low": f["low"],
            "high": f["high"],
        }
        for standing in standings
        for f in standing["figures"]
        if every or f["quoted"]
    ]
    if not every:
        rows = [{**row, "rule": row["run"]} for row in sorted(rows, key=lambda row: -row["score"])]
    if not rows or not (every or len(rows) > 1):
        return
    yield _chart(
        f"{task}-scores",
        "Score by rule" if every else "Score by run",
        "Rules that lie apart read the same answers differently: that part of a score is form.",
        score_chart(rows, coloured=every),
        ["Run", "Rule", "Score", "95 % interval"],
        [[row["run"], row["rule"], percent(row["score"]), _span(row)] for row in rows],
    )


def _span(row: Mapping[str, Any]) -> str:
    return "" if row["low"] is None else f"{100 * row['low']:.1f} to {100 * row['high']:.1f} %"


def sampling_charts(
    task: str, labels: Sequence[str], summaries: Sequence[Mapping[str, Any] | None], rule: str
) -> Iterator[Chart]:
    """maj@k, pass@k and pass^k under the quoted rule, of runs with several samples a question."""
    rows = [
        {
            "run": label,
            "curve": SHOWN[metric],
            "k": p["k"],
            "value": p["value"],
            "low": p["ci_low"],
            "high": p["ci_high"],
        }
        for label, summary in zip(labels, summaries, strict=True)
        for metric in SHOWN
        for p in _repeats(summary, rule).get(metric, ())
    ]
    if not rows:
        return
    last = max(row["k"] for row in rows)
    shown = [row for row in rows if row["k"].bit_count() == 1 or row["k"] == last]
    yield _chart(
        f"{task}-sampling",
        "Score by number of samples",
        f"maj@k: the vote of k samples; pass@k: one or more right; pass^k: all. Read by {rule}; 95 % bands.",
        sampling_chart(rows),
        ["Run", "Curve", "k", "Score", "95 % interval"],
        [[row["run"], row["curve"], str(row["k"]), percent(row["value"]), _span(row)] for row in shown],
    )


def _repeats(summary: Mapping[str, Any] | None, rule: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = ((summary or {}).get("rules", {}).get(rule) or {}).get("repeats", {})
    return found


def length_charts(task: str, labels: Sequence[str], found: Gathered) -> Iterator[Chart]:
    """Length of the response against the share of right ones."""
    if len([samples for samples in found.lengths if samples]) > MANY:
        return
    rows = [
        {"run": label, **row}
        for label, samples in zip(labels, found.lengths, strict=True)
        for row in length_bins(samples)
    ]
    if rows:
        yield _chart(
            f"{task}-lengths",
            "Length and correctness",
            "Each point is a tenth of the samples: the mean over their questions, with its 95 % interval; "
            f"read by {found.quoted}.",
            length_chart(rows),
            ["Run", "Characters", "Samples", "Questions", "Right"],
            [[r["run"], f"{r['from']} to {r['to']}", *_sizes(r), percent(r["score"])] for r in rows],
        )


def _sizes(row: Mapping[str, Any]) -> tuple[str, str]:
    return str(row["samples"]), str(row["questions"])


def vote_charts(task: str, labels: Sequence[str], found: Gathered) -> Iterator[Chart]:
    """How many samples of each question are right, and what the vote elects."""
    rows = [
        row for label, counted in zip(labels, found.votes, strict=True) for row in _vote_rows(label, counted)
    ]
    if rows:
        yield _chart(
            f"{task}-votes",
            "Votes per question",
            f"Questions by how many samples are right, and by what the vote elects; read by {found.quoted}.",
            vote_chart(rows),
            ["Run", "Right", "Vote", "Questions"],
            [[r["run"], r["share"], r["outcome"], str(r["questions"])] for r in rows if r["questions"]],
        )


def _vote_rows(label: str, counted: Mapping[tuple[int, int, str], int]) -> Iterator[dict[str, Any]]:
    sizes = {samples for _, samples, _ in counted}
    if not sizes:
        return
    few = len(sizes) == 1 and max(sizes) <= FEW
    steps = max(sizes) + 1 if few else FEW
    for step in range(steps):
        share = f"{step} of {max(sizes)}" if few else f"{100 * step // FEW}–{100 * (step + 1) // FEW} %"
        for rank, kind in enumerate(OUTCOMES):
            questions = sum(
                count
                for (right, samples, elected), count in counted.items()
                if elected == kind and (right if few else min(right * FEW // samples, FEW - 1)) == step
            )
            if questions or rank == 0:  # a share that no question has keeps its place
                yield {"run": label, "share": share, "outcome": kind, "rank": rank, "questions": questions}


def gap_charts(gaps: Sequence[Gap]) -> Iterator[Chart]:
    """The gaps of models with their intervals, the undetectable shaded; largest first."""
    ordered = sorted(gaps, key=lambda gap: -gap.result.difference)
    rows = [
        {
            "model": gap.model
            if len({(g.seen, g.fresh) for g in gaps}) == 1
            else f"{gap.model}, {gap.fresh}",
            "gap": 100 * gap.result.difference,
            "low": 100 * gap.result.ci_low,
            "high": 100 * gap.result.ci_high,
            "detectable": 100 * gap.result.minimum_detectable_effect,
        }
        for gap in ordered
    ]
    if rows:
        yield _chart(
            "gaps",
            "Gap between seen and fresh questions",
            "Right of zero: better on what may have been seen. In the shade no gap can be told from none.",
            gap_chart(rows),
            ["Model", "Seen", "Fresh", "Gap, points", "95 % interval", "Detectable from"],
            [_gap_cells(gap) for gap in ordered],
        )


def _gap_cells(gap: Gap) -> list[str]:
    result = gap.result
    return [
        gap.model,
        f"{gap.seen} {percent(gap.seen_score)}",
        f"{gap.fresh} {percent(gap.fresh_score)}",
        points(result.difference),
        f"{points(result.ci_low)} to {points(result.ci_high)}",
        seen_from(result.minimum_detectable_effect),
    ]


def _chart(
    key: str, title: str, caption: str, spec: Spec, columns: list[str], table: list[list[str]]
) -> Chart:
    return Chart(ChartEntry(id=key, title=title, caption=caption, columns=columns, table=table), spec)
