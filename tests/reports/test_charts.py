"""Charts are valid Vega-Lite, draw, and are made of the figures given."""

from __future__ import annotations

from typing import Any

import pytest

from resit.reports.charts.gaps import gap_chart
from resit.reports.charts.lengths import length_bins, length_chart
from resit.reports.charts.sampling import sampling_chart
from resit.reports.charts.scores import score_chart
from resit.reports.charts.style import COLOURS, Spec, painted, standalone
from resit.reports.charts.votes import outcome, vote_chart
from resit.stats import bounded_mean_interval, wilson_interval

SCORES = [
    {"run": run, "rule": rule, "score": 0.5, "low": 0.4, "high": None if rule == "maj" else 0.6}
    for run in ("a", "b")
    for rule in ("strict", "maj")
]
CHARTS: dict[str, Spec] = {
    "scores": score_chart(SCORES),
    "scores of one run": score_chart(SCORES[:2]),
    "scores of many": score_chart(SCORES, coloured=False),
    "sampling": sampling_chart(
        [{"run": "a", "curve": "maj@k", "k": k, "value": 0.5, "low": 0.4, "high": 0.6} for k in range(1, 9)]
    ),
    "gaps": gap_chart([{"model": "m", "gap": 3.0, "low": -1.0, "high": 7.0, "detectable": 4.0}]),
    "lengths": length_chart([{"run": "a", **row} for row in length_bins([(i, i % 2, i) for i in range(99)])]),
    "votes": vote_chart([{"run": "a", "share": "0 of 1", "outcome": "tie", "rank": 1, "questions": 3}]),
}


@pytest.mark.parametrize("name", CHARTS)
def test_it_is_vega_lite(name: str) -> None:
    altair = pytest.importorskip("altair", reason="needs `pip install 'resit[report]'`")
    altair.Chart.from_dict(painted(CHARTS[name], "light"))


@pytest.mark.parametrize("name", CHARTS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_draws_as_a_picture_of_its_own(name: str, theme: Any) -> None:
    vl_convert = pytest.importorskip("vl_convert", reason="needs `pip install 'resit[report]'`")
    svg = vl_convert.vegalite_to_svg(standalone(CHARTS[name], "The title", theme))
    assert "The title" in svg
    assert '"@' not in svg
    assert COLOURS["paper"][theme == "dark"] in svg


def test_on_the_page_colours_are_variables() -> None:
    spec = painted(CHARTS["scores"], "page")
    assert spec["config"]["axis"]["labelColor"] == "var(--muted)"
    assert spec["data"] == CHARTS["scores"]["data"]


def test_data_that_looks_like_a_colour_stays_data() -> None:
    spec = painted(score_chart([{**SCORES[0], "run": "@ink"}]), "light")
    assert spec["data"]["values"][0]["run"] == "@ink"


def test_bins_hold_equal_shares_and_keep_equal_lengths_together() -> None:
    lengths = (1, 1, 1, 1, 2, 3, 4, 5, 6, 7)
    bins = length_bins([(length, 1.0, f"q{n}") for n, length in enumerate(lengths)], bins=5)
    assert [(b["from"], b["to"], b["samples"]) for b in bins] == [(1, 1, 4), (2, 3, 2), (4, 5, 2), (6, 7, 2)]
    assert (bins[0]["low"], bins[0]["high"]) == pytest.approx(wilson_interval(4, 4))
    assert length_bins([]) == length_bins([(3, 1.0, "a"), (3, 0.0, "b")]) == []


def test_a_bins_interval_is_that_of_its_questions() -> None:
    """Repeats of five questions are not 320 questions; those of one say nothing of others."""
    samples = [(10 * (question // 5), float(question % 2), question) for question in range(20)] * 64
    bins = length_bins(samples, bins=4)
    assert [(b["samples"], b["questions"]) for b in bins] == [(320, 5)] * 4
    assert (bins[0]["low"], bins[0]["high"]) == bounded_mean_interval([0.0, 1.0, 0.0, 1.0, 0.0])
    assert bins[0]["score"] == 0.4
    alone = length_bins([(1, 1.0, "a"), (1, 0.0, "a"), (2, 1.0, "b"), (2, 1.0, "c")], bins=2)
    assert [(b["score"], b["low"]) for b in alone] == [(0.5, None), (1.0, wilson_interval(2, 2).low)]


def test_a_question_counts_once_in_a_bin_however_many_samples_it_has_there() -> None:
    (one,) = length_bins([(1, 1.0, "a")] * 9 + [(2, 0.0, "b")], bins=1)
    assert (one["score"], one["low"], one["high"]) == (0.5, *bounded_mean_interval([1.0, 0.0]))


@pytest.mark.parametrize(
    ("right", "wrong", "elected"),
    [(3, (2, 1), "vote right"), (2, (2,), "tie"), (1, (2,), "vote wrong"), (0, (), "vote wrong")],
)
def test_what_a_vote_elects(right: int, wrong: tuple[int, ...], elected: str) -> None:
    assert outcome(right, wrong) == elected


def _luminance(colour: str) -> float:
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [0, 1])
@pytest.mark.parametrize("role", ["ink", "muted", "right", "wrong", *(f"run{n}" for n in range(1, 7))])
def test_what_is_written_can_be_read(role: str, theme: int) -> None:
    """WCAG 2.2, 1.4.3: text has a contrast of 4.5:1 to what is beneath it."""
    pair = sorted(_luminance(COLOURS[name][theme]) for name in (role, "paper"))
    assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 4.5
